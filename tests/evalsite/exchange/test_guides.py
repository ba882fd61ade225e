"""The commands of the guides do what these say, in their order: one guide for each kind of person."""

import json
import re
import shlex
import uuid
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
from evalsite.prompts.models import PromptSet
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


@dataclass(frozen=True)
class Call:
    """A call of curl, as a guide shows it. scope: what its token may, by the guide's own words."""

    scope: str
    content_type: str
    data: str
    url: str


def calls(name: str) -> list[Call]:
    """The curl lines of the guide, in their order."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", guide(name), re.DOTALL | re.MULTILINE)
    lines = "".join(block for language, block in blocks if not language).replace("\\\n", " ").splitlines()
    return [_call(shlex.split(line)[1:]) for line in lines if line.startswith("curl ")]


def _call(words: list[str]) -> Call:
    asked = ArgumentParser()
    for flag in ("-X", "-d", "--data-binary"):
        asked.add_argument(flag, default="")
    asked.add_argument("-H", action="append", default=[])
    asked.add_argument("url")
    found = asked.parse_args(words)
    headers = dict(header.split(": ", 1) for header in found.H)
    scope = re.fullmatch(r"Bearer <token with ([a-z:]+)>", headers["Authorization"])
    assert scope
    assert not found.d.startswith("@"), "it would take the line breaks out of the file"
    data = found.d or found.data_binary
    assert ("POST" if data else "") == found.X
    return Call(scope[1], headers.get("Content-Type", ""), data, found.url)


def called(call: Call, user: User, **names: str) -> Any:
    """The answer, with `names` in the places that the guide leaves open."""
    url, data = call.url.removeprefix("https://<host>"), call.data
    for place, name in names.items():
        url, data = (text.replace(f"<{place.replace('_', ' ')}>", name) for text in (url, data))
    assert "<" not in url + data
    api = Api(api_token_issue(user=user, name=str(uuid.uuid4()), scopes=[call.scope], days=1))
    content = Path(data[1:]).read_bytes() if data.startswith("@") else data.encode()
    return api.raw(url, content, call.content_type) if data else api.get(url)


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
    assert len(listed) == 6
    for command in listed:
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
    assert len(said) == 4
    assert said[2] == said[3] == "1 replies to 1 prompts\n"
    assert [one.label for one in Chatbot.objects.get(name="Anna").versions.order_by("pk")] == ["1", "with search"]


def test_the_calls_of_the_submitters_guide_bring_a_chatbot_into_a_running_campaign(
    campaign: Campaign, alice: User
) -> None:
    PromptSet.objects.filter(pk=campaign.prompt_set_id).update(name="Spring prompts")
    read, look, send, add = calls("submitter")
    prompts = called(read, alice, campaign="trial").json()["results"]
    replies = [f"{prompt['key']},Anna on {prompt['key']}." for prompt in prompts]
    Path("anna.csv").write_text("\n".join(["prompt_id,reply", *replies]))
    looked = called(look, alice).json()
    assert not Chatbot.objects.filter(name="Anna").exists()
    sent = called(send, alice)
    assert (sent.status_code, sent.json()["rows"], sent.json()["add"]) == (201, looked["rows"], len(prompts))
    added = called(add, alice, campaign="trial", id_of_the_version=sent.json()["version"]["id"])
    assert added.status_code == 200
    assert campaign.entrants.filter(version__chatbot__name="Anna", version__label="spring").exists()


def test_the_calls_of_the_guide_to_the_api_send_prompts_and_look_at_replies(alice: User) -> None:
    Path("prompts.csv").write_text(PROMPTS)
    Path("anna.jsonl").write_text(json.dumps({"prompt_id": "p1", "reply": "Because."}))
    send, look = (called(call, alice) for call in calls("api"))
    assert (send.status_code, send.json()["add"]) == (201, 1)
    assert (look.status_code, look.json()["add"], look.json()["missing"]) == (200, 1, [])
    assert PromptSet.objects.get(name="Spring prompts").prompts.count() == 1
    assert not Chatbot.objects.exists()


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
    turns = [{"speaker": "user", "text": "Hello"}, {"speaker": "chatbot", "text": "Do you like jazz?"}]
    talks = [{"conversation_id": f"{bot}{n}", "chatbot": bot, "turns": turns} for bot in ("Bee", "Cow") for n in (1, 2)]
    Path("conversations.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    Path("ratings.csv").write_text("conversation_id,value\nBee1,4\nBee2,5\nCow1,2\nCow2,3\n")
    listed = commands("researcher")
    assert {command[0] for command in listed} == {
        *("api_token", "rank", "verify_board", "replay", "plan_campaign", "forecast_campaign", "campaign", "scorecard")
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
