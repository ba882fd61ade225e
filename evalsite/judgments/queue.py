"""Queue of a campaign: the assignments that wait to be issued, in the order of their priority.

The head is planned anew after each refit. The tail behind it is kept over many refits, for annotators who arrive at
once: a worker runs at a lower priority than requests, so a queue planned for few would be empty long before a new plan.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import plan_request
from evalsite.core.db import write_transaction
from evalsite.judgments.claim_sql import queue_lock, queued_replan
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment, Place
from evalsite.judgments.planned_items import Origin, PlannedItem, QueuePlan
from evalsite.judgments.selectors import ItemCounts, answers_per_second, budget_left, item_counts

WITHDRAWN_AT_ONCE = 500
PUT_AT_ONCE = 50  # Rows of a plan. The ORM needs 12 ms for so many, while all claims wait.
REFITS_AHEAD = 1.5  # The next refit may take longer than the last one, because requests have priority.
MOST_AHEAD = 4_000  # Items. Planning them takes a second, and the queue must not wait longer for its plan.
BLOCKS_BEHIND = 500  # Blocks in the tail: one for each of so many annotators who arrive at once.
TAIL = 1_000_000  # Added to the priorities of the tail.


@dataclass(frozen=True, slots=True)
class QueueLength:
    """The number of items that a queue should hold: those of the head, and all of them."""

    head: int
    whole: int

    @property
    def least(self) -> int:
        """Return the number below which the tail is planned again, because half of it has been used."""
        return (self.head + self.whole + 1) // 2


def queue_length(campaign: Campaign, refit_s: float) -> QueueLength:
    """Return how long the queue should be, at most the remaining budget.

    The head is twice the issued assignments plus the larger of two numbers: twice the next batch, and the answers
    expected during 1.5 times this refit's duration. The tail is a block for each of 500 annotators.
    """
    issued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).count()
    meanwhile = math.ceil(answers_per_second(campaign) * max(0.0, REFITS_AHEAD * refit_s))
    head = max(2 * campaign.batch_size, min(MOST_AHEAD, meanwhile)) + 2 * max(issued, campaign.block_size)
    whole = head + BLOCKS_BEHIND * campaign.block_size
    left = budget_left(campaign)
    return QueueLength(head, whole) if left is None else QueueLength(min(head, left), min(whole, left))


def queue_is_low(campaign: Campaign) -> bool:
    """Return whether the queue is empty or shorter than twice the issued assignments.

    The queue is counted only up to this limit, because it may be long.
    """
    own = Assignment.objects.filter(campaign=campaign)
    least = max(1, 2 * own.filter(state=Assignment.State.ISSUED).count())
    return own.filter(state=Assignment.State.QUEUED)[:least].count() < least


def queue_top_up(campaign: Campaign) -> None:
    """Request a plan if a claim has left the queue low. The items come with the worker's plan."""
    if campaign.collecting and queue_is_low(campaign):
        plan_request(campaign)


class Waiting(NamedTuple):
    """A queued assignment: its item, its purpose, and the policy and the snapshot of its plan."""

    item: str
    purpose: str
    policy: str
    snapshot: UUID | None


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue and the limits of its plan, read outside a transaction.

    - `waiting`: the queued assignments by key, in the order of the queue.
    - `counts`: judged and pending votes by item.
    - `of_item`, `of_pair`: the sums of judged and pending votes.
    - `left`: the remaining budget; None without one.
    """

    waiting: Mapping[int, Waiting]
    counts: ItemCounts
    of_item: Counter[str]
    of_pair: Counter[tuple[int, ...]]
    left: int | None


@dataclass(frozen=True, slots=True)
class RemainingPlan:
    """The part of a plan that is not in the queue yet, best first.

    Each entry has the priority, the planned item, and the key of the queued assignment that it reuses, or None.
    """

    campaign: Campaign
    origin: Origin
    asks: Sequence[tuple[int, PlannedItem, int | None]]

    def __bool__(self) -> bool:
        return bool(self.asks)


def queue_state_read(campaign: Campaign) -> QueueState:
    """Read the counts for `queue_replace`. This is slow, so it must run before the lock for which all claims wait.

    The queue is read first. An item that leaves it afterwards is found missing: at worst it is counted twice, but never
    missed. The plan is made from the same counts, which take half a second with 100,000 stored judgments.
    """
    queued = _queued(campaign).order_by("priority", "pk").values_list("pk", *Waiting._fields)
    waiting = {key: Waiting(*row) for key, *row in queued}
    counts = item_counts(campaign)
    of_item = Counter(counts.judged) + Counter(counts.pending)
    of_pair: Counter[tuple[int, ...]] = Counter()
    for item, count in of_item.items():
        of_pair[item_parts(item)[1]] += count
    return QueueState(waiting, counts, of_item, of_pair, budget_left(campaign))


def queue_replace(*, campaign: Campaign, plan: QueuePlan, seen: QueueState | None = None) -> RemainingPlan:
    """Begin to replace the queue by a plan: move or withdraw the old items, add the best ones and return the rest.

    Only QUEUED rows change; issued assignments stay. An item that left the queue since it was `seen` was issued
    meanwhile. It counts towards the votes wanted of its item and its pair, and towards the budget.

    The rest is for `queue_continue`, in separate transactions. All of it is counted by then: whatever is issued in
    between, no item gets more votes than wanted. Reused assignments keep their old priority until their part comes.
    """
    seen = seen or queue_state_read(campaign)
    with write_transaction():
        # Lock before counting: running claims have then committed, or wait for us.
        queue_lock(campaign.pk)
        queued = dict(_queued(campaign).values_list("pk", "item"))
        votes = _Votes(seen, [one.item for key, one in seen.waiting.items() if key not in queued], plan.votes_per_pair)
        free: dict[str, list[int]] = {}
        for key in sorted(queued, reverse=True):
            free.setdefault(queued[key], []).append(key)
        asks: list[tuple[int, PlannedItem, int | None]] = []
        for position, ask in enumerate(ask for ask in plan.asks if votes.take(ask.item, ask.votes)):
            same = free.get(ask.item)
            priority = position if plan.head is None or position < plan.head else TAIL + position
            priority = priority if ask.together is None else ask.together
            asks.append((priority, ask, same.pop() if same else None))
        left_over = {key for same in free.values() for key in same}
        behind = _left_behind(plan, seen, left_over, votes, plan.length - len(asks))
        _withdraw(left_over - behind)
        _queued(campaign).filter(pk__in=behind, priority__lt=TAIL).update(priority=F("priority") + TAIL)
        return queue_continue(RemainingPlan(campaign, plan.origin, asks))


class _Votes:
    """Counts the votes of a new queue: judged, pending, and queued."""

    def __init__(self, seen: QueueState, issued: Iterable[str], votes_per_pair: int | None) -> None:
        """Begin with what was seen, and with the items that were issued since."""
        self.seen, self.votes_per_pair, self.left = seen, votes_per_pair, seen.left
        self.of_item: dict[str, int] = {}
        self.of_pair: dict[tuple[int, ...], int] = {}
        for item in issued:
            self._add(item)

    def _add(self, item: str) -> None:
        pair = item_parts(item)[1]
        self.of_item[item] = self.of_item.get(item, 0) + 1
        self.of_pair[pair] = self.of_pair.get(pair, 0) + 1
        if self.left is not None:
            self.left -= 1

    def take(self, item: str, wanted: int) -> bool:
        """Count one more vote if the item, its pair and the budget allow it. Return whether they do.

        Missing counts are read by `get`: a Counter's own lookup takes a microsecond, and all claims wait.
        """
        if self.left is not None and self.left <= 0:
            return False
        if self.seen.of_item.get(item, 0) + self.of_item.get(item, 0) >= wanted:
            return False
        if self.votes_per_pair is not None:
            pair = item_parts(item)[1]
            if self.seen.of_pair.get(pair, 0) + self.of_pair.get(pair, 0) >= self.votes_per_pair:
                return False
        self._add(item)
        return True


def _left_behind(plan: QueuePlan, seen: QueueState, left_over: set[int], votes: _Votes, at_most: int) -> set[int]:
    """Return the queued assignments that stay behind a plan: the first ones that have votes left."""
    behind: set[int] = set()
    for key, wanted in plan.kept.items():
        if len(behind) >= at_most:
            break
        if key in left_over and votes.take(seen.waiting[key].item, wanted):
            behind.add(key)
    return behind


def queue_continue(rest: RemainingPlan) -> RemainingPlan:
    """Add the next part of a plan to its queue, and return the rest. The caller checks that the plan is still valid."""
    part, later = rest.asks[:PUT_AT_ONCE], rest.asks[PUT_AT_ONCE:]
    origin = rest.origin
    reused = [(priority, ask.purpose.value, ask.probability, key) for priority, ask, key in part if key is not None]
    with write_transaction():
        queue_lock(rest.campaign.pk)
        queued_replan(reused, policy=origin.policy, snapshot=origin.snapshot, plan_seed=origin.seed)
        _add(rest.campaign, [(priority, ask) for priority, ask, key in part if key is None], origin)
    return replace(rest, asks=later)


def _add(campaign: Campaign, asks: Sequence[tuple[int, PlannedItem]], origin: Origin) -> None:
    """Add places with one queued assignment each. The sides of the replies are decided at the claim."""
    places = Place.objects.bulk_create(Place(campaign=campaign, prompt=ask.prompt, item=ask.item) for _, ask in asks)
    Assignment.objects.bulk_create(
        Assignment(
            campaign=campaign,
            place=place,
            item=ask.item,
            purpose=ask.purpose,
            priority=priority,
            policy=origin.policy,
            snapshot=origin.snapshot,
            plan_seed=origin.seed,
            probability=ask.probability,
        )
        for place, (priority, ask) in zip(places, asks, strict=True)
    )


def queue_close(*, campaign: Campaign) -> None:
    """Close the queue in the transaction that stops collecting: no queued assignment is issued from then on.

    On PostgreSQL, this waits for running claims that still saw the campaign collect. Later claims wait for this
    transaction and then check the campaign. On SQLite, claims are serialized anyway.
    """
    if connection.features.has_select_for_update:
        queue_lock(campaign.pk)
        _withdraw(_queued(campaign).values_list("pk", flat=True))


def queue_withdraw(*, campaign: Campaign) -> None:
    """Empty the queue of a campaign that no longer collects. Issued assignments may still be answered.

    Works in parts, each in its own transaction: on SQLite all others wait for a writer.
    """
    withdrawn = WITHDRAWN_AT_ONCE
    while withdrawn == WITHDRAWN_AT_ONCE:
        with write_transaction():
            queue_lock(campaign.pk)
            withdrawn = _withdraw(_queued(campaign).values_list("pk", flat=True)[:WITHDRAWN_AT_ONCE])


def prompts_withdraw(prompts: Collection[int]) -> None:
    """Withdraw the queued assignments on these prompts (keys), in the caller's transaction: their texts are erased."""
    for campaign in Place.objects.filter(prompt__in=prompts).values_list("campaign", flat=True).distinct():
        queue_lock(campaign)
    _withdraw(
        Assignment.objects.filter(place__prompt__in=prompts, state=Assignment.State.QUEUED).values_list("pk", flat=True)
    )


def requeue(assignment: Assignment) -> None:
    """Queue a new assignment for the place of one that ended without an answer."""
    Assignment.objects.create(
        campaign_id=assignment.campaign_id,
        place_id=assignment.place_id,
        item=assignment.item,
        purpose=assignment.purpose,
        priority=assignment.priority,
        policy=assignment.policy,
        snapshot=assignment.snapshot,
        plan_seed=assignment.plan_seed,
        probability=assignment.probability,
    )


def _queued(campaign: Campaign) -> QuerySet[Assignment]:
    return Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)


def _withdraw(keys: Iterable[int]) -> int:
    queued = Assignment.objects.filter(pk__in=list(keys), state=Assignment.State.QUEUED)
    return queued.update(state=Assignment.State.WITHDRAWN, closed_at=timezone.now())
