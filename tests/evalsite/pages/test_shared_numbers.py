"""Pages agree: a number that several of them show is marked with one key and has one value, in every state."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.services import campaign_pause, campaign_resume, campaign_stop, entrant_withdraw
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import judge, run_jobs

PAGES = (
    *("/", "/boards/trial/", "/boards/trial/?columns=more", "/boards/trial/charts/", "/boards/trial/method/"),
    *("/boards/trial/embed/", "/console/", "/console/trial/"),
)
MARKED = re.compile(r'data-number="(\w+)"[^>]*>([^<]+)<')


def numbers(reader: Client) -> dict[str, set[str]]:
    """Every marked number with its values over all pages."""
    found: dict[str, set[str]] = {}
    for page in PAGES:
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


@pytest.mark.django_db
def test_a_campaign_without_judgments_is_not_going_well(campaign: Campaign, alice: User, client: Client) -> None:
    client.force_login(alice)
    page = client.get("/console/trial/").content.decode()
    assert "nobody has judged yet" in page
    assert "going well" not in page
