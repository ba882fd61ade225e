"""The queue has a tail behind its head, so that two hundred who come at once need not wait for a worker."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.models import Snapshot
from evalsite.campaigns.models import Campaign, PlanSpec
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import (
    campaign_stop,
    entrant_withdraw,
    prompt_retire,
    refit_key,
    refit_request,
)
from evalsite.core.jobs import job_is_pending
from evalsite.judgments import queue
from evalsite.judgments.campaign_choice import work_claim
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment, Enrolment, Place, Skip
from evalsite.judgments.planned_items import PlannedItem, QueuePlan
from evalsite.judgments.queue import QueueState, queue_replace, queue_state_read
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.prompts.models import Prompt
from evalsite.refits import planning
from tests.environment import FULL
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, empty_queue, judge, run_only_refits
from tests.shared import shared

QUEUED = Assignment.objects.filter(state=Assignment.State.QUEUED)
TAIL = QUEUED.filter(priority__gte=queue.TAIL)
OPEN_OR_DONE = [Assignment.State.QUEUED, Assignment.State.ISSUED, Assignment.State.ANSWERED]
BLOCKS = 20
PEOPLE = 200 if FULL else 20


@pytest.fixture(autouse=True)
def short_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tail of sixty items, and a head that does not depend on how long a refit takes on this machine."""
    monkeypatch.setattr(queue, "BLOCKS_BEHIND", BLOCKS)
    monkeypatch.setattr(queue, "REFITS_AHEAD", 0.0)


@shared
def stocked(make_campaign: CampaignMaker) -> Campaign:
    """It has a board, a head, and a tail of sixty items."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "BLOCKS_BEHIND", BLOCKS)
        patch.setattr(queue, "REFITS_AHEAD", 0.0)
        campaign = make_campaign(design=OPEN, chatbots=5, prompts=20)
        judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
        run_only_refits()
    return campaign


def planned_again(campaign: Campaign) -> None:
    refit_request(campaign)
    run_only_refits()


def items_of(assignments: Any) -> list[str]:
    return list(assignments.order_by("priority", "pk").values_list("item", flat=True))


def keys_of(assignments: Any) -> set[int]:
    return set(assignments.values_list("pk", flat=True))


def times_asked() -> Counter[str]:
    return Counter(Assignment.objects.filter(state__in=OPEN_OR_DONE).values_list("item", flat=True))


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


# Length --------------------------------------------------------------------------------------------------


def test_a_plan_goes_on_behind_the_head_with_other_items(stocked: Campaign) -> None:
    items = items_of(QUEUED)
    assert len(items) == len(set(items))
    assert TAIL.count() == BLOCKS * OPEN.block_size
    assert len(items) - TAIL.count() >= queue.queue_length(stocked, 0.0).head
    assert {one.snapshot for one in QUEUED.all()} == {Snapshot.objects.get().public_id}


def test_many_who_come_at_once_are_given_a_block_each(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "BLOCKS_BEHIND", PEOPLE)
    campaign = make_campaign(design=OPEN, chatbots=6, prompts=60 if FULL else 8)
    blocks = [assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign)) for _ in range(PEOPLE)]
    assert [len(block) for block in blocks] == [OPEN.block_size] * PEOPLE
    assert max(times_asked().values()) == 1


def test_the_queue_holds_no_more_than_the_budget_has(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=40), chatbots=5, prompts=20)
    assert QUEUED.count() == 40
    judge(campaign, annotator_enrol(campaign=campaign), blocks=3)
    planned_again(campaign)
    assert QUEUED.count() == 31


def test_the_queue_holds_no_more_votes_of_a_pair_than_wanted(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=OPEN, chatbots=5, prompts=20, start=True)
    PlanSpec.objects.filter(campaign=campaign).update(votes_per_pair=4)
    planned_again(campaign)
    for _ in range(2):
        judge(campaign, annotator_enrol(campaign=campaign), blocks=1)
        run_only_refits()
        assert set(Counter(item_parts(item)[1] for item in times_asked().elements()).values()) == {4}


@pytest.mark.parametrize("claim", ["this campaign", "any campaign"])
def test_who_leaves_the_queue_low_requests_a_plan(
    stocked: Campaign, claim: str, django_capture_on_commit_callbacks: Any
) -> None:
    someone = annotator_enrol(campaign=stocked)
    assignment_claim(campaign=stocked, annotator=annotator_enrol(campaign=stocked))
    assert not job_is_pending(refit_key(stocked)), "the queue is long enough"
    QUEUED.update(state=Assignment.State.WITHDRAWN)
    with django_capture_on_commit_callbacks(execute=True):
        if claim == "this campaign":
            assert not assignment_claim(campaign=stocked, annotator=someone)
        else:
            assert not work_claim(annotator=someone).block
    assert job_is_pending(refit_key(stocked))
    run_only_refits()
    assert len(assignment_claim(campaign=stocked, annotator=someone)) == OPEN.block_size
    assert Snapshot.objects.count() == 1, "a plan needs no fit"


# What stays, and what is planned anew --------------------------------------------------------------------


def test_a_new_head_leaves_the_tail_and_the_rest_of_the_old_head_behind_it(stocked: Campaign) -> None:
    before, tail = keys_of(QUEUED), keys_of(TAIL)
    judge(stocked, annotator_enrol(campaign=stocked), blocks=2)
    run_only_refits()
    newest = Snapshot.objects.latest("pk").public_id
    head = QUEUED.filter(priority__lt=queue.TAIL)
    assert set(head.values_list("snapshot", flat=True)) == {newest}
    assert set(head.values_list("priority", flat=True)) == set(range(head.count()))
    assert keys_of(TAIL) <= before, "nothing was planned for it"
    assert len(keys_of(TAIL) & tail) > len(tail) / 2
    assert newest not in set(TAIL.values_list("snapshot", flat=True))


def used(campaign: Campaign) -> None:
    """Somebody has used more than half of the tail."""
    keys = list(QUEUED.order_by("-priority").values_list("pk", flat=True)[: BLOCKS * OPEN.block_size // 2 + 1])
    Assignment.objects.filter(pk__in=keys).update(state=Assignment.State.WITHDRAWN)


def grown(campaign: Campaign) -> None:
    """The board has more than twice the judgments from which the tail was planned."""
    judge(campaign, annotator_enrol(campaign=campaign), blocks=3)


def another_design(campaign: Campaign) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(policy="random")


@pytest.mark.parametrize("change", [used, grown, another_design])
def test_the_tail_is_planned_anew(stocked: Campaign, change: Callable[[Campaign], None]) -> None:
    change(stocked)
    planned_again(stocked)
    assert TAIL.count() == BLOCKS * OPEN.block_size
    policy = Campaign.objects.get(pk=stocked.pk).policy
    newest = Snapshot.objects.latest("pk").public_id
    assert set(QUEUED.values_list("snapshot", "policy")) == {(newest, policy)}


def test_the_tail_is_kept_by_a_plan_for_the_same_board(stocked: Campaign) -> None:
    tail = keys_of(TAIL)
    planned_again(stocked)
    assert len(tail & keys_of(TAIL)) > len(tail) / 2


def withdrawn_chatbot(campaign: Campaign) -> Callable[[str], bool]:
    gone = campaign.entrants.all()[0]
    entrant_withdraw(campaign=campaign, entrant=gone, reason="left")
    return lambda item: gone.pk in item_parts(item)[1]


def retired_prompt(campaign: Campaign) -> Callable[[str], bool]:
    prompt = campaign.prompt_set.prompts.all()[0]
    prompt_retire(campaign=campaign, prompt=prompt, reason="odd")
    return lambda item: item_parts(item)[0] == prompt.pk


def corrected_prompt(campaign: Campaign) -> Callable[[str], bool]:
    prompt = campaign.prompt_set.prompts.get(pk=item_parts(items_of(TAIL)[0])[0])
    Prompt.objects.create(
        prompt_set=prompt.prompt_set,
        key=prompt.key,
        turns=prompt.turns,
        origin=prompt.origin,
        corrects=prompt,
        revision=prompt.revision + 1,
    )
    return lambda item: item_parts(item)[0] == prompt.pk


def skipped_item(campaign: Campaign) -> Callable[[str], bool]:
    closed = items_of(TAIL)[0]
    for _ in range(2):
        returned = ended(campaign, closed, Assignment.State.RETURNED)
        Enrolment.objects.filter(annotator=returned.annotator).update(platform="prolific")
        Skip.objects.create(assignment=returned, reason=Skip.Reason.BROKEN)
    return lambda item: item == closed


def issued_item(campaign: Campaign) -> Callable[[str], bool]:
    issued = items_of(TAIL)[0]
    ended(campaign, issued, Assignment.State.ISSUED)
    return lambda item: item == issued


@pytest.mark.parametrize(
    "close",
    [withdrawn_chatbot, retired_prompt, corrected_prompt, skipped_item, issued_item],
    ids=lambda f: f.__name__,
)
def test_closed_items_leave_the_queue_with_the_next_plan(
    stocked: Campaign, close: Callable[[Campaign], Callable[[str], bool]]
) -> None:
    is_closed = close(stocked)
    assert any(map(is_closed, items_of(TAIL)))
    planned_again(stocked)
    assert QUEUED.exists()
    assert not any(map(is_closed, items_of(QUEUED)))


# Votes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["while it is planned", "between its parts"])
def test_what_is_issued_while_a_plan_is_written_is_asked_no_more_often_than_wanted(
    stocked: Campaign, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    monkeypatch.setattr(queue, "PUT_AT_ONCE", 3)
    people = [annotator_enrol(campaign=stocked) for _ in range(12)]
    claimed: list[int] = []

    def claim_all() -> None:
        while people:
            claimed.append(len(assignment_claim(campaign=stocked, annotator=people.pop())))

    def looks(campaign: Campaign) -> QueueState:
        seen = queue_state_read(campaign)
        claim_all()
        return seen

    used(stocked)
    if when == "while it is planned":
        monkeypatch.setattr("evalsite.refits.refit.queue_state_read", looks)
    else:
        monkeypatch.setattr(planning, "let_others_write", claim_all)
    planned_again(stocked)
    assert claimed == [OPEN.block_size] * 12
    assert max(times_asked().values()) == 1


def asked_pair(campaign: Campaign, votes: int) -> PlannedItem:
    one, other = campaign.entrants.order_by("pk")[:2]
    return PlannedItem((one, other), campaign.prompt_set.prompts.all()[0], 0.5, votes=votes)


@pytest.mark.parametrize(("wanted", "queued"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_queued_assignments_stay_behind_a_plan_up_to_the_wanted_votes(
    make_campaign: CampaignMaker, wanted: int, queued: int
) -> None:
    campaign = make_campaign(design=OPEN, chatbots=4, prompts=6)
    empty_queue(campaign)
    ask = asked_pair(campaign, 3)
    queue_replace(campaign=campaign, plan=QueuePlan([ask] * 3))
    kept = dict.fromkeys(QUEUED.order_by("priority").values_list("pk", flat=True), wanted)
    once = replace_votes(ask, 1)
    queue_replace(campaign=campaign, plan=QueuePlan([once], kept=kept, length=10))
    assert times_asked()[ask.item] == queued


def replace_votes(ask: PlannedItem, votes: int) -> PlannedItem:
    return PlannedItem(ask.entrants, ask.prompt, ask.probability, votes=votes)


def test_what_was_queued_twice_and_issued_once_meanwhile_is_asked_no_third_time(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=OPEN, chatbots=4, prompts=6)
    empty_queue(campaign)
    ask = asked_pair(campaign, 2)
    queue_replace(campaign=campaign, plan=QueuePlan([ask, ask]))
    seen = queue_state_read(campaign)
    assert len(assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign))) == 1
    queue_replace(campaign=campaign, plan=QueuePlan([ask, ask]), seen=seen)
    assert times_asked()[ask.item] == 2


# The end -------------------------------------------------------------------------------------------------


def test_a_stop_leaves_nothing_to_claim(stocked: Campaign, alice: User) -> None:
    late = annotator_enrol(campaign=stocked)
    act_perform(key=stocked.slug, act=Act.STOP, user=alice, given=ActionArguments(reason="enough"))
    assert assignment_claim(campaign=Campaign.objects.get(pk=stocked.pk), annotator=late) == []


def test_a_refit_of_a_stopped_campaign_empties_its_queue(stocked: Campaign) -> None:
    campaign_stop(campaign=stocked, reason="enough")
    planned_again(stocked)
    assert not QUEUED.exists()
