"""The queue holds twice what is issued, though nobody answers; and after a campaign's stop nothing is issued."""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import connection

from evalsite.accounts.models import User
from evalsite.boards.models import Refit, Snapshot
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import campaign_stop, entrant_withdraw, refit_request
from evalsite.core.db import write_transaction
from evalsite.core.jobs import Lane, work_once
from evalsite.core.models import Job
from evalsite.judgments import queue
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.queue import queue_close, queue_is_low, queue_withdraw
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.refits import planning
from scheduler import Plan, plan
from tests.environment import PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits

QUEUED = Assignment.objects.filter(state=Assignment.State.QUEUED)
ISSUED = Assignment.objects.filter(state=Assignment.State.ISSUED)


@pytest.mark.full
@pytest.mark.usefixtures("no_tail")
def test_whoever_claims_and_does_not_answer_the_queue_is_planned_up_to_twice_what_is_issued(
    make_campaign: CampaignMaker,
) -> None:
    campaign = make_campaign(design=replace(OPEN, batch_size=6, votes_per_item=3), chatbots=6, prompts=20)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    snapshot = Snapshot.objects.get()
    asked = 0
    for _ in range(25):
        assert len(assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))) == 3
        low = QUEUED.all().count() < 2 * ISSUED.all().count()
        assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).exists() is low, "below that, and only then"
        asked += low
        run_only_refits()
        assert QUEUED.all().count() >= 2 * ISSUED.all().count()
    assert ISSUED.all().count() == 75
    assert asked > 1
    assert list(Snapshot.objects.all()) == [snapshot], "without a refit"
    assert set(QUEUED.all().values_list("snapshot", flat=True)) == {snapshot.public_id}
    outcomes = Refit.objects.filter(board=campaign.default_board).order_by("pk").values_list("outcome", flat=True)
    assert set(outcomes[1:]) == {Refit.Outcome.UNCHANGED}


def test_what_is_issued_is_pending_in_the_next_plan_and_stays_as_it_is(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    before = list(ISSUED.all().order_by("pk").values())
    refit_request(campaign)
    run_only_refits()
    assert list(ISSUED.all().order_by("pk").values()) == before
    assert not set(QUEUED.all().values_list("item", flat=True)) & {one.item for one in block}, "asked once each"


def test_a_long_queue_is_emptied_a_part_at_a_time(campaign: Campaign, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = QUEUED.all().count()
    monkeypatch.setattr(queue, "WITHDRAWN_AT_ONCE", 5)
    assert waiting > 10
    assert waiting % 5, "the last part is a small one"
    campaign_stop(campaign=campaign, reason="enough")
    queue_withdraw(campaign=campaign)
    withdrawn = Assignment.objects.filter(state=Assignment.State.WITHDRAWN, closed_at__isnull=False)
    assert (QUEUED.all().count(), withdrawn.count()) == (0, waiting)


@pytest.fixture
def between_parts(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What is done, one after another, between the parts of plans, which are of three asks each."""
    meanwhile: list[Callable[[], object]] = []
    monkeypatch.setattr(queue, "PUT_AT_ONCE", 3)
    monkeypatch.setattr(planning, "let_others_write", lambda: meanwhile.pop(0)() if meanwhile else None)
    return meanwhile


def planned_again(campaign: Campaign) -> None:
    refit_request(campaign)
    run_only_refits()


def test_a_plan_is_put_into_its_queue_a_part_at_a_time_the_best_first(
    campaign: Campaign, between_parts: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue_withdraw(campaign=campaign)
    monkeypatch.setattr(queue, "BLOCKS_BEHIND", 0)
    seen: list[list[int]] = []
    between_parts += [lambda: seen.append(sorted(QUEUED.all().values_list("priority", flat=True)))] * 3
    planned_again(campaign)
    assert seen == [list(range(3)), list(range(6)), list(range(9))]
    waiting = list(QUEUED.all().values_list("priority", flat=True))
    assert sorted(waiting) == list(range(len(waiting)))
    assert len(waiting) > 9


def test_what_is_issued_between_two_parts_is_asked_no_more_often_than_wanted(
    make_campaign: CampaignMaker, between_parts: list[Callable[[], object]]
) -> None:
    campaign = make_campaign(design=replace(OPEN, batch_size=6, votes_per_item=2), chatbots=4, prompts=6)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    people = [annotator_enrol(campaign=campaign) for _ in range(4)]
    origins: dict[int, tuple[object, ...]] = {}

    def claim(someone: Annotator) -> None:
        assignment_claim(campaign=campaign, annotator=someone)
        origins.update({row[0]: row for row in ISSUED.all().values_list("pk", "snapshot", "plan_seed", "probability")})

    between_parts += [partial(claim, someone) for someone in people]
    run_only_refits()
    assert not between_parts, "everybody was given something while the plan was written"
    assert ISSUED.all().count() > 2 * len(people)
    assert {row[1] for row in origins.values()} > {None}, "of the plan before, and of the new one"
    assert {row[0]: row for row in ISSUED.all().values_list("pk", "snapshot", "plan_seed", "probability")} == origins
    asked = Counter(Assignment.objects.exclude(state=Assignment.State.WITHDRAWN).values_list("item", flat=True))
    assert max(asked.values()) <= 2
    assert QUEUED.all().exists()


def test_who_finds_the_queue_low_between_two_parts_asks_for_no_other_plan(
    campaign: Campaign, between_parts: list[Callable[[], object]]
) -> None:
    queue_withdraw(campaign=campaign)
    low: list[bool] = []

    def claim() -> None:
        assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
        low.append(queue_is_low(campaign))

    between_parts += [claim]
    refit_request(campaign)
    assert work_once("me", lane=Lane.PLAIN)
    assert low == [True]
    assert not Job.objects.filter(kind="refit", state=Job.State.QUEUED).exists()
    assert not queue_is_low(campaign)


def test_nothing_more_is_queued_when_a_campaign_stops_between_two_parts(
    campaign: Campaign, between_parts: list[Callable[[], object]]
) -> None:
    queue_withdraw(campaign=campaign)
    before = Assignment.objects.count()
    between_parts += [lambda: None, partial(campaign_stop, campaign=campaign, reason="enough")]
    planned_again(campaign)
    assert Assignment.objects.count() == before + 6
    assert not QUEUED.all().exists()


def test_a_plan_that_is_outdated_between_two_parts_gives_way_to_another(
    campaign: Campaign, between_parts: list[Callable[[], object]]
) -> None:
    leaving = campaign.entrants.order_by("pk")[0]
    queue_withdraw(campaign=campaign)
    before = Assignment.objects.count()
    between_parts += [partial(entrant_withdraw, campaign=campaign, entrant=leaving, reason="left")]
    refit_request(campaign)
    assert work_once("me", lane=Lane.PLAIN)
    assert not between_parts
    assert Assignment.objects.count() == before + 3
    run_only_refits()
    assert not any(leaving.pk in item_parts(item)[1] for item in QUEUED.all().values_list("item", flat=True))
    assert QUEUED.all().count() > 3


def test_who_has_lost_the_lease_between_two_parts_writes_no_more(
    campaign: Campaign, between_parts: list[Callable[[], object]]
) -> None:
    queue_withdraw(campaign=campaign)
    before = Assignment.objects.count()
    running = Job.objects.filter(kind="refit", state=Job.State.RUNNING)
    between_parts += [lambda: running.update(lease_owner="somebody else")]
    refit_request(campaign)
    work_once("me", lane=Lane.PLAIN)
    assert Assignment.objects.count() == before + 3


def test_who_has_lost_the_lease_while_planning_writes_nothing(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment_claim(campaign=campaign, annotator=bob)
    before = list(QUEUED.order_by("pk").values())

    def plans(*args: Any, **options: Any) -> Plan:
        Job.objects.filter(kind="refit", state=Job.State.RUNNING).update(lease_owner="somebody else")
        return plan(*args, **options)

    monkeypatch.setattr(planning, "plan", plans)
    refit_request(campaign)
    work_once("me", lane=Lane.PLAIN)
    assert list(QUEUED.order_by("pk").values()) == before


def test_the_queue_of_another_campaign_stays(campaign: Campaign, make_campaign: CampaignMaker) -> None:
    other = make_campaign(slug="other")
    waiting = QUEUED.filter(campaign=other).count()
    queue_withdraw(campaign=campaign)
    assert QUEUED.filter(campaign=other).count() == waiting > 0
    assert not QUEUED.filter(campaign=campaign).exists()


def test_a_stop_by_hand_closes_the_queue_and_the_worker_empties_it(campaign: Campaign, alice: User) -> None:
    act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments(reason="enough"))
    assert assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign)) == []
    run_only_refits()
    assert not QUEUED.all().exists()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_who_claims_while_a_campaign_is_being_stopped_gets_nothing_after_it(make_campaign: CampaignMaker) -> None:
    """The claim has seen the campaign collect, or waits until it has stopped: either way nothing is issued after."""
    campaign = make_campaign()
    bob = annotator_enrol(campaign=campaign)
    stopping, looked = threading.Event(), threading.Event()

    def stop() -> None:
        with write_transaction():
            own = Campaign.objects.get(pk=campaign.pk)
            campaign_stop(campaign=own, reason="enough")
            queue_close(campaign=own)
            stopping.set()
            looked.wait(0.3)
        connection.close()

    thread = threading.Thread(target=stop)
    thread.start()
    stopping.wait(PATIENCE_S)
    block = assignment_claim(campaign=Campaign.objects.get(pk=campaign.pk), annotator=bob)
    looked.set()
    thread.join()
    assert block == []
    assert not ISSUED.all().exists()
