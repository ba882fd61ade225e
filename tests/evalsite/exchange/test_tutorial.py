"""The tutorial: its file is valid, its commands run in their order, and its pages are where it says."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class
from django.test import Client
from django.urls import resolve

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.command_line import COMMANDS
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from tests.evalsite.cast import by_number, judge_as, run_jobs
from tests.evalsite.exchange.test_guides import guide, run

TEXT = guide("tutorial")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(TEXT)
FILE = next(block for language, block in BLOCKS if language == "yaml")


def commands() -> list[list[str]]:
    """Return what follows `touchstone` on each line of the shell blocks, with the long names of the commands."""
    lines = [line for language, block in BLOCKS if language == "sh" for line in block.splitlines()]
    words = [shlex.split(line)[1:] for line in lines if line.startswith("touchstone ")]
    return [[COMMANDS[name].command if name in COMMANDS else name, *rest] for name, *rest in words]


@pytest.fixture
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text(FILE)


@pytest.mark.usefixtures("in_a_folder_of_its_own")
def test_tutorial_leads_to_a_board_and_its_votes(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    validate, serve, take, *export = commands()
    assert run(validate, capsys) in TEXT
    load_command_class(get_commands()[serve[0]], serve[0]).create_parser("manage.py", serve[0]).parse_args(serve[1:])
    call_command(*take)
    campaign = Campaign.objects.get(slug="first-steps")
    campaign_open(campaign=campaign)
    run_jobs()
    guest = annotator_enrol(campaign=campaign)
    for _round in range(3):
        judge_as(campaign, guest, by_number)
        run_jobs()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    page = Client().get("/boards/first-steps/").content.decode()
    assert page.index("Owl") < page.index("Wren") < page.index("Parrot")
    votes, rank, verify = (run(command, capsys) for command in export)
    assert votes.count("\n") == 18 + 1
    assert re.search(r"^1 .*Owl", rank, re.MULTILINE)
    assert "The chain of 12 entries verifies" in verify


def test_pages_of_the_tutorial_exist() -> None:
    addresses = re.findall(r"http://127.0.0.1:8000(/\S+?)>", TEXT)
    assert [resolve(address).url_name for address in addresses] == ["judge", "board"]


@pytest.mark.usefixtures("in_a_folder_of_its_own")
def test_tutorial_names_controls_as_the_console_does(alice: User, client: Client) -> None:
    call_command("campaign", "import", "first.yaml", organisation="alice")
    client.force_login(alice)
    page = client.get("/console/first-steps/setup/review/").content.decode()
    for label in ("Set-up", "Review", "Launch"):
        assert f"*{label}*" in TEXT
        assert label in page
