"""Issuing a block: what waits is composed for this annotator, and from then on it shows two replies on their sides."""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import chain

from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from evalsite.campaigns.models import Campaign, Entrant, PlanSpec
from evalsite.chatbots.models import Reply
from evalsite.judgments.models import Annotator, Assignment, Candidate, Enrolment
from evalsite.judgments.queue import item_parts
from scheduler.blocks import Reader, Seat, Waiting, compose_block

WINDOW = 5  # times the block's size: the best of the queue, from which a block that fits together is chosen
COMPOSED_AT_MOST = 6  # times, while others claim the same rows


def block_issue(campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int) -> None:
    """Issue up to `size` queued assignments to an annotator, composed and mixed for them (`scheduler.blocks`).

    Part of the claim's transaction, with the enrolment locked: its number of blocks is part of the seed.
    """
    waiting, seats = _seats_locked(campaign, annotator, enrolment, size)
    replies = _replies(waiting[seat.key] for seat in seats)
    block: list[Assignment] = []
    candidates: list[Candidate] = []
    for seat in seats:
        shown = _candidates(waiting[seat.key], seat.swapped, replies)
        if shown:
            block.append(waiting[seat.key])
            candidates += shown
    if block:
        _issue(campaign, annotator, block)
        Candidate.objects.bulk_create(candidates)
        Enrolment.objects.filter(pk=enrolment.pk).update(blocks_claimed=F("blocks_claimed") + 1)


def _seats_locked(
    campaign: Campaign, annotator: Annotator, enrolment: Enrolment, size: int
) -> tuple[dict[int, Assignment], list[Seat]]:
    """A composed block whose rows are locked, and the rows.

    Rows that others are claiming meanwhile are left to them, and the block is composed anew: a lock on all that it is
    composed from would show everybody else an empty queue.
    """
    own = _own_entrants(campaign, annotator)
    waiting: dict[int, Assignment] = {}
    seats: Sequence[Seat] = ()
    taken: set[int] = set()
    held: set[int] = set()
    window = None if own else WINDOW * size * _copies(campaign)
    for _ in range(COMPOSED_AT_MOST):
        rows = _claimable(campaign, annotator).exclude(pk__in=taken)
        # An annotator who may not see all of the queue gets the best of what they may see, however far down it is.
        waiting = {row.pk: row for row in rows[:window]}
        seats = compose_block(
            [_waiting(row) for row in waiting.values()],
            Reader(str(annotator.public_id), own=own),
            campaign=f"{campaign.seed}:{campaign.public_id}",
            block=enrolment.blocks_claimed,
            size=size,
        )
        held = _locked([seat.key for seat in seats])
        if len(held) == len(seats):
            break
        taken |= {seat.key for seat in seats} - held
    return waiting, [seat for seat in seats if seat.key in held]


def _locked(rows: Sequence[int]) -> set[int]:
    """Those of some rows that still wait, locked for this transaction. SQLite has one transaction at a time anyway."""
    queued = Assignment.objects.select_for_update(skip_locked=True, of=("self",)).filter(pk__in=rows)
    return set(queued.filter(state=Assignment.State.QUEUED).values_list("pk", flat=True))


def _copies(campaign: Campaign) -> int:
    """How often an item may wait at once, of which an annotator takes one."""
    spec = PlanSpec.objects.get(campaign=campaign)
    return max(campaign.votes_per_item, spec.overlap_votes if spec.overlap_share > 0.0 else 1)


def _claimable(campaign: Campaign, annotator: Annotator) -> QuerySet[Assignment]:
    """Queued rows whose item this annotator has not seen, the most wanted first."""
    seen = Assignment.objects.filter(annotator=annotator, item=OuterRef("item"))
    queued = Assignment.objects.filter(~Exists(seen), campaign=campaign, state=Assignment.State.QUEUED)
    return queued.order_by("priority", "pk")


def _own_entrants(campaign: Campaign, annotator: Annotator) -> set[int]:
    """Entrants that this annotator may not judge: those of their organisations.

    In a campaign of their own organisation members do judge its chatbots: that is what a private campaign is for.
    """
    if annotator.user_id is None:
        return set()
    own = Entrant.objects.filter(campaign=campaign, version__chatbot__organisation__members=annotator.user_id)
    return set(own.exclude(version__chatbot__organisation=campaign.organisation_id).values_list("pk", flat=True))


def _waiting(assignment: Assignment) -> Waiting:
    prompt, (a, b) = item_parts(assignment.item)
    return Waiting(assignment.pk, a, b, prompt)


def _replies(assignments: Iterable[Assignment]) -> dict[tuple[int, int], int]:
    """(entrant, prompt) -> the reply in force that can be shown."""
    items = [item_parts(assignment.item) for assignment in assignments]
    replies = Reply.objects.filter(
        version__entrants__in=set(chain.from_iterable(pair for _, pair in items)),
        prompt__in={prompt for prompt, _ in items},
        sample=1,
        text__isnull=False,
        corrected_by__isnull=True,
    )
    return {
        (entrant, prompt): reply
        for entrant, prompt, reply in replies.values_list("version__entrants", "prompt_id", "pk")
    }


def _candidates(assignment: Assignment, swapped: bool, replies: Mapping[tuple[int, int], int]) -> list[Candidate]:
    """Both replies on their sides; none if one was taken back since the plan was made."""
    prompt, pair = item_parts(assignment.item)
    sides = pair[::-1] if swapped else pair
    if any((entrant, prompt) not in replies for entrant in sides):
        return []
    return [
        Candidate(assignment=assignment, position=position, entrant_id=entrant, reply_id=replies[entrant, prompt])
        for position, entrant in enumerate(sides)
    ]


def _issue(campaign: Campaign, annotator: Annotator, block: Sequence[Assignment]) -> None:
    now, name = timezone.now(), uuid.uuid4()
    for position, assignment in enumerate(block):
        assignment.state = Assignment.State.ISSUED
        assignment.annotator, assignment.block, assignment.block_position = annotator, name, position
        assignment.issued_at, assignment.lease_until = now, now + timedelta(seconds=campaign.lease_s)
        assignment.pay_rate, assignment.currency = campaign.pay_rate, campaign.currency
    fields = ["state", "annotator", "block", "block_position", "issued_at", "lease_until", "pay_rate", "currency"]
    Assignment.objects.bulk_update(block, fields)
