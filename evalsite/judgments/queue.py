"""Queue of a campaign: planned places, and the assignments that wait to be issued."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import connection
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.judgments.backlog import backlog_clear, backlog_items, backlog_parts
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.models import Assignment
from evalsite.judgments.planned_items import Origin, PlannedItem
from evalsite.judgments.queue_sql import (
    queue_lock,
    queued_add,
    queued_all,
    queued_replan,
    queued_withdraw,
)
from evalsite.judgments.selectors import ItemCounts, budget_left, item_counts, votes_placed

WITHDRAWN_AT_ONCE = 500
PUT_AT_ONCE = 200  # rows of a plan: a thousand take a tenth of a second, while all claims wait


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue and the limits of its plan, read outside a transaction.

    - `waiting`: the queued items by key.
    - `behind`: the items of each part of the backlog.
    - `counts`: judged and pending votes by item.
    - `of_item`, `of_pair`: the sums of judged and pending votes.
    - `left`: the remaining budget; None without one.
    """

    waiting: Mapping[int, str]
    behind: Mapping[int, Sequence[str]]
    counts: ItemCounts
    of_item: Counter[str]
    of_pair: Counter[tuple[int, ...]]
    left: int | None


@dataclass(frozen=True, slots=True)
class RemainingPlan:
    """The part of a plan that is not in the queue yet, best first.

    Each entry has the priority, the planned item, and the key of the queued assignment that it reuses from the previous
    plan, or None. `behind` lists the parts of the backlog at the start.
    """

    campaign: Campaign
    origin: Origin
    asks: Sequence[tuple[int, PlannedItem, int | None]]
    behind: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.asks)


def queue_state_read(campaign: Campaign, *, unseen_since: datetime | None = None) -> QueueState:
    """Read the counts for `queue_replace`. This is slow, so it must run before the lock for which all claims wait.

    The queue is read first. An item that leaves it afterwards is found missing: at worst it is counted twice, but never
    missed. The plan is made from the same counts, which take half a second with 100,000 stored judgments.
    """
    behind = backlog_items(campaign)
    waiting = queued_all(campaign.pk)
    counts = item_counts(campaign, unseen_since=unseen_since)
    of_item = Counter(counts.judged) + Counter(counts.pending)
    of_pair: Counter[tuple[int, ...]] = Counter()
    for item, count in of_item.items():
        of_pair[item_parts(item)[1]] += count
    return QueueState(waiting, behind, counts, of_item, of_pair, budget_left(campaign))


def queue_replace(
    *,
    campaign: Campaign,
    asks: Sequence[PlannedItem],
    origin: Origin,
    seen: QueueState | None = None,
    votes_per_pair: int | None = None,
) -> RemainingPlan:
    """Begin to replace the queue by a plan: withdraw unwanted items, add the best ones and return the rest.

    Only QUEUED rows change; issued assignments stay. An item that left the queue since it was `seen` was issued
    meanwhile. It counts towards the votes wanted of its item and its pair, and towards the budget.

    The rest is for `queue_continue`, in separate transactions. By then the queue holds only this plan, and all of it is
    counted. Whatever is issued in between, no item gets more votes than wanted. Draws from the backlog in between are
    checked. Reused assignments keep their old priority until their part comes.
    """
    seen = seen or queue_state_read(campaign)
    wanted = [(ask, item_parts(ask.item)[1]) for ask in asks]
    with write_transaction():
        # Lock before counting: running claims have then committed, or wait for us.
        queue_lock(campaign.pk)
        queued = queued_all(campaign.pk, lock=True)
        left = backlog_parts(campaign)
        drawn = Counter(item for part, items in seen.behind.items() if part not in left for item in items)
        taken = [item for key, item in seen.waiting.items() if key not in queued]
        taken += (drawn - Counter(item for key, item in queued.items() if key not in seen.waiting)).elements()
        waiting: dict[str, list[int]] = {}
        for key, item in queued.items():
            waiting.setdefault(item, []).append(key)
        still: list[tuple[int, PlannedItem, int | None]] = []
        for priority, ask in enumerate(_with_votes_left(wanted, seen, taken, votes_per_pair)):
            same = waiting.get(ask.item)
            still.append((priority, ask, same.pop() if same else None))
        _withdraw([key for same in waiting.values() for key in same])
        return queue_continue(RemainingPlan(campaign, origin, still, frozenset(left)))


def queue_continue(rest: RemainingPlan) -> RemainingPlan:
    """Add the next part of a plan to its queue, and return the rest. The caller checks that the plan is still valid."""
    part, later = rest.asks[:PUT_AT_ONCE], rest.asks[PUT_AT_ONCE:]
    origin = rest.origin
    kept = [(priority, ask.purpose.value, ask.probability, key) for priority, ask, key in part if key is not None]
    new = [(priority, ask) for priority, ask, key in part if key is None]
    with write_transaction():
        queue_lock(rest.campaign.pk)
        queued_replan(kept, policy=origin.policy, snapshot=origin.snapshot, plan_seed=origin.seed)
        if rest.behind - backlog_parts(rest.campaign):  # drawn meanwhile, possibly items of this plan
            new = _within_wanted_votes(rest.campaign, new)
        _add(rest.campaign, new, origin)
    return replace(rest, asks=later)


def _within_wanted_votes(campaign: Campaign, asks: Sequence[tuple[int, PlannedItem]]) -> list[tuple[int, PlannedItem]]:
    """Return the planned items that do not exceed the wanted votes by the current counts."""
    often, wanted = Counter(votes_placed(campaign, [ask.item for _, ask in asks])), []
    for priority, ask in asks:
        if often[ask.item] < ask.votes:
            often[ask.item] += 1
            wanted.append((priority, ask))
    return wanted


def _with_votes_left(
    wanted: Sequence[tuple[PlannedItem, tuple[int, ...]]],
    seen: QueueState,
    taken: Sequence[str],
    votes_per_pair: int | None,
) -> list[PlannedItem]:
    """Return the planned items with votes left for their item and their pair.

    Missing counts are read by `get`: a Counter's own lookup takes a microsecond, and all claims wait.
    """
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
    """Close the queue in the transaction that stops collecting: no queued assignment is issued from then on.

    On PostgreSQL, this waits for running claims that still saw the campaign collect. Later claims wait for this
    transaction and then check the campaign. On SQLite, claims are serialized anyway.
    """
    if connection.features.has_select_for_update:
        queue_lock(campaign.pk)
        queued_withdraw(campaign.pk)
    backlog_clear(campaign)  # after the lock: a draw holds a part and shares the queue


def queue_withdraw(*, campaign: Campaign) -> None:
    """Empty the queue of a campaign that no longer collects. Issued assignments may still be answered.

    Works in parts, each in its own transaction: on SQLite all others wait for a writer.
    """
    backlog_clear(campaign)
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


def _add(campaign: Campaign, asks: Sequence[tuple[int, PlannedItem]], origin: Origin) -> None:
    """Add places with one queued assignment each. The sides of the replies are decided at the claim."""
    planned = [(ask.prompt.pk, ask.item, priority, ask.purpose.value, ask.probability) for priority, ask in asks]
    queued_add(campaign.pk, planned, policy=origin.policy, snapshot=origin.snapshot, plan_seed=origin.seed)
