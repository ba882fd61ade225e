"""The queue of a campaign: places that the plan wants filled, and the assignments that wait to be issued."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.judgments.backlog import reserve_drop, reserve_items, reserve_parts
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment
from evalsite.judgments.planned_items import Origin, PlannedAsk
from evalsite.judgments.queue_sql import (
    queue_lock,
    queued_add,
    queued_all,
    queued_replan,
    queued_withdraw,
)
from evalsite.judgments.selectors import ItemCounts, asked_often, budget_left, item_counts

WITHDRAWN_AT_ONCE = 500
PUT_AT_ONCE = 200  # rows of a plan: a thousand are written for a tenth of a second, for which everybody waits


@dataclass(frozen=True, slots=True)
class QueueSeen:
    """A queue, and what its plan must keep to, as they were while no transaction was open.

    waiting: key -> item of what was queued. behind: part -> items of what was in reserve. counts: items by what has
    become of them; of_item, of_pair: how often each was judged or is under way. left: of the budget; None without one.
    """

    waiting: Mapping[int, str]
    behind: Mapping[int, Sequence[str]]
    counts: ItemCounts
    of_item: Counter[str]
    of_pair: Counter[tuple[int, ...]]
    left: int | None


@dataclass(frozen=True, slots=True)
class QueueRest:
    """What of a plan its queue does not say yet, the best first: priority, ask, and the key of the assignment that asks
    it already, from the plan before; None where there is none. behind: the parts that were in reserve as it began."""

    campaign: Campaign
    origin: Origin
    asks: Sequence[tuple[int, PlannedAsk, int | None]]
    behind: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.asks)


def queue_look(campaign: Campaign, *, unseen_since: datetime | None = None) -> QueueSeen:
    """Count what `queue_replace` needs to know: long work, which must not be done while everybody waits for the lock.

    The queue is read first: what leaves it afterwards is found missing, and at worst counted twice, never forgotten.
    The plan is made from the same counts, which take half a second where 100,000 judgments are stored.
    """
    behind = reserve_items(campaign)
    waiting = queued_all(campaign.pk)
    counts = item_counts(campaign, unseen_since=unseen_since)
    of_item = Counter(counts.judged) + Counter(counts.pending)
    of_pair: Counter[tuple[int, ...]] = Counter()
    for item, count in of_item.items():
        of_pair[item_parts(item)[1]] += count
    return QueueSeen(waiting, behind, counts, of_item, of_pair, budget_left(campaign))


def queue_replace(
    *,
    campaign: Campaign,
    asks: Sequence[PlannedAsk],
    origin: Origin,
    seen: QueueSeen | None = None,
    votes_per_pair: int | None = None,
) -> QueueRest:
    """Begin to make the queue what the plan says: withdraw what is no longer wanted, put in the best, give the rest.

    Only QUEUED rows change; what is issued stays. What left the queue since it was `seen` was issued meanwhile: it is
    not asked beyond the votes wanted of it and of its pair, nor beyond the budget. The rest is for `queue_go_on`, in
    transactions of its own: since nothing but this plan is in the queue by then, and all of it is counted, whatever is
    issued in between is asked no more often than wanted; what is drawn from the reserve in between is looked for. What
    is kept has its old place until its part comes.
    """
    seen = seen or queue_look(campaign)
    wanted = [(ask, item_parts(ask.item)[1]) for ask in asks]
    with write_transaction():
        # Locked first: claims under way have committed, or wait for us, before anything is counted.
        queue_lock(campaign.pk)
        queued = queued_all(campaign.pk, lock=True)
        left = reserve_parts(campaign)
        drawn = Counter(item for part, items in seen.behind.items() if part not in left for item in items)
        taken = [item for key, item in seen.waiting.items() if key not in queued]
        taken += (drawn - Counter(item for key, item in queued.items() if key not in seen.waiting)).elements()
        waiting: dict[str, list[int]] = {}
        for key, item in queued.items():
            waiting.setdefault(item, []).append(key)
        still: list[tuple[int, PlannedAsk, int | None]] = []
        for priority, ask in enumerate(_still_wanted(wanted, seen, taken, votes_per_pair)):
            same = waiting.get(ask.item)
            still.append((priority, ask, same.pop() if same else None))
        _withdraw([key for same in waiting.values() for key in same])
        return queue_go_on(QueueRest(campaign, origin, still, frozenset(left)))


def queue_go_on(rest: QueueRest) -> QueueRest:
    """Put the next part of a plan into its queue; what is left. Whoever goes on looks first whether the plan still
    holds."""
    part, later = rest.asks[:PUT_AT_ONCE], rest.asks[PUT_AT_ONCE:]
    origin = rest.origin
    kept = [(priority, ask.purpose.value, ask.probability, key) for priority, ask, key in part if key is not None]
    new = [(priority, ask) for priority, ask, key in part if key is None]
    with write_transaction():
        queue_lock(rest.campaign.pk)
        queued_replan(kept, policy=origin.policy, snapshot=origin.snapshot, plan_seed=origin.seed)
        if rest.behind - reserve_parts(rest.campaign):  # drawn meanwhile: some of it may be of this plan, too
            new = _wanted_still(rest.campaign, new)
        _add(rest.campaign, new, origin)
    return replace(rest, asks=later)


def _wanted_still(campaign: Campaign, asks: Sequence[tuple[int, PlannedAsk]]) -> list[tuple[int, PlannedAsk]]:
    """Those that make no item asked more often than wanted, by what is asked now."""
    often, wanted = Counter(asked_often(campaign, [ask.item for _, ask in asks])), []
    for priority, ask in asks:
        if often[ask.item] < ask.votes:
            often[ask.item] += 1
            wanted.append((priority, ask))
    return wanted


def _still_wanted(
    wanted: Sequence[tuple[PlannedAsk, tuple[int, ...]]],
    seen: QueueSeen,
    taken: Sequence[str],
    votes_per_pair: int | None,
) -> list[PlannedAsk]:
    """Of the asks, each with its pair, those for which there is still room. A count that is missing is asked for by
    `get`: a Counter's own answer takes a microsecond, and everybody waits."""
    of_item, of_pair = Counter(taken), Counter(item_parts(item)[1] for item in taken)
    still = []
    for ask, pair in wanted:
        item = ask.item
        if votes_per_pair is not None and seen.of_pair.get(pair, 0) + of_pair.get(pair, 0) >= votes_per_pair:
            continue
        if seen.of_item.get(item, 0) + of_item.get(item, 0) < ask.votes:
            of_item[item] = of_item.get(item, 0) + 1
            of_pair[pair] = of_pair.get(pair, 0) + 1
            still.append(ask)
    return still if seen.left is None else still[: max(0, seen.left - len(taken))]


def queue_close(*, campaign: Campaign) -> None:
    """Part of the transaction that ends a campaign's collecting: nothing that waits is issued from then on.

    On PostgreSQL a claim may be under way that still saw the campaign collect: it is waited for. Those that come later
    wait for this, and look at the campaign then, as on SQLite, where claims are one after another anyway.
    """
    if connection.features.has_select_for_update:
        queue_lock(campaign.pk)
        queued_withdraw(campaign.pk)
    reserve_drop(campaign)  # behind the lock: who draws holds a part and shares the queue


def queue_withdraw(*, campaign: Campaign) -> None:
    """Empty the queue of a campaign that collects no more. What is issued may still be answered.

    A part at a time, each in a transaction of its own: on SQLite everybody waits for the one who writes.
    """
    reserve_drop(campaign)
    withdrawn = WITHDRAWN_AT_ONCE
    while withdrawn == WITHDRAWN_AT_ONCE:
        with write_transaction():
            queue_lock(campaign.pk)
            withdrawn = queued_withdraw(campaign.pk, at_most=WITHDRAWN_AT_ONCE)


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


def _withdraw(keys: Sequence[int]) -> None:
    queued = Assignment.objects.filter(pk__in=keys, state=Assignment.State.QUEUED)
    queued.update(state=Assignment.State.WITHDRAWN, closed_at=timezone.now())


def _add(campaign: Campaign, asks: Sequence[tuple[int, PlannedAsk]], origin: Origin) -> None:
    """New places with a queued assignment each. What it shows, on which side, is decided when it is claimed."""
    planned = [(ask.prompt.pk, ask.item, priority, ask.purpose.value, ask.probability) for priority, ask in asks]
    queued_add(campaign.pk, planned, policy=origin.policy, snapshot=origin.snapshot, plan_seed=origin.seed)
