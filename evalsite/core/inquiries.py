"""Inquiries: questions of a page that the worker answers, because it has the statistics. The page polls for the answer.

Equal arguments have equal answers. The arguments must therefore contain everything that the answer depends on.
"""

import hashlib
import json
import logging
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext

from evalsite.core import jobs
from evalsite.core.db import write_transaction
from evalsite.core.errors import NotFound, TouchstoneError
from evalsite.core.models import Inquiry, Upload
from evalsite.core.reasons import StoredReason, as_stored
from evalsite.core.throttle import admit_costly
from scheduler.reasons import Reason

log = logging.getLogger(__name__)

KIND = "inquiry"
SUPERSEDED = as_stored(Reason("question_replaced"))
KEPT = timedelta(days=1)
Answerer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
_answerers: dict[str, Answerer] = {}


def answers(kind: str) -> Callable[[Answerer], Answerer]:
    """Register the function that answers inquiries of this kind. It maps arguments to a JSON result.

    The person who asked sees the text of a TouchstoneError.
    """

    def register(answerer: Answerer) -> Answerer:
        _answerers[kind] = answerer
        return answerer

    return register


def inquiry_ask(
    *,
    kind: str,
    args: Mapping[str, Any],
    by: uuid.UUID | None = None,
    subject: uuid.UUID | None = None,
    topic: str = "",
) -> Inquiry:
    """Return the inquiry with these arguments about this subject: the existing one, or a new one.

    A failed inquiry is replaced. Each call makes sure that an unanswered inquiry has a queued or running job, even if
    an earlier job was lost. A new inquiry counts as a costly act of the person (`by`: their public id). It replaces
    their earlier inquiries on the same topic of the subject that no worker has begun.

    Raises TooMany.
    """
    asked = json.dumps(args, sort_keys=True) if subject is None else json.dumps([str(subject), args], sort_keys=True)
    sha256 = hashlib.sha256(asked.encode()).hexdigest()
    if by is not None and not Inquiry.objects.filter(kind=kind, sha256=sha256, trouble="").exists():
        admit_costly(what="question", who=by)
    given = {"args": dict(args), "subject": subject, "topic": topic}
    with write_transaction():
        Inquiry.objects.filter(kind=kind, sha256=sha256).exclude(trouble="").delete()
        inquiry, _ = Inquiry.objects.get_or_create(kind=kind, sha256=sha256, defaults={**given, "asked_by": by})
        if inquiry.asked_by != by:
            Inquiry.objects.filter(pk=inquiry.pk).update(asked_by=by)
        key = f"{KIND}:{inquiry.pk}"
        if inquiry.answered_at is None and not jobs.job_is_pending(key):
            jobs.job_enqueue(kind=KIND, key=key, args={"inquiry": inquiry.pk}, account=by)
        if by is not None and subject is not None:
            _supersede(inquiry, by)
    return inquiry


def _supersede(newer: Inquiry, by: uuid.UUID) -> None:
    """Drop this person's earlier inquiries on the same topic, unless a worker has begun them."""
    same = Inquiry.objects.filter(kind=newer.kind, subject=newer.subject, topic=newer.topic, asked_by=by)
    for number in same.filter(answered_at=None).exclude(pk=newer.pk).values_list("pk", flat=True):
        if jobs.job_drop(f"{KIND}:{number}", why=SUPERSEDED.text):
            Inquiry.objects.filter(pk=number).update(
                trouble=SUPERSEDED.text, trouble_data=SUPERSEDED.data, answered_at=timezone.now()
            )


def inquiry_get(*, kind: str, public_id: uuid.UUID, subject: uuid.UUID) -> Inquiry:
    """Return the inquiry about this subject. The caller has already checked read access to the subject.

    Raises NotFound, also for an inquiry about another subject. Old inquiries are deleted.
    """
    found = Inquiry.objects.filter(kind=kind, public_id=public_id, subject=subject).first()
    if found is None:
        raise NotFound(gettext("There is no such question any more."), hint=gettext("Ask it again."))
    return found


def out_of_time() -> StoredReason:
    """Return the stored reason of an inquiry that exceeded its time limit."""
    return as_stored(Reason("question_too_long", {"seconds": settings.INQUIRY_LIMIT_S}))


def _out_of_time(lease: jobs.Lease) -> None:
    """Record that the inquiry exceeded its time limit. The next request with the same arguments is a new inquiry."""
    trouble = out_of_time()
    Inquiry.objects.filter(pk=lease.args["inquiry"], answered_at=None).update(
        trouble=trouble.text, trouble_data=trouble.data, answered_at=timezone.now()
    )


@jobs.handles(KIND, limit_s=settings.INQUIRY_LIMIT_S, out_of_time=_out_of_time)
def answer(lease: jobs.Lease) -> None:
    """Compute the answer outside a transaction, then write it fenced by the lease."""
    inquiry = Inquiry.objects.filter(pk=lease.args["inquiry"], answered_at=None).first()
    if inquiry is None:
        return
    result, trouble = _compute_answer(inquiry)
    with write_transaction():
        lease.confirm()
        Inquiry.objects.filter(pk=inquiry.pk).update(
            result=result, trouble=trouble.text, trouble_data=trouble.data, answered_at=timezone.now()
        )


def _compute_answer(inquiry: Inquiry) -> tuple[Mapping[str, Any] | None, StoredReason]:
    try:
        return _answerers[inquiry.kind](inquiry.args), StoredReason("")
    except TouchstoneError as error:
        said = f"{error.message} {error.hint}".strip()
        return None, StoredReason(said, error.reason.as_json() if error.reason else None)
    except Exception:
        log.exception("inquiry %s", inquiry)
        return None, as_stored(Reason("not_worked_out"))


@jobs.sweeps
def expired_delete() -> None:
    """Delete inquiries and uploads after one day. The check takes no lock."""
    before = timezone.now() - KEPT
    for old in (Inquiry.objects.filter(asked_at__lt=before), Upload.objects.filter(created_at__lt=before)):
        if old.exists():
            with write_transaction():
                old.delete()
