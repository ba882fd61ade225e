"""Queries that tell whether a public page is still current: one for the pages of a board, and one for the home page."""

import uuid
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import connection, models
from django.db.models import Exists, F, Func, IntegerField, OuterRef, QuerySet, Subquery

from evalsite.boards.models import Board, Decision, PublicLogEntry, Refit, Slice
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.campaigns.selectors import as_uuid, open_to_anybody
from evalsite.core.db import rows
from evalsite.core.models import AuditEntry
from evalsite.judgments.models import Batch, Judgment

ANY_SLUG, ANY_ID = "any-slug", uuid.UUID(int=0)  # Placeholders for the key in a statement that is compiled once.

# What lists of boards and campaigns show, of all campaigns together. Changes by owners have an audit entry.
_HOME = """
SELECT (SELECT MAX(id) FROM adaptive_refit), (SELECT MAX(id) FROM adaptive_decision),
  (SELECT MAX(id) FROM judgments_batch), (SELECT MAX(id) FROM campaigns_entrant), (SELECT MAX(id) FROM core_auditentry),
  (SELECT SUM(id) FROM adaptive_board_campaigns),
  (SELECT SUM(id) FROM campaigns_campaign WHERE visibility = 'public' AND state <> 'draft'),
  (SELECT SUM(id) FROM campaigns_campaign WHERE visibility = 'public' AND state IN ('pilot', 'running')),
  (SELECT SUM(size) FROM judgments_batch WHERE state = 'open'),
  EXISTS (SELECT 1 FROM accounts_user WHERE is_staff OR is_superuser)
"""

SETTINGS_COLUMNS = (
    "public_id",
    "slug",
    "name",
    "aspect__question",
    "default_of__public_id",
    "default_of__slug",
    "default_of__state",
    "default_of__stop_reason",
    "default_of__description",
    "default_of__visibility",
    "default_of__admission",
    "default_of__shows_prompts",
    "default_of__shows_replies",
    "default_of__releases_data",
    "default_of__licence",
    *(f"default_of__stopping__{name}" for name in ("target_se", "min_difference", "power", "alpha", "budget")),
)


@dataclass(frozen=True, slots=True)
class BoardVersion:
    """The version of a public board.

    While the version is equal, every page without a filter is equal.

    settings: what its owners publish about the board.
    content: ranking, judgments, filters, entrants, verified organisations, public log and the last audit entry. The
        audit entry is needed because the withdrawn entrants or a reason can change while the number stays the same.
    judgments_open: judgments of open batches. They change the numbers of a page, and no result.
    """

    settings: tuple[object, ...]
    content: tuple[object, ...]
    judgments_open: int = 0


def board_version_get(key: str) -> BoardVersion | None:
    """Return the version of the board at this address; None if it is missing or not public."""
    public_id = as_uuid(key)
    of_any, own = (ANY_SLUG, key) if public_id is None else (_as_value(ANY_ID), _as_value(public_id))
    statement, values = _statement(public_id is not None)
    found = rows(statement, [own if value == of_any else value for value in values])
    if not found:
        return None
    *before, judgments_open = found[0]
    return BoardVersion(tuple(before[: len(SETTINGS_COLUMNS)]), tuple(before[len(SETTINGS_COLUMNS) :]), judgments_open)


def home_version_get() -> BoardVersion:
    """Return the version of the home page for anonymous readers. Its one setting: whether there is an administrator."""
    *content, judgments_open, administered = rows(_HOME)[0]
    return BoardVersion((bool(administered),), tuple(content), judgments_open or 0)


def _as_value(public_id: uuid.UUID) -> Any:
    """Convert the ID to the value that the current database stores."""
    return models.UUIDField().get_db_prep_value(public_id, connection)


@cache
def _statement(by_link: bool) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL and its values.

    The result is cached because composing the query takes longer than running it, and every reader runs it.
    """
    statement, values = _version_rows(by_link).query.sql_with_params()
    return statement, tuple(values)


def _version_rows(by_link: bool) -> QuerySet[Any, Any]:
    at = {"public_id": ANY_ID} if by_link else {"slug": ANY_SLUG}
    campaigns = Campaign.objects.filter(boards=OuterRef("pk"))
    shut = campaigns.exclude(open_to_anybody(by_link=by_link))
    content = _content_columns()
    boards = Board.objects.filter(Exists(campaigns), ~Exists(shut), slice_of=None, **at)
    marked: QuerySet[Any, Any] = boards.annotate(**content).values_list(*SETTINGS_COLUMNS, *content)
    return marked


def _content_columns() -> dict[str, Subquery]:
    of_board, of_campaigns = {"board": OuterRef("pk")}, {"campaign__boards": OuterRef("pk")}
    entrants, slices = Entrant.objects.filter(**of_campaigns), Slice.objects.filter(**of_board)
    refits = Refit.objects.filter(snapshot__isnull=False, **of_board)
    withdrawn = entrants.filter(state=Entrant.State.WITHDRAWN)
    acts = AuditEntry.objects.filter(subject=OuterRef("default_of__public_id"))
    open_now = Judgment.objects.filter(batch__campaign__boards=OuterRef("pk"), batch__state=Batch.State.OPEN)
    return {
        "refit": Subquery(refits.order_by("-pk").values("pk")[:1]),
        "decision": _summed(Decision.objects.filter(snapshot__board=OuterRef("pk")), "MAX"),
        "batch": _summed(Batch.objects.filter(**of_campaigns), "MAX"),
        "entrants": _summed(entrants, "COUNT"),
        "withdrawn": _summed(withdrawn, "COUNT"),
        "withdrawn_which": _summed(withdrawn, "SUM"),
        "verified": _summed(entrants.filter(version__chatbot__organisation__verified_at__isnull=False), "SUM"),
        "act": Subquery(acts.order_by("-pk").values("pk")[:1]),
        "log": _summed(PublicLogEntry.objects.filter(**of_board), "MAX", of="number"),
        "slices_there": _summed(slices, "COUNT"),
        "slices_ranked": _summed(slices, "COUNT", of="own"),
        "slices_judgments": _summed(slices, "SUM", of="judgments"),
        "slices_chatbots": _summed(slices, "SUM", of="chatbots"),
        "slices_at": Subquery(slices.exclude(looked_at=None).order_by("-looked_at").values("looked_at")[:1]),
        "judgments_open": _summed(open_now, "COUNT"),
    }


def _summed(rows: QuerySet[Any], how: str, of: str = "pk") -> Subquery:
    """Aggregate all rows to one number.

    Uses a plain function, because a Django aggregate would group the rows.
    """
    number = Func(F(of), function=how, output_field=IntegerField())
    return Subquery(rows.order_by().annotate(_number=number).values("_number"))
