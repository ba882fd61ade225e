"""A newcomer on the board: new, its place, its private results; endpoints on their way there; two at once."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings

from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.boards.models import Board
from evalsite.boards.rows import PRELIMINARY_BELOW
from evalsite.boards.selectors import board_state_get
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import TouchstoneError
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.judgments.models import Annotator
from evalsite.judgments.services import annotator_enrol
from evalsite.submissions.advance import endpoints_advance, newcomers_advance
from evalsite.submissions.models import Submission
from evalsite.submissions.results import prompt_results, results_of
from evalsite.submissions.services import Accepted, submission_withdraw, submissions_accept
from scheduler.policies.placement import Placement
from tests.evalsite.cast import CampaignMaker, by_number, campaign_make, judge_as, run_jobs
from tests.evalsite.endpoints.steps import call_all
from tests.evalsite.submissions.steps import last_event, replies, sending, sending_endpoint, states, submit
from tests.servers import LOCAL

SMALL = {"chatbots": 2, "prompts": 40}


@pytest.fixture
def placed_board(make_campaign: CampaignMaker) -> Campaign:
    """Two chatbots on forty prompts, with an open submission."""
    campaign = make_campaign(**SMALL)
    submissions_accept(campaign=campaign, accepted=Accepted(admission="open"))
    return campaign


def judged(campaign: Campaign, blocks: int) -> Annotator:
    annotator = annotator_enrol(campaign=campaign)
    for _ in range(blocks):
        judge_as(campaign, annotator, by_number)
        run_jobs()
    return annotator


def test_place_takes_as_many_judgments_as_the_scheduler_gives() -> None:
    assert Placement().votes == PRELIMINARY_BELOW


def test_newcomer_is_new_until_it_has_its_place(placed_board: Campaign, submitter: User) -> None:
    made = submit(placed_board, submitter, sending(replies(prompts=40)))
    run_jobs()
    state = board_state_get(Board.objects.get(default_of=placed_board))
    assert [(one.name, one.judgments) for one in state.newcomers] == [("Newcomer", 0)]
    judged(placed_board, 5)
    newcomers_advance()
    made.refresh_from_db()
    results = results_of(made)
    assert results.row is not None
    assert (made.state == "placed") == (results.judgments >= PRELIMINARY_BELOW)
    found = prompt_results(made)
    assert sum(one.won + one.tied + one.lost for one in found) == results.judgments
    assert {other.name for one in found for other in one.opponents} <= {"trial bot 0", "trial bot 1"}
    assert not any(other.reply for one in found for other in one.opponents), "it collects"


def test_submission_is_placed_when_its_campaign_ends(placed_board: Campaign, submitter: User) -> None:
    made = submit(placed_board, submitter, sending(replies(prompts=40)))
    run_jobs()
    judged(placed_board, 4)
    newcomers_advance()
    assert states(made)[-1] == "joined"
    Campaign.objects.filter(pk=placed_board.pk).update(state="stopped", stopped_at="2026-01-01T00:00:00Z",
                                                       shows_replies=True)  # fmt: skip
    newcomers_advance()
    assert states(made)[-1] == "placed"
    made = Submission.objects.get(pk=made.pk)
    assert all(other.reply for one in prompt_results(made) for other in one.opponents), "the campaign releases them"


@pytest.mark.full
def test_withdrawn_version_stays_on_the_board(placed_board: Campaign, submitter: User) -> None:
    made = submit(placed_board, submitter, sending(replies(prompts=40)))
    run_jobs()
    judged(placed_board, 2)
    submission_withdraw(submission=made, reason="A bug.", by=submitter)
    run_jobs()
    state = board_state_get(Board.objects.get(default_of=placed_board))
    assert state.snapshot is not None
    assert made.version is not None
    assert str(made.version.public_id) in {row["version"] for row in state.snapshot.rows}
    assert state.withdrawn[str(made.version.public_id)] == "A bug."
    page = Client().get(f"/boards/{placed_board.slug}/method/").content.decode()
    assert "How often each version is judged" in page
    assert "withdrawn" in page


@pytest.fixture
def server() -> Iterator[ChatbotServer]:
    with chatbots_served() as running, override_settings(ENDPOINT_NETWORKS=LOCAL):
        yield running


def settled() -> None:
    """Do what the worker and the caller do, until nothing is left."""
    for _ in range(3):
        call_all()
        endpoints_advance()


@pytest.mark.parametrize(("admission", "last"), [("moderated", "waiting"), ("open", "joined")])
def test_endpoint_is_tested_and_collected(
    board: Campaign, submitter: User, server: ChatbotServer, admission: str, last: str
) -> None:
    submissions_accept(campaign=board, accepted=Accepted(admission=admission))
    made = submit(board, submitter, sending_endpoint(server.url))
    settled()
    made.refresh_from_db()
    assert states(made) == ["received", "checked", last]
    assert made.report["add"] == 6


def test_endpoint_that_does_not_answer_is_refused(board: Campaign, submitter: User, server: ChatbotServer) -> None:
    made = submit(board, submitter, sending_endpoint(f"{server.url}/nothing"))
    settled()
    assert states(made) == ["received", "refused"]
    assert "test of its endpoint failed" in last_event(made).reason


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_two_submissions_of_one_version_at_once() -> None:
    alice = user_create(username="alice", password="correct horse battery")
    sam = user_create(username="sam", password="correct horse battery")
    campaign = campaign_make(organisation=alice.personal_organisation, chatbots=2, prompts=6, start=False)
    Campaign.objects.filter(pk=campaign.pk).update(state="running")
    campaign.refresh_from_db()
    submissions_accept(campaign=campaign, accepted=Accepted(admission="open"))
    outcomes: list[Any] = []
    together = threading.Barrier(2)

    def send(word: str) -> None:
        together.wait()
        try:
            outcomes.append(submit(campaign, sam, sending(replies(word), label="one")).state)
        except TouchstoneError as refused:
            outcomes.append(refused.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=send, args=[word]) for word in ("Surely", "Perhaps")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["joined", "version_taken"]
    assert Submission.objects.count() == 1
