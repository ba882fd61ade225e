"""Gold files in CSV or JSONL. The report lists the result for every row.

Columns: an id, a prompt (`prompt_id`, `text` or `turns`), two replies (`reply_a`, `reply_b`) or two chatbots
(`chatbot_a`, `chatbot_b`), and `right`. Optional: `category` and `explanation`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.gold import GoldBook, NewGold, gold_add
from evalsite.campaigns.models import Campaign, GoldItem
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import FileRow, identifier, rows_read

COLUMNS = ("id", "prompt_id", "text", "turns", "category", "reply_a", "reply_b", "chatbot_a", "chatbot_b", "right")
KNOWN = {*COLUMNS, "explanation"}


@dataclass(frozen=True, slots=True)
class GoldRow:
    """A row of a gold file. `fate` is "add", "same" (an identical item exists) or "refused"; `problem` says why."""

    line: int
    key: str
    text: str
    right: str
    fate: str
    problem: str
    item: NewGold | None


@dataclass(frozen=True, slots=True)
class GoldReport:
    """Result of a gold file. `passed_over` lists ignored columns."""

    rows: tuple[GoldRow, ...]
    passed_over: tuple[str, ...]

    def count(self, fate: str) -> int:
        return Counter(row.fate for row in self.rows)[fate]


def gold_preview(*, campaign: Campaign, content: bytes, name: str = "") -> GoldReport:
    """Return the result for each row without writing. Raises InvalidInput for an unreadable file."""
    reading = rows_read(content, name)
    if reading.form == "text" or "right" not in reading.columns:
        there = ", ".join(reading.columns[:10])
        raise InvalidInput(
            _("There is no column right."),
            hint=_("A gold file has %(columns)s; this one has %(there)s.")
            % {"columns": ", ".join(COLUMNS), "there": there},
            field="right",
        )
    book = GoldBook.of(campaign)
    seen: dict[str, int] = {}
    rows = tuple(_checked(row, number, book, seen) for number, row in enumerate(reading.rows, start=1))
    return GoldReport(rows, tuple(name for name in reading.columns if name not in KNOWN))


def gold_import(*, campaign: Campaign, content: bytes, name: str = "", by: User | None = None) -> GoldReport:
    """Add the valid rows, and report the result for every row."""
    with write_transaction():
        report = gold_preview(campaign=campaign, content=content, name=name)
        new = [row.item for row in report.rows if row.item is not None and row.fate == "add"]
        gold_add(campaign=campaign, items=new, by=by)
    return report


def _checked(row: FileRow, number: int, book: GoldBook, seen: dict[str, int]) -> GoldRow:
    key = str(identifier(row.cells.get("id", "")) or f"g{number:03}")[:200]
    try:
        if row.problem:
            raise InvalidInput(row.problem)
        new = gold_from(row.cells, key)
        if key in seen:
            raise InvalidInput(_("line %(seen)s has the same id") % {"seen": seen[key]})
        seen[key] = row.line
        if key in book.there and _is_same(new, book.there[key]):
            return GoldRow(row.line, key, _prompt_text(new), "|".join(new.right), "same", "", None)
        book.resolve(new)
    except InvalidInput as error:
        return GoldRow(row.line, key, "", "", "refused", error.message, None)
    return GoldRow(row.line, key, _prompt_text(new), "|".join(new.right), "add", "", new)


def gold_from(cells: Mapping[str, Any], key: str) -> NewGold:
    """Parse a row's cells, or an object of an API call or a campaign file. Raises InvalidInput."""
    words = {name: _string(cells, name) for name in KNOWN - {"id", "turns", "right"}}
    return NewGold(
        key=key,
        right=_right(cells.get("right")),
        prompt=words["prompt_id"].strip(),
        turns=_turns(cells.get("turns"), words["text"]),
        category=words["category"].strip(),
        texts=_both_or_none(words, "reply"),
        chatbots=_both_or_none(words, "chatbot"),
        explanation=words["explanation"].strip(),
    )


def _string(cells: Mapping[str, Any], name: str) -> str:
    value = identifier(cells.get(name))
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(_("its %(name)s is not a text") % {"name": name}, field=name)
    return value


def _right(value: Any) -> tuple[str, ...]:
    parts = value.split("|") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise InvalidInput(_("`right` must be a choice, or several choices separated by |."), field="right")
    return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))


def _turns(turns: Any, text: str) -> list[dict[str, str]] | None:
    if turns and text:
        raise InvalidInput(_("it has both a text and turns"), field="turns")
    if not turns:
        return [{"speaker": "user", "text": text}] if text.strip() else None
    try:
        value = json.loads(turns) if isinstance(turns, str) else turns
        return [{"speaker": _plain(turn["speaker"]), "text": _plain(turn["text"])} for turn in value]
    except (ValueError, TypeError, KeyError, RecursionError):
        problem = _('its turns are not a list of {"speaker": "user" or "chatbot", "text": "..."}')
        raise InvalidInput(problem, field="turns") from None


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _both_or_none(words: Mapping[str, str], name: str) -> tuple[str, str] | None:
    """Return both replies, or both chatbots; None if neither is given. A missing one of two is reported later."""
    a, b = words[f"{name}_a"], words[f"{name}_b"]
    if not (a or b):
        return None
    return (a, b) if name == "reply" else (a.strip(), b.strip())


def _prompt_text(new: NewGold) -> str:
    return new.turns[-1]["text"] if new.turns else new.prompt


def _is_same(new: NewGold, item: GoldItem) -> bool:
    """Return whether an item is identical. An item that compares chatbots is given under a new id."""
    prompt = item.prompt.turns == [dict(turn) for turn in new.turns] if new.turns else item.prompt.key == new.prompt
    return prompt and new.texts == (item.text_a, item.text_b) and set(new.right) == set(item.right)
