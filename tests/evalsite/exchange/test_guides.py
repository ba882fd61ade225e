"""The commands of the guides do what these say, in their order: one guide for each kind of person."""

import re
import shlex
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command, get_commands

from evalsite.accounts.models import User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.demo.services import demonstration_load
from evalsite.judgments.models import Invitation
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.api.client import Api
from tests.evalsite.cast import judge, run_jobs

ROOT = Path(__file__).resolve().parents[3]
PEOPLE = ("annotator", "owner", "submitter", "researcher", "operator")
PROMPTS = "prompt_id,text\np1,Why?\n"
REPLIES = "prompt_id,reply\np1,Because.\n"


def guide(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text()


def commands(name: str) -> list[list[str]]:
    """What follows `python manage.py` on each line of the guide's shell blocks."""
    blocks = re.findall(r"```sh\n(.*?)```", guide(name), re.DOTALL)
    lines = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [line[2:] for line in lines if line[:2] == ["python", "manage.py"]]


def run(command: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Its output, which goes into a file where the line says so."""
    into = command.index(">") if ">" in command else len(command)
    capsys.readouterr()
    call_command(*command[:into])
    written = capsys.readouterr().out
    if into < len(command):
        Path(command[into + 1]).write_text(written)
    return written


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PEOPLE)
def test_there_is_a_guide_for_each_kind_of_person_and_the_front_page_leads_to_it(name: str) -> None:
    assert "For the person who " in guide(name)
    assert f"(docs/{name}.md)" in (ROOT / "README.md").read_text()


def test_the_commands_of_the_owners_guide_run(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    demonstration_load()
    Path("prompts.csv").write_text(PROMPTS)
    Path("anna.csv").write_text(REPLIES)
    listed = commands("owner")
    assert len(listed) == 7
    for command in listed[1:]:  # createsuperuser asks for a password
        run(command, capsys)
        if ">" in command:
            Campaign.objects.filter(slug="demonstration").update(slug="the-first")
    assert Chatbot.objects.filter(name="Anna").exists()
    assert Campaign.objects.get(slug="demonstration").entrants.count() == 8
    assert Invitation.objects.get().name == "pilot group"


def test_the_commands_of_the_submitters_guide_run(alice: User, capsys: pytest.CaptureFixture[str]) -> None:
    Path("prompts.csv").write_text(PROMPTS)
    call_command("import_prompts", "prompts.csv", set="Spring prompts", organisation="alice")
    for name in ("anna.csv", "anna-2.csv"):
        Path(name).write_text(REPLIES)
    said = [run(command, capsys) for command in commands("submitter")]
    assert len(said) == 3
    assert said[1] == said[2] == "1 replies to 1 prompts\n"
    assert [one.label for one in Chatbot.objects.get(name="Anna").versions.order_by("pk")] == ["1", "with search"]


def test_the_commands_of_the_researchers_guide_run(
    campaign: Campaign, alice: User, capsys: pytest.CaptureFixture[str]
) -> None:
    for choice in ("A", "tie", "B", "A", "B"):
        judge(campaign, annotator_enrol(campaign=campaign), choice, blocks=5)
        run_jobs()
    api = Api(api_token_issue(user=alice, name="t", scopes=["judgments:read"], days=1))
    for file in ("judgments.csv", "judgments.jsonl"):
        Path(file).write_bytes(api.get(f"/api/v1/campaigns/trial/{file}").getvalue())
    Campaign.objects.filter(slug="trial").update(slug="demonstration")
    campaign.default_board.__class__.objects.filter(slug="trial").update(slug="demonstration")
    listed = commands("researcher")
    assert {command[0] for command in listed} == {
        *("api_token", "rank", "verify_board", "replay", "plan_campaign", "forecast_campaign", "campaign")
    }
    said = {" ".join(command): run(command, capsys) for command in listed}
    assert all(said.values())
    assert "is what the file says" in said["verify_board demonstration judgments.jsonl"]


def test_the_files_that_the_submitters_guide_tells_of_are_those_that_are_read() -> None:
    text = guide("submitter")
    for column in ("prompt_id", "reply", "sample"):
        assert f"| `{column}` |" in text


def test_the_commands_of_the_operators_guide_are_there() -> None:
    """tests/journey starts the processes, tests/evalsite/core backs up and restores: here, that they are called so."""
    assert {command[0] for command in commands("operator")} == {"migrate", "collectstatic", "backup", "restore"}
    assert {"backup", "restore"} <= get_commands().keys()
    assert f"--queues {settings.SLOW_QUEUE}" in guide("operator")
