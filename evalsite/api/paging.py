"""Pages of lists. A cursor is the public id of the last row, so it does not reveal how many rows there are."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.db.models import QuerySet

from evalsite.core.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list. next: the cursor of the page after it, None on the last one."""

    results: Sequence[Any]
    next: uuid.UUID | None


def page_of(rows: QuerySet[Any], *, cursor: uuid.UUID | None, limit: int) -> Page:
    """Return one page of rows with public ids, in the order of their keys."""
    rows = rows.order_by("pk")
    if cursor is not None:
        last = rows.filter(public_id=cursor).values_list("pk", flat=True).first()
        if last is None:
            raise InvalidInput("This list has no such cursor.", hint="Begin without one.", field="cursor")
        rows = rows.filter(pk__gt=last)
    return page_cut(list(rows[: limit + 1]), limit, id_of=attrgetter("public_id"))


def page_cut(rows: Sequence[Any], limit: int, *, id_of: Callable[[Any], uuid.UUID]) -> Page:
    """Return the page of up to `limit` rows. One more row means that there is a next page."""
    return Page(rows[:limit], id_of(rows[limit - 1]) if rows[limit:] else None)
