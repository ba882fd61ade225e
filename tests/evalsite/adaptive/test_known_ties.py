"""Two chatbots that reply with the same text: nobody is asked, and everybody is told."""

from dataclasses import replace
from pathlib import Path

import pytest
from django.test import Client

from evalsite.accounts.models import ApiToken, Organisation, User
from evalsite.accounts.services import api_token_issue
from evalsite.adaptive.models import Board, Snapshot
from evalsite.adaptive.selectors import record_get
from evalsite.adaptive.services import board_default, campaign_open
from evalsite.adaptive.ties import by_version, known_ties
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_create, entrant_add
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.exchange.verifying import board_verify
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.api.client import Api
from tests.evalsite.cast import OPEN, by_number, judge_as, run_jobs
from tests.evalsite.pages.test_pages import words

# Who says what to p0, p1 and p2. Anna and Bert agree twice, all three once; on p3 each says something of their own.
SAID = {"Anna": ("yes", "no", "so"), "Bert": ("yes", "no", "so"), "Cleo": ("maybe", "never", "so")}


@pytest.fixture
def alike(organisation: Organisation) -> Campaign:
    prompts = [
        NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], "odd" if n % 2 else "even")
        for n in range(4)
    ]
    prompt_set = prompt_set_create(organisation=organisation, name="alike", prompts=prompts)
    campaign = campaign_create(
        organisation=organisation, name="Alike", slug="alike", prompt_set=prompt_set, design=replace(OPEN, batch_size=7)
    )
    for name, said in SAID.items():
        version = version_create(chatbot=chatbot_create(organisation=organisation, name=name))
        texts = (*said, f"{name} knows.")
        replies = dict(zip(prompt_set.prompts.order_by("pk"), texts, strict=True))
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    run_jobs()
    return campaign


@pytest.fixture
def judged(alike: Campaign) -> Campaign:
    """Everything that can be asked is answered: the first to join is better."""
    bob: Annotator = annotator_enrol(campaign=alike)
    for _ in range(4):
        judge_as(alike, bob, by_number)
        run_jobs()
    return alike


def test_they_are_counted_by_pair_and_by_chatbot(alike: Campaign) -> None:
    anna, bert, cleo = alike.entrants.order_by("pk").values_list("version_id", flat=True)
    found = known_ties(board_default(campaign=alike), [anna, bert, cleo])
    assert found == {(anna, bert): 3, (anna, cleo): 1, (bert, cleo): 1}
    assert by_version(found) == {anna: 4, bert: 4, cleo: 2}
    assert known_ties(board_default(campaign=alike), [anna, cleo]) == {(anna, cleo): 1}


def test_a_board_of_one_category_has_those_of_its_prompts(alike: Campaign) -> None:
    anna, bert, _ = alike.entrants.order_by("pk").values_list("version_id", flat=True)
    board = Board(pk=board_default(campaign=alike).pk, category="odd")
    assert known_ties(board, [anna, bert]) == {(anna, bert): 1}


def test_nobody_is_asked_and_win_rates_have_them(judged: Campaign) -> None:
    items = set(Assignment.objects.exclude(annotator=None).values_list("item", flat=True))
    assert len(items) == Snapshot.objects.latest().judgments == 7, "of twelve, five are known"
    by_name = {row["name"]: row for row in Snapshot.objects.latest().rows}
    votes = {"Anna": (4, 4), "Bert": (3, 4), "Cleo": (0, 6)}  # won of judged, without the known ties
    assert {name: row["known_ties"] for name, row in by_name.items()} == {"Anna": 4, "Bert": 4, "Cleo": 2}
    assert {name: row["judgments"] for name, row in by_name.items()} == {name: of for name, (_, of) in votes.items()}
    for name, (won, of) in votes.items():
        known = by_name[name]["known_ties"]
        assert by_name[name]["win_rate"] == pytest.approx((won + known / 2) / (of + known))


def test_the_pairs_have_their_own(judged: Campaign) -> None:
    record = record_get(Snapshot.objects.latest())
    assert record is not None
    assert [(pair.judgments, pair.known) for pair in record.pairs] == [(1, 3), (3, 1), (3, 1)]
    first = record.pairs[0]
    assert first.win_rate == pytest.approx((1 + 1.5) / 4)
    assert first.turned().win_rate == pytest.approx(1.5 / 4)


def test_pages_and_the_api_tell_how_many(judged: Campaign, stranger: Client) -> None:
    anna = Snapshot.objects.latest().rows[0]
    page = words(stranger.get(f"/boards/alike/chatbots/{anna['chatbot']}/"))
    assert "Known ties 4" in page
    assert "and 3 known ties" in page
    assert "5 times two of these chatbots gave the same reply" in words(stranger.get("/boards/alike/method/"))
    row = stranger.get("/api/v1/boards/alike").json()["chatbots"][0]
    assert (row["name"], row["known_ties"]) == ("Anna", 4)
    figures = stranger.get("/boards/alike/charts/wins.csv").content.decode()
    assert figures.splitlines()[0].endswith("win_fraction,known_ties")


def test_a_board_with_them_is_verified_from_its_export(judged: Campaign, alice: User, tmp_path: Path) -> None:
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    file = tmp_path / "judgments.jsonl"
    file.write_bytes(api.get("/api/v1/campaigns/alike/judgments.jsonl").getvalue())
    assert board_verify(board=board_default(campaign=judged), path=file).same
