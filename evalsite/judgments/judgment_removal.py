"""How judgments are removed with the person who gave them, where that was promised to them.

What is left of each is its assignment: that somebody who leads to no person answered it, and what it earned. So the
accounts and the budget stay as they are, and so do the snapshots that were published; the next refit sees the rest.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from evalsite.campaigns.models import Reception
from evalsite.campaigns.services import refit_request
from evalsite.core.audit import audit_record
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.core.models import IdempotencyKey
from evalsite.judgments.exclusions import exclusion_propose
from evalsite.judgments.leases import end_unanswered
from evalsite.judgments.models import (
    Answer,
    Assignment,
    Batch,
    Candidate,
    Comment,
    Enrolment,
    Exclusion,
    Judgment,
    JudgmentReason,
    Place,
)
from evalsite.judgments.selectors import IN_GOOD_STANDING, RANKING_PURPOSES, standings


def parts_hold(parts: Iterable[Enrolment]) -> list[Enrolment]:
    """Lock these parts, and in those whose judgments are to be removed, which are given, all that was ever issued.

    Part of the transaction that erases: what is answered meanwhile waits for it, and then is told that it was given
    back. Locked in the order in which answers lock: places, assignments, enrolments, and batches last.
    """
    numbers = [part.pk for part in parts]
    promised = Enrolment.objects.filter(pk__in=numbers, erasure=Reception.Erasure.REMOVE)
    _issued_hold(promised)
    list(Enrolment.objects.select_for_update(no_key=True).filter(pk__in=numbers).order_by("pk"))
    removing = list(promised.select_related("campaign", "annotator").order_by("campaign", "pk"))
    _issued_hold(removing)  # once more, for what was claimed, or who came again, before the parts were locked
    return removing


def _issued_hold(parts: Iterable[Enrolment]) -> None:
    issued = [Q(campaign=part.campaign_id, annotator=part.annotator_id) for part in parts]
    if not issued:
        return
    own = Assignment.objects.filter(reduce(or_, issued))
    for rows in (Place.objects.filter(pk__in=own.values("place")), own):
        list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def judgments_remove(part: Enrolment) -> int:
    """Remove what this one answered in a campaign, and ask for the refit that does without it. How many answers went.

    Their items are free again: the next plan asks them of others where it wants them still. The log tells how many
    answers went, and not whose. Part of the transaction that erases, after `parts_hold`.
    """
    campaign, annotator = part.campaign, part.annotator
    issued = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    judgments = Judgment.objects.filter(annotator=annotator, batch__campaign=campaign)
    part.qualification_answers.all().delete()
    IdempotencyKey.objects.filter(principal=f"annotator:{annotator.public_id}").delete()
    removed = judgments.order_by().values("assignment").distinct().count()
    _end_answered(issued)
    _batches_lessen(judgments)
    _rows_remove(judgments, issued.filter(state=Assignment.State.REMOVED))
    _end_open(issued)
    _proposal_drop(part)
    if removed:
        audit_record(act="remove_judgments", subject=campaign.public_id, after={"removed": removed})
        refit_request(campaign)
    return removed


def _proposal_drop(part: Enrolment) -> None:
    """Nobody is asked any more to decide about somebody of whom there is nothing to decide by."""
    standing = standings(part.campaign).get(part.annotator_id, IN_GOOD_STANDING)
    if standing.proposal is not None:
        exclusion_propose(
            campaign=part.campaign,
            annotator=part.annotator,
            lifted=not standing.out,
            reason="their judgments were removed with them",
            evidence={},
        )


def _end_answered(issued: QuerySet[Assignment]) -> None:
    """Those that were answered are REMOVED. The budget goes on counting those that it has counted.

    What was over the quota is none of them, since REMOVED says that it was earned: it ends as if never answered.
    """
    late = Exists(Judgment.objects.filter(assignment=OuterRef("pk"), over_quota=False))
    unfilled = issued.filter(late, state=Assignment.State.EXPIRED)
    unfilled.update(state=Assignment.State.REMOVED, closed_at=None)
    issued.filter(state=Assignment.State.ANSWERED).update(state=Assignment.State.REMOVED)


def _batches_lessen(judgments: QuerySet[Judgment]) -> None:
    """Batches hold so many fewer of what they count; one that is open is filled by others."""
    ranking = judgments.filter(assignment__purpose__in=RANKING_PURPOSES, over_quota=False)
    for batch, count in list(ranking.order_by("batch").values_list("batch").annotate(count=Count("pk"))):
        Batch.objects.filter(pk=batch).update(size=F("size") - count)


def _rows_remove(judgments: QuerySet[Judgment], assignments: QuerySet[Assignment]) -> None:
    """All that says what was answered, whole chains of what was taken back; and what was shown.

    By the database: the ORM would read each row, and refuse what is superseded.
    """
    said: Sequence[QuerySet[Answer] | QuerySet[JudgmentReason] | QuerySet[Comment] | QuerySet[Exclusion]] = (
        Answer.objects.filter(judgment__in=judgments),
        JudgmentReason.objects.filter(judgment__in=judgments),
        Comment.objects.filter(judgment__in=judgments),
        Exclusion.objects.filter(judgment__in=judgments),
    )
    with deletion_permitted():
        for rows in (*said, judgments, Candidate.objects.filter(assignment__in=assignments)):
            rows._raw_delete(connection.alias)


def _end_open(issued: QuerySet[Assignment]) -> None:
    """Give back what is open, and let nothing that has expired be answered any more."""
    for assignment in issued.filter(state=Assignment.State.ISSUED).order_by("pk"):
        end_unanswered(assignment, Assignment.State.RETURNED)
    issued.filter(state=Assignment.State.EXPIRED).update(state=Assignment.State.RETURNED)
