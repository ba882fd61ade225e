"""What of a plan waits behind its queue: whoever claims and finds the queue low draws on it.

A worker gives way to those who judge. Where many come at once a queue that was made for few would be empty long before
the worker has had the processor for as long as a plan takes.
"""

from collections import Counter
from collections.abc import Collection, Sequence

from django.db.models import Sum

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import design_mark, plan_request
from evalsite.judgments.models import Reserve
from evalsite.judgments.planned_items import Origin, PlannedAsk
from evalsite.judgments.queue_sql import draw_lock, queued_add
from evalsite.judgments.selectors import asked_often, last_priority, queue_is_low
from evalsite.judgments.skips import items_closed
from evalsite.prompts.models import Prompt

DRAWN_AT_ONCE = 200  # asks, which are put into a queue in 20 ms


def reserve_add(*, campaign: Campaign, asks: Sequence[PlannedAsk], origin: Origin, design: str) -> None:
    """Keep more asks of a plan behind the queue. Part of the caller's transaction, who has seen that `design` is the
    campaign's design mark."""
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
    """Of a queue that was found low: draw the next part, and ask for a plan with the last one; whether there is more
    in the queue now.

    Part of a transaction that shares the queue. Where somebody else draws at the moment, who need not `wait` for it
    leaves it to them; who waits looks again, since what they drew may be enough for all.
    """
    drawn = False
    if reserve_waits(campaign):
        if not draw_lock(campaign.pk, wait=wait):
            return False
        drawn = not queue_is_low(campaign) or reserve_draw(campaign)
    if not reserve_waits(campaign):
        plan_request(campaign)
    return drawn


def reserve_draw(campaign: Campaign) -> bool:
    """Put the next part into the queue, after all that waits there; whether there was one that is still wanted.

    Part of a transaction that shares the queue, so that no plan is written meanwhile, and is the only one that draws.
    Nothing is asked more often than wanted, whatever was planned or issued since; what was planned for another design
    is forgotten.
    """
    design = design_mark(campaign)
    Reserve.objects.filter(campaign=campaign).exclude(design=design).delete()
    while (part := _take(campaign)) is not None:
        asks = _still_wanted(campaign, part)
        if asks:
            queued_add(campaign.pk, asks, policy=part.policy, snapshot=part.snapshot, plan_seed=part.plan_seed)
            return True
    return False


def _take(campaign: Campaign) -> Reserve | None:
    part = reserve_first(campaign)
    if part is not None:
        Reserve.objects.filter(pk=part.pk).delete()
    return part


def _still_wanted(campaign: Campaign, part: Reserve) -> list[tuple[int, str, int, str, float]]:
    """Of its asks those that a plan made now could ask, and that make no item asked too often, as `queued_add` takes
    them."""
    items = [item for _, item, *_ in part.asks]
    often = Counter(asked_often(campaign, items))
    closed = items_closed(campaign, among=items)
    corrected = _corrected({prompt for prompt, *_ in part.asks})
    first = last_priority(campaign) + 1
    asks: list[tuple[int, str, int, str, float]] = []
    for prompt, item, purpose, probability, votes in part.asks:
        if item not in closed and prompt not in corrected and often[item] < votes:
            often[item] += 1
            asks.append((prompt, item, first + len(asks), purpose, probability))
    return asks


def _corrected(prompts: Collection[int]) -> set[int]:
    """Those of some prompts that another one has taken the place of."""
    return set(Prompt.objects.filter(pk__in=prompts, corrected_by__isnull=False).values_list("pk", flat=True))


def reserve_waits(campaign: Campaign) -> bool:
    """Whether anything waits behind the queue."""
    return Reserve.objects.filter(campaign=campaign).exists()


def reserve_drop(campaign: Campaign) -> None:
    """Forget what waits behind the queue."""
    Reserve.objects.filter(campaign=campaign).delete()


def reserve_items(campaign: Campaign) -> dict[int, list[str]]:
    """Part -> the items that it asks."""
    parts = Reserve.objects.filter(campaign=campaign).values_list("pk", "asks")
    return {key: [item for _, item, *_ in asks] for key, asks in parts}


def reserve_parts(campaign: Campaign) -> set[int]:
    """The parts that wait."""
    return set(Reserve.objects.filter(campaign=campaign).values_list("pk", flat=True))


def reserve_first(campaign: Campaign) -> Reserve | None:
    """The part that is drawn next: by it the others are known, too, which are never older."""
    return Reserve.objects.filter(campaign=campaign).order_by("pk").first()


def reserve_size(campaign: Campaign) -> int:
    """Asks that wait behind the queue."""
    return Reserve.objects.filter(campaign=campaign).aggregate(asks=Sum("size"))["asks"] or 0
