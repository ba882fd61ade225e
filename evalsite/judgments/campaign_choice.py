"""Annotators who judge in several campaigns: their time is shared evenly among those that have work for them."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.utils import timezone

from evalsite.campaigns.models import Campaign, CampaignQuerySet
from evalsite.core.db import write_transaction
from evalsite.core.errors import NotAllowed
from evalsite.judgments.backlog import queue_refill
from evalsite.judgments.empty_claims import Wait
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.queue_sql import queue_share
from evalsite.judgments.selectors import queue_is_low
from evalsite.judgments.services import Claimed, block_claim

REMEMBERED = 100  # assignments: what lies further back is forgotten, so that a newcomer is not owed the whole past


@dataclass(frozen=True, slots=True)
class OfferedBlock:
    """A block and whose it is. Without one `state` tells what to expect, as if all that was joined were one campaign:
    running (or pilot) while any collects, then paused, then stopped."""

    state: str
    campaign: Campaign | None = None
    block: Sequence[Assignment] = ()
    wait: Wait | None = None


def campaigns_fair(annotator: Annotator, *, among: Collection[int] | None = None) -> list[Campaign]:
    """The campaigns that the annotator has joined and that collect, who has had least of their recent time first.

    `among`: keys of campaigns, where a door opens no others.
    """
    collecting = list(_joined(annotator, among).filter(state__in=Campaign.COLLECTING).order_by("pk"))
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
    """The annotator's open block, or the next one of the campaign whose turn it is.

    Counted in assignments, so that a campaign of long blocks gets no more than one of short ones. One that has nothing
    for this annotator is passed over and loses no turn. `address`, `users`: as for `block_claim`.
    """
    turns = campaigns_fair(annotator, among=among)
    first, state = _with_open_block(annotator, among), ""
    wait: Wait | None = None
    for campaign in [first, *turns] if first else turns:
        try:
            claimed = _claimed(campaign, annotator, count, address, users)
        except NotAllowed:  # it has become private since they joined
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


def _claimed(
    campaign: Campaign, annotator: Annotator, count: int | None, address: str, users: Collection[int]
) -> Claimed:
    """As a claim in this campaign, but one that gives nothing is undone: it holds no lock, and refills no queue yet.

    Under an Idempotency-Key all of this is one transaction. Of two annotators who pass over the same two campaigns in
    different orders, each would hold what the other waits for.
    """
    with write_transaction():
        claimed = block_claim(campaign=campaign, annotator=annotator, count=count, address=address, users=users)
        if not claimed.block:
            transaction.set_rollback(True)
    if not claimed.block:
        transaction.on_commit(partial(_refill_where_low, campaign))
    return claimed


def _refill_where_low(campaign: Campaign) -> None:
    if campaign.collecting and queue_is_low(campaign):
        with write_transaction():
            queue_share(campaign.pk)
            queue_refill(campaign, wait=True)


def _joined(annotator: Annotator, among: Collection[int] | None) -> CampaignQuerySet:
    """Without those that the annotator has left."""
    joined = Campaign.objects.filter(enrolments__annotator=annotator, enrolments__left_at=None)
    return joined if among is None else joined.filter(pk__in=among)


def _with_open_block(annotator: Annotator, among: Collection[int] | None) -> Campaign | None:
    """Where the oldest block is open: its lease has not ended, although no sweep has come yet."""
    held = Assignment.objects.filter(annotator=annotator, state=Assignment.State.ISSUED, lease_until__gt=timezone.now())
    held = held if among is None else held.filter(campaign__in=among)
    first = held.select_related("campaign").order_by("issued_at", "pk").first()
    return first.campaign if first else None
