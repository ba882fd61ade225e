"""Audit log: the actions of people and of the service.

An entry is written in the transaction of the action itself.
"""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from evalsite.core.models import AuditEntry
from evalsite.core.reasons import StoredReason, as_stored
from scheduler.reasons import Reason


def audit_record(
    *,
    act: str,
    subject: uuid.UUID,
    by: Any = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    target: str = "",
    reason: str | Reason | StoredReason = "",
) -> AuditEntry:
    """Add an entry about `subject` (a public id).

    `by` is the User who acted; None means that the service acted on its own. `before` and `after` hold the changed
    values as JSON. `target` names the part of the subject that was changed. A person is named by public id, because
    entries are permanent.
    """
    kept = as_stored(reason)
    return AuditEntry.objects.create(
        act=act,
        subject=subject,
        actor=by.public_id if by is not None else None,
        target=target,
        before=dict(before or {}),
        after=dict(after or {}),
        reason=kept.text,
        reason_data=kept.data,
    )


def audit_of(subject: uuid.UUID) -> QuerySet[AuditEntry]:
    """Return the audit entries of a subject, newest first."""
    return AuditEntry.objects.filter(subject=subject).order_by("-pk")
