"""Pages agree: a number that several of them show is marked with one key and has one value, in every state."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from html import unescape

import pytest
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import Organisation, User
from evalsite.boards.models import Slice, Snapshot
from evalsite.boards.selectors import board_state_get
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import (
    REFIT,
    campaign_create,
    campaign_extend,
    campaign_pause,
    campaign_resume,
    campaign_stop,
    entrant_add,
    entrant_withdraw,
)
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core import jobs
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from evalsite.presentation.board_head import status
from evalsite.prompts.services import NewPrompt, prompt_set_create
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs
from tests.shared import shared

PAGES = (
    *("/", "/boards/trial/", "/boards/trial/?columns=more", "/boards/trial/charts/", "/boards/trial/method/"),
    *("/boards/trial/embed/", "/console/", "/console/trial/"),
)
MARKED = re.compile(r'data-number="(\w+)"[^>]*>([^<]+)<')


def numbers(reader: Client, pages: Iterable[str] = PAGES) -> dict[str, set[str]]:
    """Every marked number with its values over all pages."""
    found: dict[str, set[str]] = {}
    for page in pages:
        answer = reader.get(page)
        if answer.status_code == 200:
            for key, value in MARKED.findall(answer.content.decode()):
                found.setdefault(key, set()).add(unescape(value).strip())
    return found


def in_turn(*steps: Callable[[], object]) -> Callable[[], object]:
    return lambda: [step() for step in steps]


def states(campaign: Campaign, alice: User, bob: Annotator) -> dict[str, Callable[[], object]]:
    """Ten states of a campaign, each reached from the one before it."""
    entrant = campaign.entrants.order_by("pk")[0]
    return {
        "nobody has judged": lambda: None,
        "the first batch is open": lambda: judge(campaign, bob),
        "the first board": in_turn(
            lambda: judge(campaign, annotator_enrol(campaign=campaign), blocks=2),
            run_jobs,
        ),
        "judgments since the board": lambda: judge(campaign, annotator_enrol(campaign=campaign)),
        "a second board": run_jobs,
        "paused": lambda: campaign_pause(campaign=campaign, by=alice),
        "resumed": in_turn(lambda: campaign_resume(campaign=campaign, by=alice), run_jobs),
        "a chatbot withdrawn": in_turn(
            lambda: entrant_withdraw(campaign=campaign, entrant=entrant, reason="asked", by=alice),
            run_jobs,
        ),
        "stopped": lambda: campaign_stop(campaign=campaign, reason="enough"),
        "after the last refit": run_jobs,
    }


@pytest.mark.parametrize("count", [4, pytest.param(10, marks=pytest.mark.full)])
def test_pages_agree_on_every_shared_number_in_ten_states(
    campaign: Campaign, alice: User, bob: Annotator, client: Client, count: int
) -> None:
    client.force_login(alice)
    disagreeing = {}
    reached = list(states(campaign, alice, bob).items())
    assert len(reached) == 10
    for name, reach in reached[:count]:
        reach()
        campaign.refresh_from_db()
        found = numbers(client)
        assert {"judgments", "annotators", "chatbots"} <= set(found), name
        if differing := {key: values for key, values in found.items() if len(values) > 1}:
            disagreeing[name] = differing
    assert disagreeing == {}
    if count < len(reached):
        return
    latest = Snapshot.objects.filter(board=campaign.default_board).latest("number")
    assert numbers(client)["ranked"] == {str(latest.judgments)} == numbers(client)["counted"]
    assert numbers(client)["chatbots"] == {str(campaign.entrants.filter(state=Entrant.State.ACTIVE).count())}


def judge_out(campaign: Campaign) -> None:
    """Judge until nothing more is asked."""
    annotator = annotator_enrol(campaign=campaign)
    while judge(campaign, annotator):
        run_jobs()


def newcomer_join(campaign: Campaign) -> None:
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="newcomer"))
    replies = {prompt: f"New words on {prompt.key}." for prompt in campaign.prompt_set.prompts.all()}
    replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
    entrant_add(campaign=campaign, version=version)
    run_jobs()


def openings(campaign: Campaign, alice: User) -> dict[str, Callable[[], object]]:
    """States of a campaign that opens again, and a sentence that board and console then share."""
    extended = replace(limits_of(campaign.stopping), budget=12)

    def again() -> None:
        judge(campaign, annotator_enrol(campaign=campaign))

    def withdraw() -> None:
        newcomer = campaign.entrants.order_by("-pk")[0]
        entrant_withdraw(campaign=campaign, entrant=newcomer, reason="asked", by=alice)

    if not campaign.standing:
        return {
            "Stopped": lambda: judge_out(campaign),
            "Collecting": lambda: campaign_extend(campaign=campaign, limits=extended),
            "Collecting: ": in_turn(run_jobs, again, run_jobs),
        }
    return {
        "Waiting for new chatbots": lambda: judge_out(campaign),
        "Collecting: 0 of 6 judgments since it opened again": lambda: newcomer_join(campaign),
        "Collecting": in_turn(again, run_jobs),
        "Collecting: ": withdraw,
    }


@pytest.mark.parametrize("standing", [pytest.param(False, marks=pytest.mark.full), True])
def test_pages_agree_when_a_campaign_opens_again(
    make_campaign: CampaignMaker, alice: User, client: Client, standing: bool
) -> None:
    design = replace(OPEN, target_se=None, budget=6, standing=standing, newcomer_budget=6 if standing else None)
    campaign = make_campaign(design=design, chatbots=3, prompts=8)
    client.force_login(alice)
    wrong: list[object] = []
    for name, reach in openings(campaign, alice).items():
        reach()
        campaign.refresh_from_db()
        wrong += [(name, key, values) for key, values in numbers(client).items() if len(values) > 1]
        text = status(board_state_get(campaign.default_board))["text"]
        wrong += [] if text.lower().startswith(name.lower()) else [(name, text)]
        pages = {page: unescape(client.get(page).content.decode()) for page in ("/", "/boards/trial/")}
        wrong += [(name, page) for page, content in pages.items() if text not in content]
        answer = client.get("/console/trial/").content.decode()
        ended = "It waits for new chatbots" if standing else "It has ended"
        wrong += [(name, answer)] if (ended in answer) == campaign.collecting else []
    assert wrong == []


@pytest.mark.django_db
def test_a_campaign_without_judgments_is_not_going_well(campaign: Campaign, alice: User, client: Client) -> None:
    client.force_login(alice)
    page = client.get("/console/trial/").content.decode()
    assert "nobody has judged yet" in page
    assert "going well" not in page


OF_CATEGORY = [f"/boards/trial/{part}?category=maths" for part in ("", "charts/", "method/", "embed/")]
EARLIER = "These numbers are of an earlier state than those of the whole board."
SOME_EARLIER = "Categories show an earlier state than the whole board."


@shared
def categorised(organisation: Organisation) -> Campaign:
    """A campaign with two categories, and a board of each."""
    topics = ["maths", "travel"] * 20
    new = [NewPrompt(f"p{n}", [{"speaker": "user", "text": f"Question {n}?"}], topic) for n, topic in enumerate(topics)]
    prompts = prompt_set_create(organisation=organisation, name="topics", prompts=new)
    design = replace(OPEN, batch_size=40, block_size=10, policy="random")
    campaign = campaign_create(organisation=organisation, name="T", slug="trial", prompt_set=prompts, design=design)
    for n in range(4):
        version = version_create(chatbot=chatbot_create(organisation=organisation, name=f"bot {n}"))
        replies = {prompt: f"Bot {n} on {prompt.key}." for prompt in prompts.prompts.all()}
        replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
        entrant_add(campaign=campaign, version=version)
    campaign_open(campaign=campaign)
    run_jobs()
    judge_batches(campaign, 2)
    run_jobs()
    return campaign


def judge_batches(campaign: Campaign, count: int) -> None:
    """Fill batches; the whole board is fitted after each, and its categories are not."""
    annotator = annotator_enrol(campaign=campaign)
    for _ in range(count):
        judge(campaign, annotator, blocks=4)
        while jobs.job_is_due(REFIT):
            jobs.work_once("test")


def read(client: Client, page: str) -> str:
    return unescape(client.get(page).content.decode())


@pytest.mark.full
def test_pages_of_a_category_say_that_it_is_older_until_it_is_fitted(categorised: Campaign, client: Client) -> None:
    counted = {}
    for state, reach in {
        "fitted": lambda: None,
        "waiting": lambda: judge_batches(categorised, 1),
        "fitted again": run_jobs,
    }.items():
        reach()
        pages = {page: read(client, page) for page in OF_CATEGORY}
        counted[state] = (
            numbers(client, OF_CATEGORY)["ranked"],
            {EARLIER in content for content in pages.values()},
            SOME_EARLIER in read(client, "/boards/trial/"),
        )
    sizes = [next(iter(ranked)) for ranked, *_ in counted.values()]
    assert [len(ranked) for ranked, *_ in counted.values()] == [1, 1, 1]
    assert sizes[0] == sizes[1] != sizes[2]
    assert [told for _, *told in counted.values()] == [[{False}, False], [{True}, True], [{False}, False]]
    assert EARLIER not in read(client, "/boards/trial/")


def test_api_and_a_chatbots_page_tell_the_age_of_a_category(categorised: Campaign, client: Client) -> None:
    chatbot = f"/boards/trial/chatbots/{categorised.entrants.all()[0].version.chatbot.public_id}/"

    def told() -> tuple[str, int]:
        body = client.get("/api/v1/boards/trial?category=maths").json()
        return body["filter"]["age"], body["snapshot"]["number"]

    def warned() -> bool:
        return SOME_EARLIER in read(client, chatbot)

    before = told(), warned()
    judge_batches(categorised, 1)
    during = told(), warned()
    run_jobs()
    after = told(), warned()
    assert [(age, older) for (age, _), older in (before, during, after)] == [
        ("same", False),
        ("earlier", True),
        ("same", False),
    ]
    assert before[0][1] == during[0][1] != after[0][1]
    Slice.objects.filter(value="maths").update(seen="of later votes", looked_at=timezone.now())
    assert told()[0] == "later"


@pytest.mark.full
def test_pages_agree_while_the_board_of_a_category_is_older(categorised: Campaign, alice: User, client: Client) -> None:
    client.force_login(alice)
    judge_batches(categorised, 1)
    everywhere = numbers(client)
    of_category = numbers(client, OF_CATEGORY)
    assert {key: values for key, values in everywhere.items() if len(values) > 1} == {}
    assert {key: values for key, values in of_category.items() if len(values) > 1} == {}
    assert (of_category["judgments"], of_category["annotators"]) == (everywhere["judgments"], everywhere["annotators"])


def test_a_category_that_knows_more_votes_than_the_whole_board_says_so(categorised: Campaign, client: Client) -> None:
    Slice.objects.filter(value="maths").update(seen="of later votes", looked_at=timezone.now())
    assert "These numbers are newer than those of the whole board." in read(client, OF_CATEGORY[0])
