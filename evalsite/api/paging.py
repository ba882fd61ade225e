"""Lists page by page. A cursor is the public id of the last row that was sent: it tells nothing about their number."""

import uuid
from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from evalsite.api.serializers import QueryIntegerField, StrictSerializer, StrictUUIDField
from evalsite.core.errors import InvalidInput

MOST = 500


class PageSerializer(StrictSerializer):
    """Query of a list."""

    cursor = StrictUUIDField(default=None, help_text="`next` of the page before; absent for the first page")
    limit = QueryIntegerField(min_value=1, max_value=MOST, default=100, help_text="rows of a page")


def page_of(
    rows: QuerySet[Any], *, cursor: uuid.UUID | None, limit: int, present: Callable[[Any], dict[str, Any]]
) -> dict[str, Any]:
    """One page of rows with public ids, in the order of their keys: {"results", "next"}."""
    rows = rows.order_by("pk")
    if cursor is not None:
        last = rows.filter(public_id=cursor).values_list("pk", flat=True).first()
        if last is None:
            raise InvalidInput("This list has no such cursor.", hint="Begin without one.", field="cursor")
        rows = rows.filter(pk__gt=last)
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return {"results": [present(row) for row in shown], "next": str(shown[-1].public_id) if found[limit:] else None}
