"""Judgments and skips as CSV and JSON lines. The first columns are Chatbot Arena's, so that its tools read them."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.core.row_files import csv_text
from evalsite.judgments.judgment_lists import Listed, ListedSkip, entrant_names
from evalsite.refits.known_ties import Tie, ties_of

CHUNK = 1000
WINNERS = {"A": "model_a", "B": "model_b", "tie": "tie", "both_bad": "both_bad"}
Page = Callable[[uuid.UUID | None], list[Listed]]  # the rows after this one
SkipPage = Callable[[uuid.UUID | None], list[ListedSkip]]
WriteSkips = Callable[[SkipPage, Mapping[int | None, str]], Iterator[str]]
Write = Callable[[Page, Mapping[int | None, str]], Iterator[str]]


def row_of(row: Listed, names: Mapping[int | None, str]) -> dict[str, Any]:
    """Return a vote by the column names of Chatbot Arena, then by ours. An empty cell or null means: not known."""
    arena = {
        "model_a": names[row.first],
        "model_b": names[row.second],
        "winner": WINNERS[row.choice],
        "prompt_id": row.prompt,
        "category": row.category,
        "judge": str(row.annotator) if row.annotator else None,
        "tstamp": row.answered_at.isoformat() if row.answered_at else None,
        "a_first": 1 if row.order_known else None,
    }
    return arena | _own_columns(row)


def _own_columns(row: Listed) -> dict[str, Any]:
    """Return the columns that Chatbot Arena does not have."""
    return {
        "aspect": row.aspect,
        "judge_kind": row.annotator_kind,
        "client_ms": row.client_ms,
        "late": row.late,
        "counted": row.counted,
        "recorded_at": row.recorded_at.isoformat(),
        "purpose": row.purpose,
        "policy": row.policy,
        "probability": row.probability,
        "judgment_id": str(row.judgment),
        "supersedes": str(row.supersedes) if row.supersedes else None,
        "over_quota": row.over_quota,
        "reasons": list(row.reasons),
        "comment": row.comment,
    }


COLUMNS = (
    *("model_a", "model_b", "winner", "prompt_id", "category", "judge", "tstamp", "a_first", "aspect", "judge_kind"),
    *("client_ms", "late", "counted", "recorded_at", "purpose", "policy", "probability", "judgment_id", "supersedes"),
    *("over_quota", "reasons", "comment"),
)
SKIP_COLUMNS = (
    *("model_a", "model_b", "prompt_id", "category", "judge", "judge_kind", "reason", "note", "purpose", "tstamp"),
    "assignment_id",
)


def skip_of(row: ListedSkip, names: Mapping[int | None, str]) -> dict[str, Any]:
    """Return a skip by the names of the columns of judgments, as far as it has them."""
    return {
        "model_a": names[row.first],
        "model_b": names[row.second],
        "prompt_id": row.prompt,
        "category": row.category,
        "judge": str(row.annotator) if row.annotator else None,
        "judge_kind": row.annotator_kind,
        "reason": row.reason,
        "note": row.note,
        "purpose": row.purpose,
        "tstamp": row.skipped_at.isoformat(),
        "assignment_id": str(row.assignment),
    }


def tie_of(tie: Tie, names: Mapping[int, str], prompts: Mapping[int, tuple[str, str]]) -> dict[str, Any]:
    """Return a known tie. `rank` reads it, `replay` leaves it out. prompts: id and category by key."""
    number, first, second = tie
    prompt_id, category = prompts[number]
    about = {"prompt_id": prompt_id, "category": category, "note": "same_output"}
    return {"model_a": names[first], "model_b": names[second], "winner": "tie", **about}


def ties_as_jsonl(campaign: Campaign) -> Iterator[str]:
    """Yield the campaign's known ties, one per line."""
    of_entrant = entrant_names(campaign)
    names = {version: of_entrant[entrant] for entrant, version in campaign.entrants.values_list("pk", "version_id")}
    rows = campaign.prompt_set.prompts.values_list("pk", "key", "category")
    prompts = {number: (key, category) for number, key, category in rows}
    for tie in ties_of(campaign):
        yield json.dumps(tie_of(tie, names, prompts), ensure_ascii=False) + "\n"


def pages(page: Page) -> Iterator[list[Listed]]:
    """Yield page after page, each by a short query: a slow reader holds neither a transaction nor a cursor."""
    after: uuid.UUID | None = None
    while rows := page(after):
        yield rows
        after = rows[-1].judgment


def as_jsonl(page: Page, names: Mapping[int | None, str]) -> Iterator[str]:
    for rows in pages(page):
        yield "".join(json.dumps(row_of(row, names), ensure_ascii=False) + "\n" for row in rows)


def as_csv(page: Page, names: Mapping[int | None, str]) -> Iterator[str]:
    """Yield CSV by RFC 4180. Text that a spreadsheet would compute gets an apostrophe first; JSON lines have it raw."""
    yield ",".join(COLUMNS) + "\r\n"
    for rows in pages(page):
        found = (row_of(row, names) for row in rows)
        yield csv_text([_cell(row[name]) for name in COLUMNS] for row in found)


def _cell(value: Any) -> Any:
    return "; ".join(value) if isinstance(value, list) else value


def skips_as_jsonl(page: SkipPage, names: Mapping[int | None, str]) -> Iterator[str]:
    after: uuid.UUID | None = None
    while rows := page(after):
        yield "".join(json.dumps(skip_of(row, names), ensure_ascii=False) + "\n" for row in rows)
        after = rows[-1].assignment


def skips_as_csv(page: SkipPage, names: Mapping[int | None, str]) -> Iterator[str]:
    """Yield CSV as `as_csv` does."""
    yield ",".join(SKIP_COLUMNS) + "\r\n"
    after: uuid.UUID | None = None
    while rows := page(after):
        found = (skip_of(row, names) for row in rows)
        yield csv_text([_cell(row[name]) for name in SKIP_COLUMNS] for row in found)
        after = rows[-1].assignment
