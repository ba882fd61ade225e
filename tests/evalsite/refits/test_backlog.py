"""A plan goes on behind its queue: who comes, alone or with two hundred others, need not wait for a worker."""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

import scheduler
from evalsite.accounts.models import User
from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import (
    campaign_stop,
    design_hash,
    entrant_withdraw,
    prompt_retire,
    refit_key,
    refit_request,
)
from evalsite.core.db import write_transaction
from evalsite.core.jobs import job_is_pending, work_once
from evalsite.core.models import Job
from evalsite.judgments import backlog, queue
from evalsite.judgments.backlog import queue_refill
from evalsite.judgments.campaign_choice import work_claim
from evalsite.judgments.exclusions import annotator_exclude
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment, Enrolment, Place, Reserve, Skip
from evalsite.judgments.planned_items import Origin, PlannedItem
from evalsite.judgments.queue import QueueState, queue_replace, queue_state_read
from evalsite.judgments.queue_sql import draw_lock, queue_share
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.prompts.models import Prompt
from evalsite.refits import planning
from scheduler import CampaignState, Plan
from tests.environment import FULL, PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, empty_queue, judge, run_jobs
from tests.shared import shared

QUEUED = Assignment.objects.filter(state=Assignment.State.QUEUED)
OPEN_OR_DONE = [Assignment.State.QUEUED, Assignment.State.ISSUED, Assignment.State.ANSWERED]
PART = 7  # asks drawn at once, here
PEOPLE = 200 if FULL else 60
WAITS_S = 0.5  # who does nothing for so long is waiting


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "DRAWN_AT_ONCE", PART)
    monkeypatch.setattr(planning, "BACKLOG_SIZE", 60)


@shared
def stocked(make_campaign: CampaignMaker) -> Campaign:
    """It has a board, a queue, and sixty asks behind it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backlog, "DRAWN_AT_ONCE", PART)
        patch.setattr(planning, "BACKLOG_SIZE", 60)
        campaign = make_campaign(design=OPEN, chatbots=5, prompts=20)
        judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
        run_jobs()
    return campaign


def behind(campaign: Campaign) -> int:
    """How many asks wait behind the queue."""
    return sum(Reserve.objects.filter(campaign=campaign).values_list("size", flat=True))


def parts_behind() -> set[int]:
    return set(Reserve.objects.values_list("pk", flat=True))


def draw(campaign: Campaign) -> list[Assignment]:
    """Let somebody claim who finds the queue empty; return what was put into it from behind, in its order."""
    before = set(Assignment.objects.values_list("pk", flat=True))
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))
    return list(Assignment.objects.exclude(pk__in=before).order_by("priority"))


def asks_of(campaign: Campaign) -> list[str]:
    return [item for part in Reserve.objects.filter(campaign=campaign).order_by("pk") for _, item, *_ in part.asks]


def drain(campaign: Campaign) -> None:
    """The queue is as good as empty: whoever claims next finds it low."""
    keys = list(QUEUED.filter(campaign=campaign).order_by("priority").values_list("pk", flat=True)[1:])
    Assignment.objects.filter(pk__in=keys).update(state=Assignment.State.WITHDRAWN)


def times_asked() -> Counter[str]:
    return Counter(Assignment.objects.filter(state__in=OPEN_OR_DONE).values_list("item", flat=True))


@pytest.mark.database
def test_a_plan_goes_on_behind_its_queue_with_other_items_from_the_same_snapshot(stocked: Campaign) -> None:
    items = asks_of(stocked)
    assert len(items) == len(set(items)) == behind(stocked) == 60
    assert not set(items) & set(QUEUED.all().values_list("item", flat=True))
    assert set(Reserve.objects.values_list("snapshot", flat=True)) == {Snapshot.objects.get().public_id}
    assert not set(Reserve.objects.values_list("plan_seed", flat=True)) & set(
        QUEUED.values_list("plan_seed", flat=True)
    )


def test_many_who_come_at_once_are_given_a_block_each(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "BACKLOG_SIZE", 2_000)
    monkeypatch.setattr(backlog, "DRAWN_AT_ONCE", 200)
    campaign = make_campaign(design=OPEN, chatbots=6, prompts=60)
    assert QUEUED.all().count() < PEOPLE
    blocks = [assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign)) for _ in range(PEOPLE)]
    assert [len(block) for block in blocks] == [OPEN.block_size] * PEOPLE
    assert max(times_asked().values()) == 1


def test_what_is_drawn_comes_after_the_queue_and_says_where_it_comes_from(stocked: Campaign) -> None:
    kept = QUEUED.order_by("priority").values_list("pk", flat=True)[: OPEN.block_size + 1]
    QUEUED.exclude(pk__in=list(kept)).update(state=Assignment.State.WITHDRAWN)
    first = Reserve.objects.order_by("pk").first()
    assert first is not None
    before = set(Assignment.objects.values_list("pk", flat=True))
    assert assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))
    drawn = list(Assignment.objects.exclude(pk__in=before).order_by("priority"))
    last = max(QUEUED.filter(pk__in=before).values_list("priority", flat=True))  # what the claim has left
    assert [one.priority for one in drawn] == list(range(last + 1, last + 1 + PART))
    assert [[one.place.prompt_id, one.item, one.purpose, one.probability, 1] for one in drawn] == first.asks
    assert {(one.policy, one.snapshot, one.plan_seed) for one in drawn} == {
        (first.policy, first.snapshot, first.plan_seed)
    }


@pytest.mark.database
def test_who_finds_the_queue_low_draws_and_asks_for_a_plan_only_with_the_last_part(stocked: Campaign) -> None:
    while behind(stocked) > PART:
        drain(stocked)
        before = behind(stocked)
        assert assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))
        assert behind(stocked) == before - PART
        assert not job_is_pending(refit_key(stocked))
    drain(stocked)
    assert assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))
    assert behind(stocked) == 0
    assert job_is_pending(refit_key(stocked))
    run_jobs()
    assert behind(stocked) > PART, "and it is there again"
    assert Snapshot.objects.count() == 1


def test_who_finds_nothing_at_all_is_given_what_was_drawn(stocked: Campaign) -> None:
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    assert len(assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))) == OPEN.block_size


def test_who_asks_for_work_of_any_campaign_is_given_what_was_drawn(stocked: Campaign) -> None:
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    assert len(work_claim(annotator=annotator_enrol(campaign=stocked)).block) == OPEN.block_size


def test_nothing_is_drawn_that_was_asked_as_often_as_wanted_meanwhile(stocked: Campaign) -> None:
    often, once = asks_of(stocked)[:2]
    ended(stocked, often, Assignment.State.ANSWERED)
    place = Place.objects.create(campaign=stocked, prompt_id=item_parts(once)[0], item=once)
    Assignment.objects.create(campaign=stocked, place=place, item=once, state=Assignment.State.WITHDRAWN)
    assert draw(stocked)
    assert (times_asked()[often], times_asked()[once]) == (1, 1), "what was withdrawn was not asked"


def test_a_part_of_which_nothing_is_wanted_any_more_is_passed_over(stocked: Campaign) -> None:
    for item in asks_of(stocked)[:PART]:
        ended(stocked, item, Assignment.State.ANSWERED)
    assert len(draw(stocked)) == PART
    assert behind(stocked) == 60 - 2 * PART


@pytest.mark.parametrize("change", ["a chatbot left", "a prompt was retired", "the plan is another"])
def test_what_was_planned_for_another_design_is_forgotten_and_a_plan_asked_for(stocked: Campaign, change: str) -> None:
    if change == "a chatbot left":
        entrant_withdraw(campaign=stocked, entrant=stocked.entrants.all()[0], reason="left")
    elif change == "a prompt was retired":
        prompt_retire(campaign=stocked, prompt=stocked.prompt_set.prompts.all()[0], reason="odd")
    else:
        Campaign.objects.filter(pk=stocked.pk).update(policy="random")
    stocked = Campaign.objects.get(pk=stocked.pk)
    drain(stocked)
    assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))
    assert behind(stocked) == 0
    assert job_is_pending(refit_key(stocked))
    run_jobs()
    assert {part.design for part in Reserve.objects.all()} == {design_hash(stocked)}


def test_a_stop_leaves_nothing_to_draw(stocked: Campaign, alice: User) -> None:
    late = annotator_enrol(campaign=stocked)
    act_perform(key=stocked.slug, act=Act.STOP, user=alice, given=ActionArguments(reason="enough"))
    assert behind(stocked) == 0
    assert assignment_claim(campaign=Campaign.objects.get(pk=stocked.pk), annotator=late) == []


def test_a_refit_of_a_stopped_campaign_withdraws_what_is_behind_its_queue(stocked: Campaign) -> None:
    campaign_stop(campaign=stocked, reason="enough")
    refit_request(stocked)
    run_jobs()
    assert behind(stocked) == 0
    assert not QUEUED.exists()


def planned_again(campaign: Campaign) -> None:
    refit_request(campaign)
    run_jobs()


def seeds_behind() -> set[int]:
    return set(Reserve.objects.values_list("plan_seed", flat=True))


def test_what_is_behind_a_queue_is_planned_anew_once_the_board_has_grown_by_a_tenth(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = seeds_behind()
    monkeypatch.setattr(planning, "STALE", 0.0)
    judge(stocked, annotator_enrol(campaign=stocked), blocks=2)
    run_jobs()
    assert (seeds_behind(), behind(stocked)) == (before, 60), "it is good enough"
    monkeypatch.setattr(planning, "STALE", 0.9)
    refit_request(stocked)
    run_jobs()
    assert not before & seeds_behind()
    assert behind(stocked) == 60
    assert set(Reserve.objects.values_list("snapshot", flat=True)) == {Snapshot.objects.latest("pk").public_id}


def test_a_refit_that_falls_due_is_not_kept_waiting_and_what_was_behind_the_queue_stays(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "BACKLOG_PART", 20)
    due = iter([False, False, True])
    monkeypatch.setattr("evalsite.core.jobs.job_is_due", lambda kind: next(due) if kind == "refit" else False)
    before = seeds_behind()
    judge(stocked, annotator_enrol(campaign=stocked), blocks=2)
    run_jobs()
    assert behind(stocked) == 40, "two parts of three"
    assert len(seeds_behind() - before) == 2, "each of a plan of its own"


@pytest.mark.parametrize("when", ["while it is planned", "between its parts"])
def test_what_is_drawn_while_a_plan_is_written_is_asked_no_more_often_than_wanted(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """What stands in reserve is of an earlier plan: here a later one asks the same."""
    monkeypatch.setattr(planning, "STALE", 0.0)
    same = [[one.place.prompt_id, one.item, one.purpose, one.probability, 1] for one in QUEUED.select_related("place")]
    Reserve.objects.update(asks=same[:PART])
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    monkeypatch.setattr(queue, "PUT_AT_ONCE", 3)
    people = [annotator_enrol(campaign=stocked) for _ in range(2)]
    claimed: list[int] = []
    left: list[int] = []

    def claim_all() -> None:
        while people:
            claimed.append(len(assignment_claim(campaign=stocked, annotator=people.pop())))
            left.append(behind(stocked))

    def looks(campaign: Campaign) -> QueueState:
        seen = queue_state_read(campaign)
        claim_all()
        return seen

    if when == "while it is planned":
        monkeypatch.setattr("evalsite.refits.refit.queue_state_read", looks)
    else:
        monkeypatch.setattr(planning, "let_others_write", claim_all)
    planned_again(stocked)
    assert claimed == [OPEN.block_size] * 2
    assert left[-1] < 60, "some of it was drawn"
    assert max(times_asked().values()) == 1


def test_of_a_campaign_whose_refit_is_due_again_one_part_is_planned_behind_the_queue(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "BACKLOG_PART", 20)
    Reserve.objects.filter(campaign=stocked).delete()
    refit_request(stocked)
    begin = planning.backlog_fill
    counts: list[int] = []

    def fill(*given: Any) -> None:
        if not counts:
            refit_request(stocked)  # a batch has closed meanwhile
        begin(*given)
        counts.append(behind(stocked))

    monkeypatch.setattr("evalsite.refits.refit.backlog_fill", fill)
    run_jobs()
    assert counts == [20, 60], "the second time all of it: nobody asks any more"


@pytest.mark.parametrize("what", ["another design", "half of it drawn"])
def test_a_refit_plans_anew_what_is_of_another_design_or_half_drawn(stocked: Campaign, what: str) -> None:
    before = parts_behind()
    planned_again(stocked)
    assert parts_behind() == before, "there is nothing to mend"
    if what == "another design":
        Campaign.objects.filter(pk=stocked.pk).update(policy="random")
    else:
        while behind(stocked) >= 30:
            assert draw(stocked)
        QUEUED.update(state=Assignment.State.WITHDRAWN)
    planned_again(stocked)
    assert (parts_behind() & before, behind(stocked)) == (set(), 60)


@pytest.mark.parametrize("what", ["the design is another", "the lease is lost"])
def test_what_lost_its_worth_while_it_was_planned_is_not_kept(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    Reserve.objects.filter(campaign=stocked).delete()
    refit_request(stocked)
    makes = scheduler.plan

    def plan(state: CampaignState, *, count: int, **given: Any) -> Plan:
        if count == planning.BACKLOG_SIZE:
            if what == "the lease is lost":
                Job.objects.filter(state=Job.State.RUNNING).update(lease_owner="somebody else")
            else:
                Campaign.objects.filter(pk=stocked.pk).update(policy="random")
        return makes(state, count=count, **given)

    monkeypatch.setattr(planning, "plan", plan)
    assert work_once("test")
    assert behind(stocked) == 0


def test_nothing_is_planned_behind_a_queue_while_a_refit_is_due(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsite.core.jobs.job_is_due", lambda kind: kind == "refit")
    campaign = make_campaign(design=OPEN, chatbots=5, prompts=20)
    assert QUEUED.all().exists()
    assert behind(campaign) == 0


def test_queue_and_reserve_hold_no_more_than_the_budget_has(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=40), chatbots=5, prompts=20)
    assert QUEUED.all().count() + behind(campaign) == 40
    assert behind(campaign) > 0


def test_where_votes_of_a_pair_are_counted_nothing_is_kept_behind(stocked: Campaign) -> None:
    PlanSpec.objects.filter(campaign=stocked).update(votes_per_pair=1_000)
    refit_request(stocked)
    run_jobs()
    assert behind(stocked) == 0


def claiming(campaign: Campaign, blocks: list[int]) -> threading.Thread:
    """Somebody else who claims meanwhile, over a connection of their own."""
    somebody = annotator_enrol(campaign=campaign)

    def claim() -> None:
        blocks.append(len(assignment_claim(campaign=Campaign.objects.get(pk=campaign.pk), annotator=somebody)))
        connection.close()

    return threading.Thread(target=claim)


@pytest.mark.database
@pytest.mark.skipif(connection.vendor == "sqlite", reason="who writes has SQLite alone")
@pytest.mark.django_db(transaction=True)
def test_who_finds_nothing_while_somebody_draws_waits_and_is_given_of_the_same_part(stocked: Campaign) -> None:
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    blocks: list[int] = []
    other = claiming(stocked, blocks)
    with write_transaction():
        queue_share(stocked.pk)
        assert queue_refill(stocked, wait=True)
        other.start()
        other.join(WAITS_S)
        assert other.is_alive(), "it waits: what is drawn is not there yet"
    other.join()
    assert blocks == [OPEN.block_size]
    assert behind(stocked) == 60 - PART, "it was drawn once, for both"


@pytest.mark.database
@pytest.mark.skipif(connection.vendor == "sqlite", reason="who writes has SQLite alone")
@pytest.mark.django_db(transaction=True)
def test_who_has_got_a_block_does_not_wait_for_who_draws(stocked: Campaign) -> None:
    QUEUED.filter(pk__in=[one.pk for one in QUEUED.all()[OPEN.block_size :]]).update(state=Assignment.State.WITHDRAWN)
    blocks: list[int] = []
    other = claiming(stocked, blocks)
    with write_transaction():
        assert draw_lock(stocked.pk, wait=True)
        other.start()
        other.join(PATIENCE_S)
        assert blocks == [OPEN.block_size]


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_two_who_find_what_was_planned_for_another_design_keep_each_other_from_nothing(stocked: Campaign) -> None:
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    Campaign.objects.filter(pk=stocked.pk).update(policy="random")
    blocks: list[int] = []
    people = [claiming(stocked, blocks) for _ in range(4)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert blocks == [0] * 4
    assert behind(stocked) == 0
    assert job_is_pending(refit_key(stocked))


# Several votes of an item, and items that are asked again or no more ---------------------------------------


def test_what_was_drawn_twice_and_issued_once_meanwhile_is_asked_no_third_time(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=OPEN, chatbots=4, prompts=6)
    empty_queue(campaign)
    one, other = campaign.entrants.order_by("pk")[:2]
    prompt = campaign.prompt_set.prompts.all()[0]
    ask = PlannedItem((one, other), prompt, 0.5, votes=2)
    row = [prompt.pk, ask.item, ask.purpose.value, 0.5, 2]
    Reserve.objects.create(campaign=campaign, design=design_hash(campaign), plan_seed=1, size=2, asks=[row, row])
    seen = queue_state_read(campaign)
    assert len(assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))) == 1
    queue_replace(campaign=campaign, asks=[ask, ask], origin=Origin(), seen=seen)
    assert times_asked()[ask.item] == 2


def ended(campaign: Campaign, item: str, state: Assignment.State) -> Assignment:
    """It was issued to somebody, and this became of it."""
    now = timezone.now()
    return Assignment.objects.create(
        campaign=campaign,
        place=Place.objects.create(campaign=campaign, prompt_id=item_parts(item)[0], item=item),
        item=item,
        state=state,
        annotator=annotator_enrol(campaign=campaign),
        issued_at=now,
        lease_until=now,
        closed_at=now,
    )


def asked_next(campaign: Campaign, items: Sequence[str]) -> None:
    """The first part in reserve asks these, the others nothing."""
    asks = [[item_parts(item)[0], item, "measure", 0.1, 1] for item in items]
    first = Reserve.objects.filter(campaign=campaign).order_by("pk")[0]
    Reserve.objects.filter(campaign=campaign).exclude(pk=first.pk).delete()
    Reserve.objects.filter(pk=first.pk).update(asks=asks, size=len(asks))


def test_items_of_who_was_excluded_are_drawn_as_they_are_planned(stocked: Campaign) -> None:
    careless = annotator_enrol(campaign=stocked)
    judge(stocked, careless, blocks=2)
    run_jobs()
    items = list(Assignment.objects.filter(annotator=careless, state="answered").values_list("item", flat=True))
    annotator_exclude(campaign=stocked, annotator=careless, reason="asleep", by=None)
    empty_queue(stocked)
    run_jobs()
    asked_next(stocked, items)
    assert {one.item for one in draw(stocked)} == set(items)


def test_what_two_gave_back_is_not_drawn(stocked: Campaign) -> None:
    given_back, other = asks_of(stocked)[:2]
    asked_next(stocked, [given_back, other])
    for _ in range(2):
        returned = ended(stocked, given_back, Assignment.State.RETURNED)
        Enrolment.objects.filter(annotator=returned.annotator).update(platform="prolific")
        Skip.objects.create(assignment=returned, reason=Skip.Reason.BROKEN)
    assert [one.item for one in draw(stocked)] == [other]


def test_a_prompt_that_was_corrected_is_not_drawn(stocked: Campaign) -> None:
    prompt = stocked.prompt_set.prompts.get(pk=item_parts(asks_of(stocked)[0])[0])
    Prompt.objects.create(
        prompt_set=prompt.prompt_set,
        key=prompt.key,
        turns=prompt.turns,
        origin=prompt.origin,
        corrects=prompt,
        revision=prompt.revision + 1,
    )
    prompts: set[int] = set()
    while drawn := draw(stocked):
        prompts |= {one.place.prompt_id for one in drawn}
    assert prompts
    assert prompt.pk not in prompts


@pytest.mark.parametrize("what", ["nothing in it is wanted", "it is for another design"])
def test_who_asks_for_work_of_any_campaign_has_what_is_of_no_use_passed_over_and_a_plan_asked_for(
    stocked: Campaign, django_capture_on_commit_callbacks: Any, what: str
) -> None:
    if what == "nothing in it is wanted":
        for item in asks_of(stocked):
            ended(stocked, item, Assignment.State.ANSWERED)
    else:
        Campaign.objects.filter(pk=stocked.pk).update(policy="random")
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    with django_capture_on_commit_callbacks(execute=True):
        assert not work_claim(annotator=annotator_enrol(campaign=stocked)).block
    assert behind(stocked) == 0
    assert job_is_pending(refit_key(stocked))
