"""Files that people keep have the columns and keys that they had: tests/house/public_names.txt lists them."""

import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

import pytest
import yaml
from django.test import Client, override_settings

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.exchange.campaign_file import campaign_read, campaign_take, campaign_write
from evalsite.exchange.campaign_planning import CampaignPlan
from evalsite.exchange.file_ranking import ChatbotRow, PairRow, Ranking
from evalsite.exchange.replays import Replay
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator
from evalsite.pages.prompts import FIGURES as PROMPT_FIGURES
from evalsite.presentation.figures import FIGURES
from scheduler.reasons import Reason
from tests.evalsite.api.client import Api
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs
from tests.evalsite.exchange.test_broken_campaigns import WHOLE
from tests.house.names import stored
from tests.shared import shared

EXPORTS = stored()["exports"]


def expected(*files: str) -> set[str]:
    """Return the names that are listed for these files."""
    found = {name for name in EXPORTS if name.partition(" ")[0] in files}
    assert {name.partition(" ")[0] for name in found} == set(files), "public_names.txt lists no such file"
    return found


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """A campaign whose board stands, with a skip."""
    Campaign.objects.update(shows_prompts=True)
    judge(campaign, bob, blocks=2)
    first = assignment_claim(campaign=campaign, annotator=dora)[0]
    assignment_skip(annotator=dora, assignment_id=first.public_id, reason="broken")
    judge(campaign, dora, "tie", blocks=2)
    run_jobs()
    campaign.refresh_from_db()
    return campaign


def columns(name: str, content: str) -> set[str]:
    return {f"{name} {column}" for column in next(csv.reader(io.StringIO(content)))}


def keys(name: str, value: Any, begin: str = "") -> set[str]:
    """Name each key of a value made of lists and objects; items of a list have the same."""
    if isinstance(value, list):
        return {key for item in value for key in keys(name, item, f"{begin}[]" if begin else "")}
    found = set()
    for key, inside in value.items() if isinstance(value, dict) else ():
        path = f"{begin}.{key}" if begin else key
        found |= {f"{name} {path}", *keys(name, inside, path)}
    return found


def fields_of(name: str, kind: Any, begin: str = "") -> Iterator[str]:
    """Name each field of a dataclass, and those of the dataclasses in it. Reasons, which hold others, end the way."""
    if is_dataclass(kind) and kind is not Reason:
        hints = get_type_hints(kind)
        for field in fields(kind):
            yield f"{name} {begin}{field.name}"
            yield from fields_of(name, hints[field.name], f"{begin}{field.name}.")
    for inner in get_args(kind):
        yield from fields_of(name, inner, begin)


def read(client: Client, path: str, **headers: str) -> str:
    response = client.get(path, headers=headers)
    assert response.status_code == 200, path
    return (b"".join(response) if response.streaming else response.content).decode()


@pytest.mark.parametrize("name", ["judgments", "skips"])
def test_judgments_and_skips_keep_their_columns(judged: Campaign, alice: User, name: str) -> None:
    api = Api(api_token_issue(user=alice, name="files", scopes=ApiToken.Scope.values, days=1))
    table = read(api.client, f"/api/v1/campaigns/trial/{name}.csv", **api.headers)
    lines = read(api.client, f"/api/v1/campaigns/trial/{name}.jsonl", **api.headers)
    found = columns(f"{name}.csv", table) | keys(f"{name}.jsonl", json.loads(lines.splitlines()[0]))
    assert expected(f"{name}.csv", f"{name}.jsonl") <= found


def test_known_ties_keep_their_keys(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(chatbots=2, prompts=1, start=False)
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="Echo"))
    prompt = campaign.prompt_set.prompts.get()
    replies_add(version=version, replies={prompt: f"Bot 0 on {prompt.key}."}, origin=Reply.Origin.FILE)
    entrant_add(campaign=campaign, version=version)
    api = Api(api_token_issue(user=alice, name="files", scopes=ApiToken.Scope.values, days=1))
    lines = read(api.client, "/api/v1/campaigns/trial/known_ties.jsonl", **api.headers)
    assert expected("known_ties.jsonl") <= keys("known_ties.jsonl", json.loads(lines.splitlines()[0]))


def test_payments_keep_their_columns(judged: Campaign, owner: Client) -> None:
    response = owner.post("/console/trial/payments.csv")
    content = b"".join(response.streaming_content).decode()  # type: ignore[attr-defined]
    assert expected("payments.csv") <= columns("payments.csv", content)


@pytest.mark.parametrize("figure", FIGURES)
def test_charts_keep_their_columns(judged: Campaign, client: Client, figure: str) -> None:
    name = f"charts/{figure}.csv"
    assert expected(name) <= columns(name, read(client, f"/boards/trial/{name}"))
    as_json = json.loads(read(client, f"/boards/trial/charts/{figure}.json"))
    assert set(as_json) >= {"columns", "rows"}


@pytest.mark.parametrize("figure", PROMPT_FIGURES)
def test_charts_of_prompts_keep_their_columns(judged: Campaign, client: Client, figure: str) -> None:
    prompt = judged.prompt_set.prompts.order_by("pk")[0]
    path = f"/boards/trial/prompts/{prompt.public_id}/{figure}.csv"
    assert expected(f"prompts/{figure}.csv") <= columns(f"prompts/{figure}.csv", read(client, path))


def test_metrics_keep_their_names(judged: Campaign, client: Client) -> None:
    with override_settings(METRICS_TOKEN="abc"):
        text = read(client, "/metrics", Authorization="Bearer abc")
    assert expected("metrics") <= {f"metrics {name}" for name in re.findall(r"(?m)^# TYPE (\S+)", text)}


def test_campaign_file_keeps_its_keys(organisation: Organisation) -> None:
    campaign = campaign_take(organisation=organisation, given=campaign_read(WHOLE))
    assert expected("campaign.yaml") <= keys("campaign.yaml", yaml.safe_load(campaign_write(campaign)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("rank.csv", ChatbotRow),
        ("rank_pairs.csv", PairRow),
        ("rank.json", Ranking),
        ("replay.json", Replay),
        ("plan_campaign.json", CampaignPlan),
    ],
)
def test_answers_of_commands_keep_their_fields(name: str, kind: type) -> None:
    assert expected(name) <= set(fields_of(name, kind))
