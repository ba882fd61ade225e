"""The log of what people did, and what the service did by itself: written in the transaction that does it."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from evalsite.core.models import AuditEntry


def audit_record(
    *,
    act: str,
    subject: uuid.UUID,
    by: Any = None,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
    target: str = "",
    reason: str = "",
) -> AuditEntry:
    """Add an entry about `subject` (a public id). `by`: the User who acted; None where the service did by itself.

    `before` and `after` hold what the act changed, as JSON; `target` names what in the subject it was done to: a person
    by their public id, because what is written here stays.
    """
    return AuditEntry.objects.create(
        act=act,
        subject=subject,
        actor=by.public_id if by is not None else None,
        target=target,
        before=dict(before or {}),
        after=dict(after or {}),
        reason=reason,
    )


def audit_of(subject: uuid.UUID) -> QuerySet[AuditEntry]:
    """What was done to this, newest first."""
    return AuditEntry.objects.filter(subject=subject).order_by("-pk")
