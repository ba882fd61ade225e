"""Campaigns, chatbots, prompts, judgments and snapshots over HTTP: who sees what, page by page, and as files."""

import csv
import io
import json
import math
import subprocess
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue, organisation_create
from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Chatbot
from evalsite.judgments.models import Annotator, Assignment, Candidate, Judgment
from evalsite.judgments.services import judgment_record
from tests.environment import BENCH_PYTHON
from tests.evalsite.api.client import Api, error_of
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge, run_jobs
from tests.shared import shared

TRIAL = "/api/v1/campaigns/trial"
MEMBERS_ONLY = [
    f"{TRIAL}/{name}" for name in ("prompts", "judgments", "judgments.csv", "judgments.jsonl", "skips", "skips.csv")
]
PUBLIC = ["/api/v1/campaigns", TRIAL, f"{TRIAL}/chatbots", "/api/v1/boards", "/api/v1/boards/trial/snapshots"]


@shared
def judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> Campaign:
    """Ten votes that count and two that wait for their batch to close."""
    judge(campaign, bob, "A", blocks=2)
    judge(campaign, dora, "tie", blocks=2)
    run_jobs()
    return campaign


def token_of(user: User, *scopes: str) -> Api:
    return Api(api_token_issue(user=user, name=str(uuid.uuid4()), scopes=scopes or ApiToken.Scope.values, days=1))


@pytest.fixture
def member(alice: User) -> Api:
    return token_of(alice)


def walk(api: Api, path: str, limit: int) -> Iterator[dict[str, Any]]:
    """Every row of a list, page by page."""
    mark = "&" if "?" in path else "?"
    page = api.get(f"{path}{mark}limit={limit}").json()
    while True:
        assert len(page["results"]) <= limit
        yield from page["results"]
        if page["next"] is None:
            return
        page = api.get(f"{path}{mark}limit={limit}&cursor={page['next']}").json()


def text_of(response: Any) -> str:
    return b"".join(response.streaming_content).decode()


@pytest.mark.parametrize("path", [*PUBLIC, *MEMBERS_ONLY, f"{TRIAL}/gold"])
def test_the_scopes_that_open_a_get_open_its_head(campaign: Campaign, alice: User, path: str) -> None:
    for scope in ApiToken.Scope.values:
        by = token_of(alice, scope)
        head = by.client.head(path, headers=by.headers)
        assert (scope, head.status_code) == (scope, by.get(path).status_code)


@pytest.mark.database
@pytest.mark.parametrize("path", PUBLIC)
def test_what_is_public_is_read_without_a_token(judged: Campaign, path: str) -> None:
    assert Api().get(path).status_code == 200


@pytest.mark.parametrize("path", [*PUBLIC[1:3], *MEMBERS_ONLY, "/api/v1/boards/trial/snapshots/1"])
def test_a_private_campaign_is_as_if_it_were_not_there_for_strangers(
    judged: Campaign, charlie: User, member: Api, path: str
) -> None:
    Campaign.objects.update(visibility="private")
    answers = [api.get(p) for api in (Api(), token_of(charlie)) for p in (path, path.replace("trial", "nothing"))]
    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert member.get(path).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/campaigns", "/api/v1/boards"])
def test_lists_hold_what_is_public_and_ones_own(
    judged: Campaign, charlie: User, member: Api, make_campaign: CampaignMaker, path: str
) -> None:
    make_campaign(slug="draft", start=False)
    Campaign.objects.filter(pk=judged.pk).update(visibility="private")
    slugs = {name: {row["slug"] for row in api.get(path).json()["results"]} for name, api in
             {"nobody": Api(), "charlie": token_of(charlie), "alice": member}.items()}  # fmt: skip
    assert slugs["nobody"] == slugs["charlie"] == set()
    assert "trial" in slugs["alice"]


@pytest.mark.parametrize("path", MEMBERS_ONLY)
def test_judgments_and_prompts_of_a_public_campaign_are_its_members(
    judged: Campaign, charlie: User, member: Api, path: str
) -> None:
    for api in (Api(), token_of(charlie)):
        response = api.get(path)
        assert (response.status_code, error_of(response)["code"]) == (403, "not_allowed")
    assert member.get(path).status_code == 200


@pytest.mark.parametrize(
    ("scope", "allowed", "refused"),
    [
        ("campaigns:read", [TRIAL, f"{TRIAL}/prompts", "/api/v1/boards/trial"], MEMBERS_ONLY[1:]),
        ("judgments:read", MEMBERS_ONLY[1:], [TRIAL, f"{TRIAL}/prompts", "/api/v1/boards/trial"]),
    ],
)
def test_a_token_opens_what_its_scope_names(
    judged: Campaign, alice: User, scope: str, allowed: list[str], refused: list[str]
) -> None:
    api = token_of(alice, scope)
    assert [api.get(path).status_code for path in allowed] == [200] * len(allowed)
    for path in refused:
        response = api.get(path)
        assert (response.status_code, error_of(response)["code"]) == (403, "scope_missing")


END: dict[str, Callable[[], Any]] = {
    "expired": lambda: ApiToken.objects.update(expires_at=timezone.now()),
    "revoked": lambda: ApiToken.objects.update(revoked_at=timezone.now()),
    "of somebody who left": lambda: User.objects.update(is_active=False),
}


@pytest.mark.parametrize("end", END)
def test_a_token_that_is_not_in_force_is_refused_even_for_what_is_public(
    judged: Campaign, member: Api, end: str
) -> None:
    END[end]()
    response = member.get(TRIAL)
    assert (response.status_code, error_of(response)["code"]) == (401, "authentication_failed")


def test_an_annotators_token_reads_no_results_and_a_persons_judges_not(api: Api, member: Api) -> None:
    assert api.get(f"{TRIAL}/judgments").status_code == 401
    assert member.post(f"{TRIAL}/claims").status_code == 401


@pytest.mark.database
@pytest.mark.parametrize(
    ("path", "count"), [(f"{TRIAL}/chatbots", 4), (f"{TRIAL}/prompts", 6), (f"{TRIAL}/judgments", 10)]
)
def test_pages_together_are_the_whole_list_once(judged: Campaign, member: Api, path: str, count: int) -> None:
    whole = [row["id"] for row in walk(member, path, 500)]
    assert len(set(whole)) == count
    for limit in (1, 2, 3, count, count + 1):
        assert [row["id"] for row in walk(member, path, limit)] == whole


def test_judgments_recorded_between_two_pages_are_on_the_next(judged: Campaign, bob: Annotator, member: Api) -> None:
    first = member.get(f"{TRIAL}/judgments?limit=7").json()
    judge(judged, bob, blocks=2)
    rest = member.get(f"{TRIAL}/judgments?limit=500&cursor={first['next']}").json()["results"]
    together = [row["id"] for row in first["results"] + rest]
    assert together == [row["id"] for row in walk(member, f"{TRIAL}/judgments", 500)]


@pytest.mark.database
def test_a_list_of_many_costs_as_few_queries_as_a_list_of_few(judged: Campaign, member: Api) -> None:
    costs = []
    member.get(f"{TRIAL}/judgments?limit=1")  # records, once an hour, that the token is in use
    for limit in (1, 10):
        with CaptureQueriesContext(connection) as queries:
            member.get(f"{TRIAL}/judgments?limit={limit}")
        costs.append(len(queries))
    assert costs[0] == costs[1]


@pytest.mark.parametrize(
    "query",
    [
        "cursor=1",
        f"cursor={uuid.UUID(int=2**127 + 1)}",
        "limit=0",
        "limit=501",
        "limit=1.0",
        "limit=" + "9" * 5000,
        "unknown=1",
    ],
)
@pytest.mark.parametrize("path", [f"{TRIAL}/chatbots", f"{TRIAL}/judgments"])
def test_a_page_that_cannot_be_is_a_bad_request(judged: Campaign, member: Api, path: str, query: str) -> None:
    response = member.get(f"{path}?{query}")
    assert (response.status_code, error_of(response)["field"]) == (400, query.split("=")[0])


@pytest.mark.parametrize(
    "query",
    ["counted=yes", "late=1", "chatbot=x", "annotator=%00", "category=%00", "since=yesterday", "aspect=humour",
     "since=0001-01-01T00:00:00%2B23:59", "until=9999-12-31T23:59:59-23:59", "counted=true%00"],
)  # fmt: skip
def test_a_filter_that_cannot_be_is_a_bad_request(judged: Campaign, member: Api, query: str) -> None:
    for form in ("", ".csv"):
        response = member.get(f"{TRIAL}/judgments{form}?{query}")
        assert (response.status_code, error_of(response)["field"]) == (400, query.split("=")[0])


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("moment", ["2026-11-24T12:00:00", "2026-11-24 12:00", "2026-11-24T12:00:00.5"])
def test_a_time_without_its_offset_is_a_bad_request(judged: Campaign, member: Api, name: str, moment: str) -> None:
    for form in ("", ".csv", ".jsonl"):
        response = member.get(f"{TRIAL}/judgments{form}?{name}={moment}")
        error = error_of(response)
        assert (response.status_code, error["code"], error["field"]) == (400, "invalid", name)
        assert "2026-11-24T12:00:00Z" in error["hint"]


@pytest.mark.parametrize("offset", ["Z", "%2B01:00", "-05", "-0530"])
def test_a_time_with_its_offset_is_taken(judged: Campaign, member: Api, offset: str) -> None:
    assert member.get(f"{TRIAL}/judgments?since=2026-11-24T12:00:00{offset}").status_code == 200


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("judgments", "counted=true&counted=any"),
        ("judgments.csv", "counted=true&counted=true"),
        ("judgments", "limit=1&limit=2"),
        ("chatbots", "limit=1&limit=2"),
        ("gold", "limit=1&limit="),
    ],
)
def test_what_is_asked_twice_is_a_bad_request(judged: Campaign, member: Api, path: str, query: str) -> None:
    response = member.get(f"{TRIAL}/{path}?{query}")
    error = error_of(response)
    assert (response.status_code, error["field"], error["hint"]) == (400, query.split("=")[0], "Give it once.")


def test_filters_choose_and_by_default_only_what_counts_is_there(judged: Campaign, bob: Annotator, member: Api) -> None:
    def chosen(query: str = "") -> list[dict[str, Any]]:
        return list(walk(member, f"{TRIAL}/judgments?{query}", 500))

    everything = chosen("counted=any")
    assert (len(chosen()), len(chosen("counted=false")), len(everything)) == (10, 2, 12)
    assert [row["counted"] for row in everything].count(True) == 10
    of_bob = chosen(f"counted=any&annotator={bob.public_id}")
    assert {row["choice"] for row in of_bob} == {"A"}
    assert len(of_bob) == 6
    bot = Chatbot.objects.order_by("pk")[0]
    shown = chosen(f"counted=any&chatbot={bot.public_id}")
    assert [row for row in everything if bot.name in row["candidates"]] == shown
    assert 0 < len(shown) < 12
    middle = Judgment.objects.order_by("pk")[5].recorded_at.isoformat().replace("+00:00", "Z")
    assert chosen(f"counted=any&until={middle}") + chosen(f"counted=any&since={middle}") == everything
    assert chosen("late=true") == chosen("category=none") == []
    assert len(chosen("category=general&late=false")) == 10


def test_what_was_taken_back_and_what_came_too_late_do_not_count(judged: Campaign, bob: Annotator, member: Api) -> None:
    one, two, *_ = assignment_claim(campaign=judged, annotator=bob)
    first = judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}).judgment
    again = judgment_record(
        annotator=bob, assignment_id=one.public_id, choices={"overall": "B"}, supersedes=first.public_id
    ).judgment
    Assignment.objects.filter(pk=two.pk).update(state="expired", lease_until=timezone.now() - timedelta(hours=1))
    rows = {row["id"]: row for row in walk(member, f"{TRIAL}/judgments?counted=any", 500)}
    assert rows[str(again.public_id)]["supersedes"] == str(first.public_id)
    run_jobs()
    counted = {row["id"]: row["choice"] for row in walk(member, f"{TRIAL}/judgments", 500)}
    assert str(first.public_id) not in counted


def test_a_file_has_the_arenas_columns_first_and_every_vote_once(judged: Campaign, member: Api) -> None:
    response = member.get(f"{TRIAL}/judgments.csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert 'filename="trial.csv"' in response["Content-Disposition"]
    text = text_of(response)
    assert text.startswith("model_a,model_b,winner,")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len({row["judgment_id"] for row in rows}) == len(rows) == 10
    assert {row["winner"] for row in rows} <= {"model_a", "model_b", "tie", "both_bad"}
    lines = [json.loads(line) for line in text_of(member.get(f"{TRIAL}/judgments.jsonl")).splitlines()]
    assert [line["judgment_id"] for line in lines] == [row["judgment_id"] for row in rows]
    assert list(lines[0])[:3] == ["model_a", "model_b", "winner"]
    assert list(lines[0]) == list(rows[0])
    assert {row["over_quota"] for row in rows} == {"False"}


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_file_ranks_as_the_board_does(
    judged: Campaign, member: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path = tmp_path / f"votes.{form}"
    path.write_text(text_of(member.get(f"{TRIAL}/judgments.{form}")))
    call_command("rank", str(path), json=True)
    ranked = json.loads(capsys.readouterr().out)["chatbots"]
    board = Api().get("/api/v1/boards/trial").json()["chatbots"]
    assert {row["name"]: row["judgments"] for row in ranked} == {row["name"]: row["judgments"] for row in board}


@pytest.mark.full
@pytest.mark.arena_rank
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_file_loads_in_arena_rank_unchanged(judged: Campaign, member: Api, tmp_path: Path, form: str) -> None:
    """Of its default arguments, in the benchmarks' environment: arena-rank pins a NumPy of its own."""
    path = tmp_path / f"votes.{form}"
    path.write_text(text_of(member.get(f"{TRIAL}/judgments.{form}")))
    rows = [json.loads(line) for line in text_of(member.get(f"{TRIAL}/judgments.jsonl")).splitlines()]
    code = (
        "import sys, json, pandas as pd\n"
        "from arena_rank.models.bradley_terry import BradleyTerry\n"
        "from arena_rank.utils.data_utils import PairDataset\n"
        f"votes = pd.{'read_csv(sys.argv[1])' if form == 'csv' else 'read_json(sys.argv[1], lines=True)'}\n"
        "data = PairDataset.from_pandas(votes)\n"
        "found = BradleyTerry(n_competitors=len(data.competitors)).compute_ratings_and_cis(data)\n"
        "known = {'model_a', 'model_b', 'tie', 'both_bad'}\n"
        "print(json.dumps({'names': list(data.competitors), 'votes': float(data.counts.sum()),"
        " 'ratings': [float(one) for one in found['ratings']], 'strange': sorted(set(votes['winner']) - known)}))"
    )
    ran = subprocess.run([BENCH_PYTHON, "-c", code, path], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["votes"] == len(rows)
    assert told["names"] == sorted({name for row in rows for name in (row["model_a"], row["model_b"])})
    assert all(math.isfinite(one) for one in told["ratings"])
    assert told["strange"] == [], "an outcome that it does not know, it would take for a tie"


def test_a_file_is_read_in_chunks_and_misses_nothing_between_them(
    judged: Campaign, member: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = text_of(member.get(f"{TRIAL}/judgments.csv"))
    monkeypatch.setattr("evalsite.api.judgment_files.CHUNK", 3)
    assert text_of(member.get(f"{TRIAL}/judgments.csv")) == whole


@pytest.mark.parametrize("sign", ["=", "\uff1d"])
def test_a_spreadsheet_computes_no_name(judged: Campaign, member: Api, sign: str) -> None:
    shown = Candidate.objects.filter(assignment__judgments__isnull=False).values("entrant__version__chatbot")
    Chatbot.objects.filter(pk=shown[0]["entrant__version__chatbot"]).update(name=f'{sign}HYPERLINK("x")')
    names = {row["model_a"] for row in csv.DictReader(io.StringIO(text_of(member.get(f"{TRIAL}/judgments.csv"))))}
    assert f'\'{sign}HYPERLINK("x")' in names
    raw = text_of(member.get(f"{TRIAL}/judgments.jsonl"))
    assert f'"{sign}HYPERLINK(\\"x\\")"' in raw


def test_two_chatbots_of_one_name_have_two_names_in_lists(judged: Campaign, member: Api) -> None:
    first, second = judged.entrants.order_by("pk")[:2]
    another = organisation_create(name="another")
    name = first.version.chatbot.name
    Chatbot.objects.filter(pk=second.version.chatbot_id).update(name=name, organisation=another)
    names = {name for row in walk(member, f"{TRIAL}/judgments?counted=any", 500) for name in row["candidates"]}
    assert {f"{name} (1) (another)", f"{name} (1) (alice)"} <= names
    assert len(names) == 4


def test_snapshots_are_listed_and_shown_with_what_they_were_made_of(judged: Campaign) -> None:
    listed = Api().get("/api/v1/boards/trial/snapshots").json()["results"]
    last = listed[-1]
    whole = Api().get(f"/api/v1/boards/trial/snapshots/{last['number']}").json()
    assert whole["chatbots"] == Api().get("/api/v1/boards/trial").json()["chatbots"]
    assert len(whole["input_sha256"]) == 64
    for number in (0, 99, 2**40):
        assert Api().get(f"/api/v1/boards/trial/snapshots/{number}").status_code == 404


def test_a_session_reads_what_its_person_may(judged: Campaign, alice: User, charlie: User) -> None:
    client = Client()
    client.force_login(alice)
    assert client.get(f"{TRIAL}/judgments").status_code == 200
    client.force_login(charlie)
    assert client.get(f"{TRIAL}/judgments").status_code == 403
