"""Leases of issued assignments: renew, skip, return, expire."""

import uuid
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.composed import composed
from evalsite.core.db import CLOCK_SET_BACK, write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.number_format import whole
from evalsite.judgments.batches import batch_close_last
from evalsite.judgments.claim_sql import Asked, assignment_held, assignment_with_content
from evalsite.judgments.models import Annotator, Assignment, Enrolment, Place, Skip, SkipNote
from evalsite.judgments.newcomer_limits import has_answered
from evalsite.judgments.queue import requeue
from evalsite.judgments.skips import items_closed, skips_check

NEWCOMER_HOLD = 2  # leases, before the first answer
LONGEST_HOLD = 6  # leases, from the issue on: a page that renews forever must not block a study


def assignment_lock(annotator: Annotator, assignment_id: uuid.UUID) -> Assignment:
    """Lock and return the annotator's assignment, with its place locked first. Raises NotFound.

    All code that ends or answers an assignment locks in this order. Two assignments of one place then wait for each
    other, and cannot both fill it.
    """
    found = assignment_held(annotator.pk, assignment_id)
    if found is None:
        raise _not_found_error()
    return found


def assignment_lock_with_content(annotator: Annotator, assignment_id: uuid.UUID) -> tuple[Assignment, Asked]:
    """Lock the assignment in the same way, and return it with its aspects and candidates."""
    found = assignment_with_content(annotator.pk, assignment_id)
    if found is None:
        raise _not_found_error()
    return found


def _not_found_error() -> NotFound:
    """Return one error for unknown assignments and those of others, so that existence is not revealed."""
    return NotFound(_("You have no such assignment."), hint=_("Ask for the next one."), field="assignment")


def returned_error() -> Conflict:
    """Return the error for a skipped or returned assignment: it takes no answer, no other end and no lease."""
    return Conflict(_("You gave this one back."), hint=_("Ask for the next one."), code="returned")


def _lock_place(place_id: int) -> None:
    Place.objects.select_for_update(no_key=True).get(pk=place_id)


def checked_text(text: str, *, longest: int, field: str) -> str:
    """Return a person's text in a form that can be stored."""
    text = text.strip()
    if len(text) > longest:
        raise InvalidInput(
            _("The %(field)s is longer than %(longest)s characters.") % {"field": field, "longest": whole(longest)},
            hint=_("Shorten it."),
            field=field,
        )
    if "\0" in text:
        raise InvalidInput(
            _("The %(field)s holds a NUL character.") % {"field": field}, hint=_("Remove it."), field=field
        )
    return text


def lease_renew(*, annotator: Annotator, assignment_id: uuid.UUID) -> datetime:
    """Renew the lease of all open assignments in the block of this one. Return the new end.

    A lease is not renewed after its end, after the campaign's stop, or beyond LONGEST_HOLD leases from the issue.
    Raises NotFound, Conflict.
    """
    now = timezone.now()
    own = Assignment.objects.filter(public_id=assignment_id, annotator=annotator)
    assignment = own.select_related("campaign").first()
    if assignment is None:
        raise _not_found_error()
    _check_held(assignment, now)
    campaign = assignment.campaign
    lease = timedelta(seconds=campaign.lease_s)
    until = min(now + lease, (assignment.issued_at or now) + _longest_hold(assignment) * lease)
    block = Assignment.objects.filter(annotator=annotator, campaign=campaign, block=assignment.block)
    # One conditional UPDATE: a lease that ends at this moment is either still held and renewed, or gone.
    held = block.filter(state=Assignment.State.ISSUED, lease_until__gte=now, lease_until__lt=until)
    with write_transaction():
        held.update(lease_until=until)
    return until


def _longest_hold(assignment: Assignment) -> int:
    """Return the maximum number of leases for a block: few for a newcomer without any answer."""
    own = Enrolment.objects.filter(campaign=assignment.campaign_id, annotator=assignment.annotator_id)
    newcomer = own.exclude(network="").exists()
    if newcomer and not has_answered(assignment.campaign_id, assignment.annotator_id or 0):
        return NEWCOMER_HOLD
    return LONGEST_HOLD


def _check_held(assignment: Assignment, now: datetime) -> None:
    if assignment.state == Assignment.State.ANSWERED:
        raise Conflict(_("You have answered this one."), hint=_("Ask for the next one."), code="answered")
    if assignment.state == Assignment.State.RETURNED:
        raise returned_error()
    ended = assignment.lease_until is None or assignment.lease_until < now
    if assignment.state != Assignment.State.ISSUED or ended:
        raise Conflict(
            _("This lease has ended."), hint=_("A late answer is still kept; ask for the next one."), code="ended"
        )
    if assignment.campaign.state == Campaign.State.STOPPED:
        raise Conflict(_("The campaign has ended."), hint=_("Answer before the lease ends."), code="stopped")


def assignment_skip(
    *, annotator: Annotator, assignment_id: uuid.UUID, reason: str, note: str = "", in_conversation: bool = False
) -> None:
    """Skip an assignment with a reason. Its place is queued for another annotator.

    An item is closed after skips of two annotators who are known to somebody (`skips.vouched`). Skips of anonymous
    pseudonyms do not count for this. A repeated skip changes nothing. Raises Conflict for a returned, answered or
    expired assignment, and for an annotator without skips left.
    """
    if reason not in Skip.Reason.values:
        raise InvalidInput(
            _("%(reason)s is not a reason to skip.") % {"reason": repr(reason)},
            hint=_("Use one of: %(values)s.") % {"values": ", ".join(Skip.Reason.values)},
            field="reason",
        )
    note = checked_text(note, longest=500, field="note")
    with write_transaction():
        assignment = assignment_lock(annotator, assignment_id)
        if assignment.source == Assignment.Source.LIVE and not in_conversation:
            raise Conflict(
                _("A turn of a conversation is skipped in its conversation."),
                hint=_("Open the conversation: /api/v1/conversations/{conversation}."),
                code="in_conversation",
            )
        if assignment.state == Assignment.State.RETURNED:
            if Skip.objects.filter(assignment=assignment).exists():
                return
            raise returned_error()
        if assignment.state != Assignment.State.ISSUED:
            raise Conflict(_("This one cannot be skipped any more."), hint=_("Ask for the next one."))
        skips_check(assignment)
        skip, _new = Skip.objects.get_or_create(assignment=assignment, defaults={"reason": reason})
        if note:
            SkipNote.objects.update_or_create(skip=skip, defaults={"text": note})
        end_unanswered(assignment, Assignment.State.RETURNED)


def skip_undo(*, annotator: Annotator, assignment_id: uuid.UUID) -> None:
    """Take a skip back: the assignment is open again, with its old lease.

    The fact of the skip stays, and counts only while its assignment is returned. A second skip of the same assignment
    therefore counts with the reason of the first. Raises NotFound, and Conflict if somebody else has the place or the
    round is over.
    """
    with write_transaction():
        assignment = assignment_lock(annotator, assignment_id)
        if assignment.state == Assignment.State.ISSUED:
            return
        skipped = assignment.state == Assignment.State.RETURNED and Skip.objects.filter(assignment=assignment).exists()
        if not skipped or not _undo_in_time(assignment) or not _place_taken_back(assignment):
            raise Conflict(_("This skip stands."), hint=_("Ask for the next one."), code="skip_stands")
        assignment.state, assignment.closed_at = Assignment.State.ISSUED, None
        assignment.save(update_fields=["state", "closed_at"])


def _undo_in_time(assignment: Assignment) -> bool:
    """Return whether the round still runs: the lease holds, and no newer round was issued."""
    campaign = Campaign.objects.get(pk=assignment.campaign_id)
    own = Assignment.objects.filter(campaign=campaign, annotator=assignment.annotator_id)
    newer = own.filter(issued_at__gt=assignment.issued_at).exclude(block=assignment.block)
    held = assignment.lease_until is not None and assignment.lease_until >= timezone.now()
    return held and campaign.collecting and assignment.source == Assignment.Source.PLAN and not newer.exists()


def _place_taken_back(assignment: Assignment) -> bool:
    """Withdraw the copy that was queued for others. Return False if one of them has it already."""
    copies = Assignment.objects.filter(place_id=assignment.place_id)
    if assignment.purpose != Assignment.Purpose.GOLD:
        copies.filter(state=Assignment.State.QUEUED).update(state=Assignment.State.WITHDRAWN, closed_at=timezone.now())
    return not copies.filter(state__in=[Assignment.State.ISSUED, Assignment.State.ANSWERED]).exists()


def assignments_return(*, campaign: Campaign, annotator: Annotator) -> int:
    """Return all open assignments of the annotator in the campaign, as when they leave. Return their number.

    Unlike a skip, this says nothing about the items, which go to others.
    """
    issued = Assignment.objects.filter(campaign=campaign, annotator=annotator, state=Assignment.State.ISSUED)
    issued = issued.exclude(source=Assignment.Source.LIVE)  # those end with their conversation
    returned = 0
    for number, place in issued.order_by("place_id").values_list("pk", "place_id"):
        with write_transaction():
            returned += _end_if_issued(number, place, Assignment.State.RETURNED)
    return returned


def assignments_expire() -> None:
    """End leases that have expired, or that date from before the clock was set back, and queue their places again."""
    now = timezone.now()
    overdue = _overdue(now, now + CLOCK_SET_BACK)
    issued = Assignment.objects.filter(overdue, state=Assignment.State.ISSUED).exclude(source=Assignment.Source.LIVE)
    for number, place in issued.order_by("lease_until").values_list("pk", "place_id")[:500]:
        with write_transaction():
            _end_if_issued(number, place, Assignment.State.EXPIRED, overdue=overdue)


def assignments_expire_of(*, campaign: Campaign, annotator: Annotator) -> None:
    """Expire leases of one annotator before a claim, because the sweep may not have run yet.

    Runs before the claim's own locks, in the order of the places: a late answer locks its place first, and then the
    enrolment.
    """
    now = timezone.now()
    future = now + CLOCK_SET_BACK
    for number, place in _overdue_of(campaign.pk, annotator.pk, now, future):
        with write_transaction():
            _end_if_issued(number, place, Assignment.State.EXPIRED, overdue=_overdue(now, future))


@composed
def _overdue_of(
    campaign: int, annotator: int, now: datetime, future: datetime
) -> QuerySet[Assignment, tuple[int, int]]:
    held = Assignment.objects.filter(campaign=campaign, annotator=annotator, state=Assignment.State.ISSUED)
    held = held.exclude(source=Assignment.Source.LIVE).filter(_overdue(now, future))
    return held.order_by("place_id").values_list("pk", "place_id")


def _overdue(now: datetime, future: datetime) -> Q:
    return Q(lease_until__lt=now) | Q(issued_at__gt=future)


def _end_if_issued(number: int, place: int, state: Assignment.State, *, overdue: Q | None = None) -> bool:
    """End an assignment unless it was answered or its lease renewed since the query."""
    _lock_place(place)
    issued = Assignment.objects.select_for_update().filter(pk=number, state=Assignment.State.ISSUED)
    assignment = (issued.filter(overdue) if overdue else issued).first()
    if assignment is None:
        return False
    end_unanswered(assignment, state)
    return True


def end_unanswered(assignment: Assignment, state: Assignment.State) -> None:
    """End a locked, issued assignment, and queue its place for another annotator."""
    assignment.state, assignment.closed_at = state, timezone.now()
    assignment.save(update_fields=["state", "closed_at"])
    campaign = Campaign.objects.get(pk=assignment.campaign_id)
    if campaign.state == Campaign.State.STOPPED:
        batch_close_last(campaign)
    if not campaign.collecting or assignment.purpose == Assignment.Purpose.GOLD:
        return  # gold checks this one annotator: nobody else needs its place
    if assignment.source == Assignment.Source.LIVE:
        return  # nobody else sees a turn of this conversation
    if assignment.item in items_closed(campaign, among=[assignment.item]):
        refit_request(campaign)  # otherwise a campaign whose last items were returned would wait forever
        return
    requeue(assignment)
