"""The columns of a prompt or reply file that a person has to choose, as a form shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from evalsite.core.column_choice import ColumnsUnclear

PROMPT_CHOICES, REPLY_CHOICES = ("prompt_id", "text", "category"), ("prompt_id", "reply")
REPLIES_NEED = ({"prompt_id"}, {"reply"})
_LEAST_COLUMNS = 2  # A file with one column has nothing to choose from.
_KINDS = {"csv": "CSV", "jsonl": "JSON lines", "json": "JSON"}


class ColumnChoice:
    """Our names, their labels, and the best guess or what was chosen before; the columns to choose from."""

    def __init__(self, error: ColumnsUnclear, names: Sequence[str], given: Mapping[str, str] | None = None) -> None:
        labels = {
            "prompt_id": _("Name of the prompt (prompt_id)"),
            "text": _("Text of the prompt (text)"),
            "reply": _("Reply (reply)"),
            "category": _("Category, if there is one (category)"),
        }
        given = given or {}
        self.trouble = f"{error.message} {error.hint}".strip()
        self.looks_like = _KINDS.get(error.form, error.form)
        self.columns = error.columns
        self.chosen = [(name, labels[name], given.get(name, error.guess.get(name, ""))) for name in names]


def can_be_chosen(error: ColumnsUnclear) -> bool:
    return len(error.columns) >= _LEAST_COLUMNS
