"""Removal of judgments together with their annotator, if that was promised to them.

The assignment of each judgment stays without a person: that it was answered, and its pay. Accounts and the budget
therefore stay correct. Published snapshots stay as they are, and the next refit uses the remaining judgments.
"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from evalsite.campaigns.models import Onboarding
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


def enrolments_lock(parts: Iterable[Enrolment]) -> list[Enrolment]:
    """Lock these enrolments, and return those whose judgments must be removed, with all their assignments locked.

    Runs in the transaction of the erasure. A simultaneous answer waits for it and is then refused, because its
    assignment was returned. Locks are taken in the order of answers: places, assignments, enrolments, and batches last.
    """
    numbers = [part.pk for part in parts]
    promised = Enrolment.objects.filter(pk__in=numbers, erasure=Onboarding.Erasure.REMOVE)
    _assignments_lock(promised)
    list(Enrolment.objects.select_for_update(no_key=True).filter(pk__in=numbers).order_by("pk"))
    removing = list(promised.select_related("campaign", "annotator").order_by("campaign", "pk"))
    _assignments_lock(removing)  # once more, for claims and new arrivals before the lock
    return removing


def _assignments_lock(parts: Iterable[Enrolment]) -> None:
    issued = [Q(campaign=part.campaign_id, annotator=part.annotator_id) for part in parts]
    if not issued:
        return
    own = Assignment.objects.filter(reduce(or_, issued))
    for rows in (Place.objects.filter(pk__in=own.values("place")), own):
        list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))


def judgments_remove(part: Enrolment) -> int:
    """Remove the annotator's answers in a campaign, and request a refit. Return the number of removed answers.

    Their items are free again, and the next plan may use them for others. The log records the number, but not the
    person. Runs in the transaction of the erasure, after `enrolments_lock`.
    """
    campaign, annotator = part.campaign, part.annotator
    issued = Assignment.objects.filter(campaign=campaign, annotator=annotator)
    judgments = Judgment.objects.filter(annotator=annotator, batch__campaign=campaign)
    part.qualification_answers.all().delete()
    IdempotencyKey.objects.filter(principal=f"annotator:{annotator.public_id}").delete()
    removed = judgments.order_by().values("assignment").distinct().count()
    _end_answered(issued)
    _batch_sizes_reduce(judgments)
    _rows_remove(judgments, issued.filter(state=Assignment.State.REMOVED))
    _end_open(issued)
    _proposal_drop(part)
    if removed:
        audit_record(act="remove_judgments", subject=campaign.public_id, after={"removed": removed})
        refit_request(campaign)
    return removed


def _proposal_drop(part: Enrolment) -> None:
    """Withdraw an open proposal about the annotator: without judgments there is no basis for a decision."""
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
    """Mark answered assignments as REMOVED. The budget still counts those that it has counted.

    Late answers over the quota stay EXPIRED, because REMOVED means that the pay was earned.
    """
    late = Exists(Judgment.objects.filter(assignment=OuterRef("pk"), over_quota=False))
    unfilled = issued.filter(late, state=Assignment.State.EXPIRED)
    unfilled.update(state=Assignment.State.REMOVED, closed_at=None)
    issued.filter(state=Assignment.State.ANSWERED).update(state=Assignment.State.REMOVED)


def _batch_sizes_reduce(judgments: QuerySet[Judgment]) -> None:
    """Reduce the size of the batches. An open batch is filled up by others."""
    ranking = judgments.filter(assignment__purpose__in=RANKING_PURPOSES, over_quota=False)
    for batch, count in list(ranking.order_by("batch").values_list("batch").annotate(count=Count("pk"))):
        Batch.objects.filter(pk=batch).update(size=F("size") - count)


def _rows_remove(judgments: QuerySet[Judgment], assignments: QuerySet[Assignment]) -> None:
    """Delete all answers, including superseded judgments, and the candidates shown.

    Uses raw deletes: the ORM would read each row, and refuse to delete superseded judgments.
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
    """Return the open assignments, and let no expired one be answered any more."""
    for assignment in issued.filter(state=Assignment.State.ISSUED).order_by("pk"):
        end_unanswered(assignment, Assignment.State.RETURNED)
    issued.filter(state=Assignment.State.EXPIRED).update(state=Assignment.State.RETURNED)
