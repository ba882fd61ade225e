"""Choice of a campaign for annotators in several campaigns: time is shared evenly among those with work for them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone

from evalsite.campaigns.models import Campaign, CampaignQuerySet
from evalsite.core.db import write_transaction
from evalsite.core.errors import NotAllowed
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.queue import queue_top_up
from evalsite.judgments.services import Claimed, block_claim

REMEMBERED = 100  # recent assignments that count; without a limit, a new campaign would be owed the whole past


@dataclass(frozen=True, slots=True)
class OfferedBlock:
    """A block and its campaign. Without a block, `state` summarizes the joined campaigns.

    It is running (or pilot) while any collects, else paused, else stopped.
    """

    state: str
    campaign: Campaign | None = None
    block: Sequence[Assignment] = ()
    wait: Wait | None = None


def campaigns_by_turn(annotator: Annotator, *, among: Collection[int] | None = None) -> list[Campaign]:
    """Return the joined static campaigns that collect, those with the least recent time of the annotator first.

    `among` (keys) limits them to the campaigns that the entry point opens.
    """
    collecting = list(
        _joined(annotator, among).filter(state__in=Campaign.COLLECTING, mode=Campaign.Mode.STATIC).order_by("pk")
    )
    issued = Assignment.objects.filter(annotator=annotator, campaign__in=collecting, source=Assignment.Source.PLAN)
    had = Counter(issued.order_by("-issued_at", "-pk").values_list("campaign_id", flat=True)[:REMEMBERED])
    return sorted(collecting, key=lambda campaign: had[campaign.pk])


def work_claim(
    *,
    annotator: Annotator,
    count: int | None = None,
    among: Collection[int] | None = None,
    address: str = "",
    users: Collection[int] = (),
) -> OfferedBlock:
    """Return the annotator's open block, or the next one from the campaign whose turn it is.

    Turns are counted in assignments, so that long blocks give a campaign no advantage. A campaign without work for this
    annotator is skipped and keeps its turn. `address` and `users` are those of `block_claim`.
    """
    turns = campaigns_by_turn(annotator, among=among)
    first, state = _campaign_with_open_block(annotator, among), ""
    wait: Wait | None = None
    for campaign in [first, *turns] if first else turns:
        try:
            claimed = _claim_or_roll_back(campaign, annotator, count, address, users)
        except NotAllowed:  # became private after they joined
            wait = wait or Wait.NOT_ADMITTED
            continue
        if claimed.block:
            return OfferedBlock(campaign.state, campaign, claimed.block)
        state, wait = state or campaign.state, wait or claimed.wait
    waits = _joined(annotator, among).filter(state__in=[Campaign.State.DRAFT, Campaign.State.PAUSED])
    if state:
        return OfferedBlock(state, wait=wait)
    paused = waits.exists()
    nothing = Wait.PAUSED if paused else Wait.NOTHING_JOINED
    return OfferedBlock(Campaign.State.PAUSED if paused else Campaign.State.STOPPED, wait=wait or nothing)


def _claim_or_roll_back(
    campaign: Campaign, annotator: Annotator, count: int | None, address: str, users: Collection[int]
) -> Claimed:
    """Claim in this campaign, and roll back an empty claim: it holds no lock, and requests a plan only later.

    Under an Idempotency-Key all claims share one transaction. Two annotators who skip the same two campaigns in
    different orders would otherwise deadlock.
    """
    with write_transaction():
        claimed = block_claim(campaign=campaign, annotator=annotator, count=count, address=address, users=users)
        if not claimed.block:
            transaction.set_rollback(True)
    if not claimed.block:
        transaction.on_commit(partial(queue_top_up, campaign))
    return claimed


def _joined(annotator: Annotator, among: Collection[int] | None) -> CampaignQuerySet:
    """Return the joined campaigns without those that the annotator has left."""
    joined = Campaign.objects.filter(enrolments__annotator=annotator, enrolments__left_at=None)
    return joined if among is None else joined.filter(pk__in=among)


def _campaign_with_open_block(annotator: Annotator, among: Collection[int] | None) -> Campaign | None:
    """Return the campaign with the oldest open block, whose lease has not ended even if no sweep has run."""
    held = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED, lease_until__gt=timezone.now())
    held = held.exclude(source=Assignment.Source.LIVE)
    held = held if among is None else held.filter(campaign__in=among)
    first = held.select_related("campaign").order_by("issued_at", "pk").first()
    return first.campaign if first else None
