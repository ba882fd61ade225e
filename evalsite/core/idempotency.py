"""Idempotent requests by the Idempotency-Key header.

The row of the key is written in the transaction of the work itself: both exist or neither does. A failed request can
therefore be repeated under the same key. Of two simultaneous requests, the second waits and gets the first one's
response.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.models import IdempotencyKey

KEPT = timedelta(hours=24)
LONGEST_KEY = 255


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """A response to a request. `replayed` means that it is an earlier response and nothing was done now."""

    status: int
    body: dict[str, Any]
    replayed: bool = False


def once(*, principal: str, key: str, sha256: str, act: Callable[[], StoredAnswer]) -> StoredAnswer:
    """Run `act`, or return the stored response if this principal has used the key before.

    Raises InvalidInput for an invalid key, and Conflict if the key was used for another request.
    """
    if not 1 <= len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"An Idempotency-Key is 1 to {LONGEST_KEY} printable ASCII characters.",
            hint="Use a new UUID for each request.",
            field="Idempotency-Key",
        )
    with write_transaction():
        row = _key_insert(principal, key, sha256)
        if row is None:
            return _stored_answer(principal, key, sha256)
        outcome = act()
        row.status, row.body = outcome.status, json.dumps(outcome.body)
        row.save(update_fields=["status", "body"])
    return outcome


def _key_insert(principal: str, key: str, sha256: str) -> IdempotencyKey | None:
    """Insert the row of the key; return None if the key was used before.

    The second of two simultaneous requests waits here until the first one ends.
    """
    taken = IdempotencyKey.objects.raw(
        "INSERT INTO core_idempotencykey (principal, key, sha256, status, body, created_at) "
        "VALUES (%s, %s, %s, 0, '', %s) ON CONFLICT DO NOTHING RETURNING *",
        [principal, key, sha256, timezone.now()],
    )
    return next(iter(taken), None)


def _stored_answer(principal: str, key: str, sha256: str) -> StoredAnswer:
    row = IdempotencyKey.objects.get(principal=principal, key=key)
    if row.sha256 != sha256:
        raise Conflict(
            "This Idempotency-Key was used for another request.",
            hint="Use a new key for each new request.",
            field="Idempotency-Key",
            code="idempotency_key_reused",
        )
    return StoredAnswer(row.status, json.loads(row.body), replayed=True)


def answers_rename(name: str, instead: str) -> None:
    """Replace the name of an organisation in the stored responses."""
    before, after = (f'"organisation": {json.dumps(one)}' for one in (name, instead))
    for row in IdempotencyKey.objects.filter(body__contains=before):
        IdempotencyKey.objects.filter(pk=row.pk).update(body=row.body.replace(before, after))


def expired_keys_delete() -> None:
    """Delete expired keys: nobody repeats a request a day later."""
    old = IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEPT)
    if old.exists():  # checked without a lock: an idle sweep must not take the write lock
        with write_transaction():
            IdempotencyKey.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:1000])).delete()
