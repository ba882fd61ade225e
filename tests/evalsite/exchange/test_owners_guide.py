"""The commands of docs/own.md do what it says, in their order."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.demo.services import demonstration_load

ROOT = Path(__file__).resolve().parents[3]


def test_the_commands_of_the_owners_guide_run(
    alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    demonstration_load()
    monkeypatch.chdir(tmp_path)
    Path("prompts.csv").write_text("prompt_id,text\np1,Why?\n")
    Path("anna.csv").write_text("prompt_id,reply\np1,Because.\n")
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "own.md").read_text(), re.DOTALL)
    commands = [shlex.split(line, comments=True)[2:] for block in blocks for line in block.splitlines()]
    assert len(commands) == 6
    for command in commands[1:]:  # createsuperuser asks for a password
        into = command.index(">") if ">" in command else None
        capsys.readouterr()
        call_command(*command[:into])
        if into is not None:
            written = capsys.readouterr().out
            Campaign.objects.filter(slug="demonstration").update(slug="the-first")
            Path(command[into + 1]).write_text(written)
    assert Chatbot.objects.filter(name="Anna").exists()
    assert Campaign.objects.get(slug="demonstration").entrants.count() == 8
