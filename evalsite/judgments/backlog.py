"""Backlog of a campaign: planned items behind the queue. A claim that finds the queue low draws from it.

A worker runs at a lower priority than requests. With many simultaneous annotators, a queue planned for few would be
empty long before the worker had enough processor time for a new plan.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from django.db.models import Sum

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import design_hash, plan_request
from evalsite.judgments.models import Reserve
from evalsite.judgments.planned_items import Origin, PlannedItem
from evalsite.judgments.queue_sql import draw_lock, queued_add
from evalsite.judgments.selectors import last_priority, queue_is_low, votes_placed
from evalsite.judgments.skips import items_closed
from evalsite.prompts.models import Prompt

DRAWN_AT_ONCE = 200  # planned items; adding so many to a queue takes 20 ms


def backlog_add(*, campaign: Campaign, asks: Sequence[PlannedItem], origin: Origin, design: str) -> None:
    """Add planned items to the backlog. Runs in the caller's transaction.

    The caller has checked that `design` is the campaign's design mark.
    """
    parts = [asks[begin : begin + DRAWN_AT_ONCE] for begin in range(0, len(asks), DRAWN_AT_ONCE)]
    Reserve.objects.bulk_create(
        Reserve(
            campaign=campaign,
            design=design,
            policy=origin.policy,
            snapshot=origin.snapshot,
            plan_seed=origin.seed,
            size=len(part),
            asks=[[ask.prompt.pk, ask.item, ask.purpose.value, ask.probability, ask.votes] for ask in part],
        )
        for part in parts
    )


def queue_refill(campaign: Campaign, *, wait: bool) -> bool:
    """Draw the next part of the backlog into a low queue; with the last part, request a plan.

    Returns whether the queue has more items now. Runs in a transaction that shares the queue. If another claim is
    drawing, a caller without `wait` leaves it to that one. With `wait` it checks again afterwards, because that part
    may be enough for all.
    """
    drawn = False
    if backlog_exists(campaign):
        if not draw_lock(campaign.pk, wait=wait):
            return False
        drawn = not queue_is_low(campaign) or backlog_draw(campaign)
    if not backlog_exists(campaign):
        plan_request(campaign)
    return drawn


def backlog_draw(campaign: Campaign) -> bool:
    """Append the next part of the backlog to the queue. Return whether any of its items was still wanted.

    Runs in a transaction that shares the queue, so no plan is written meanwhile. The caller holds the draw lock. No
    item gets more votes than wanted, whatever was planned or issued since. Parts of another design are deleted.
    """
    design = design_hash(campaign)
    Reserve.objects.filter(campaign=campaign).exclude(design=design).delete()
    while (part := _pop_first(campaign)) is not None:
        asks = _wanted_items(campaign, part)
        if asks:
            queued_add(campaign.pk, asks, policy=part.policy, snapshot=part.snapshot, plan_seed=part.plan_seed)
            return True
    return False


def _pop_first(campaign: Campaign) -> Reserve | None:
    part = backlog_first(campaign)
    if part is not None:
        Reserve.objects.filter(pk=part.pk).delete()
    return part


def _wanted_items(campaign: Campaign, part: Reserve) -> list[tuple[int, str, int, str, float]]:
    """Return the planned items of a part that are still allowed and wanted, in the form of `queued_add`."""
    items = [item for _, item, *_ in part.asks]
    often = Counter(votes_placed(campaign, items))
    closed = items_closed(campaign, among=items)
    corrected = _corrected_prompts({prompt for prompt, *_ in part.asks})
    first = last_priority(campaign) + 1
    asks: list[tuple[int, str, int, str, float]] = []
    for prompt, item, purpose, probability, votes in part.asks:
        if item not in closed and prompt not in corrected and often[item] < votes:
            often[item] += 1
            asks.append((prompt, item, first + len(asks), purpose, probability))
    return asks


def _corrected_prompts(prompts: Collection[int]) -> set[int]:
    """Return the prompts that a newer revision has replaced."""
    return set(Prompt.objects.filter(pk__in=prompts, corrected_by__isnull=False).values_list("pk", flat=True))


def backlog_exists(campaign: Campaign) -> bool:
    """Return whether the backlog has any items."""
    return Reserve.objects.filter(campaign=campaign).exists()


def backlog_clear(campaign: Campaign) -> None:
    """Empty the backlog."""
    Reserve.objects.filter(campaign=campaign).delete()


def backlog_items(campaign: Campaign) -> dict[int, list[str]]:
    """Return the items of each part of the backlog."""
    parts = Reserve.objects.filter(campaign=campaign).values_list("pk", "asks")
    return {key: [item for _, item, *_ in asks] for key, asks in parts}


def backlog_parts(campaign: Campaign) -> set[int]:
    """Return the keys of the parts of the backlog."""
    return set(Reserve.objects.filter(campaign=campaign).values_list("pk", flat=True))


def backlog_first(campaign: Campaign) -> Reserve | None:
    """Return the part that is drawn next. No other part is older."""
    return Reserve.objects.filter(campaign=campaign).order_by("pk").first()


def backlog_size(campaign: Campaign) -> int:
    """Return the number of planned items in the backlog."""
    return Reserve.objects.filter(campaign=campaign).aggregate(asks=Sum("size"))["asks"] or 0
