"""Prompt files: `prompt_id, text or turns, category` as CSV or JSON, or plain text with one prompt per line.

Files of MT-bench, AlpacaEval and OpenAI (messages) are read as well.

The report lists the result for every row: added, unchanged, or refused with a reason. No text is truncated.
"""

import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import Organisation, User
from evalsite.core.audit import audit_record
from evalsite.core.column_choice import ColumnsUnclear
from evalsite.core.confusable_names import hidden_sign, name_check
from evalsite.core.dataset_rows import PROMPT_COLUMNS, prompts_converted
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.core.number_format import whole
from evalsite.core.row_files import (
    LONGEST_CELL,
    FileRow,
    FileRows,
    column_list,
    csv_text,
    identifier,
    rows_read,
    rows_refuse,
    unstorable,
)
from evalsite.prompts.models import Prompt, PromptSet
from evalsite.prompts.services import NewPrompt, check_turns, prompts_add

Categorise = Callable[[Sequence[NewPrompt]], Sequence[str]]

KNOWN = {"prompt_id", "text", "turns", "category"}
LONGEST_KEY, LONGEST_CATEGORY, LONGEST_NAME = 200, 100, 200


@dataclass(frozen=True, slots=True)
class PromptRow:
    """A row of a prompt file. `fate` is "add", "same" (an identical prompt exists) or "refused"; `problem` says why."""

    line: int
    key: str
    text: str
    category: str
    fate: str
    problem: str
    prompt: NewPrompt | None


@dataclass(frozen=True, slots=True)
class PromptReport:
    """Result of a prompt file for a set. `passed_over` lists ignored columns."""

    form: str
    rows: tuple[PromptRow, ...]
    passed_over: tuple[str, ...]

    def count(self, fate: str) -> int:
        return Counter(row.fate for row in self.rows)[fate]


def prompts_csv(prompt_set: PromptSet) -> Iterator[str]:
    """Yield the prompts of a set as a CSV file that `prompts_import` reads. Prompts without a text are left out."""
    yield csv_text([["prompt_id", "text", "turns", "category"]])
    for prompt in _written(prompt_set):
        turns = prompt.turns or []
        alone = len(turns) == 1
        more = "" if alone else json.dumps(turns, ensure_ascii=False)
        yield csv_text([[prompt.key, turns[0]["text"] if alone else "", more, prompt.category]])


def prompts_jsonl(prompt_set: PromptSet) -> Iterator[str]:
    """Yield the prompts of a set as JSON lines that `prompts_import` reads."""
    for prompt in _written(prompt_set):
        turns = prompt.turns or []
        text = {"text": turns[0]["text"]} if len(turns) == 1 else {"turns": turns}
        row = {"prompt_id": prompt.key, **text, "category": prompt.category}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def _written(prompt_set: PromptSet) -> Iterator[Prompt]:
    return prompt_set.prompts.filter(corrected_by__isnull=True, turns__isnull=False).order_by("pk").iterator()


def prompts_preview(*, prompt_set: PromptSet | None, content: bytes, name: str = "") -> PromptReport:
    """Return the result for each row without writing. Raises InvalidInput for an unreadable file."""
    reading = prompts_converted(rows_read(content, name))
    if reading.form != "text":
        _check_columns(reading)
    there = (
        {row[0]: row[1:] for row in prompt_set.prompts.values_list("key", "turns", "category")} if prompt_set else {}
    )
    seen: dict[str, int] = {}
    rows = []
    for number, row in enumerate(reading.rows, start=1):
        cells = {**row.cells, "prompt_id": f"p{number:03}"} if reading.form == "text" else row.cells
        rows.append(_checked(FileRow(row.line, cells, row.problem), there, seen))
    passed_over = tuple(name for name in reading.columns if name not in KNOWN)
    return PromptReport(reading.form, tuple(rows), passed_over)


def _check_columns(reading: FileRows) -> None:
    hint = _hint(reading.columns)
    if "prompt_id" not in reading.columns:
        message, field = _("There is no column prompt_id."), "prompt_id"
    elif not {"text", "turns"} & set(reading.columns):
        message, field = _("There is neither a column text nor one turns."), "text"
    else:
        return
    raise ColumnsUnclear(message, hint=hint, field=field, reading=reading, synonyms=PROMPT_COLUMNS)


def _hint(columns: Sequence[str]) -> str:
    there = column_list(columns)
    if not there:
        return _("A prompt file has prompt_id, text or turns, category; this one has none.")
    return _("A prompt file has prompt_id, text or turns, category; this one has %(columns)s.") % {"columns": there}


def _checked(row: FileRow, there: Mapping[str, Any], seen: dict[str, int]) -> PromptRow:
    try:
        new = _new(row)
        if new.key in seen:
            raise InvalidInput(_("line %(seen)s has the same prompt_id") % {"seen": seen[new.key]})
    except InvalidInput as error:
        key = str(row.cells.get("prompt_id", ""))[:LONGEST_KEY]
        return PromptRow(row.line, key, "", "", "refused", error.message, None)
    seen[new.key] = row.line
    text = (new.turns or [{"text": ""}])[-1]["text"]
    fate, problem = "add", ""
    if new.key in there:
        problem = _difference(new, *there[new.key])
        fate = "refused" if problem else "same"
    return PromptRow(row.line, new.key, text, new.category, fate, problem, new if fate == "add" else None)


def _difference(new: NewPrompt, turns: Any, category: str) -> str:
    """Return how a row differs from the set's prompt of the same id. A missing category is no difference."""
    if turns != [dict(turn) for turn in new.turns or []]:
        return _("the set has another text under this prompt_id; prompts never change")
    if new.category and new.category != category:
        return _("the set has this prompt in another category (%(category)s); prompts never change") % {
            "category": category or "-"
        }
    return ""


def _new(row: FileRow) -> NewPrompt:
    if row.problem:
        raise InvalidInput(row.problem)
    key, category = (_string(row, name).strip() for name in ("prompt_id", "category"))
    if not key:
        raise InvalidInput(_("it has no prompt_id"))
    if len(key) > LONGEST_KEY or len(category) > LONGEST_CATEGORY:
        raise InvalidInput(
            _("its prompt_id or category is longer than %(longest_key)s or %(longest_category)s characters")
            % {"longest_key": LONGEST_KEY, "longest_category": LONGEST_CATEGORY}
        )
    for cell in (key, category):
        if sign := hidden_sign(cell):
            raise InvalidInput(_("its prompt_id or category has a character that cannot be seen: %s") % sign)
    new = NewPrompt(key, _turns(row), category)
    check_turns(new)
    return new


def _turns(row: FileRow) -> list[dict[str, str]]:
    turns, text = row.cells.get("turns"), row.cells.get("text")
    if turns and text:
        raise InvalidInput(_("it has both a text and turns"))
    if not turns:
        return [{"speaker": "user", "text": _string(row, "text")}]
    try:
        value = json.loads(turns) if isinstance(turns, str) else turns
        return [{"speaker": _plain(turn["speaker"]), "text": _plain(turn["text"])} for turn in value]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise InvalidInput(_('its turns are not a list of {"speaker": "user" or "chatbot", "text": "..."}')) from None


def _plain(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _string(row: FileRow, name: str) -> str:
    value = identifier(row.cells.get(name)) if name == "prompt_id" else row.cells.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidInput(_("its %(name)s is not a text") % {"name": name})
    if len(value) > LONGEST_CELL:
        raise InvalidInput(
            _("its %(name)s is longer than %(longest_cell)s characters")
            % {"name": name, "longest_cell": whole(LONGEST_CELL)}
        )
    return value


def prompts_import(
    *,
    prompt_set: PromptSet,
    content: bytes,
    name: str = "",
    by: User | None = None,
    told: Sequence[uuid.UUID] = (),
    categorise: Categorise | None = None,
) -> PromptReport:
    """Add the valid rows of a file to a set, and report the result for every row. Existing prompts stay unchanged.

    The import is logged for the set and for each subject in `told` (public ids). `categorise` gives new prompts without
    a category one; "" leaves them without.
    """
    with write_transaction():
        PromptSet.objects.select_for_update(no_key=True).get(pk=prompt_set.pk)  # of two simultaneous files, one waits
        report = prompts_preview(prompt_set=prompt_set, content=content, name=name)
        new = [row.prompt for row in report.rows if row.prompt is not None]
        if categorise is not None:
            new = _categorised(new, categorise)
        before = prompt_set.prompts.filter(corrected_by__isnull=True).count()
        prompts_add(prompt_set=prompt_set, prompts=new, origin=Prompt.Origin.AUTHORED)
        was, now = {"prompts": before}, {"prompts": before + len(new)}
        for subject in (prompt_set.public_id, *told) if new else ():
            audit_record(act="add_prompts", subject=subject, by=by, target=name[:LONGEST_NAME], before=was, after=now)
    return report


def _categorised(prompts: Sequence[NewPrompt], categorise: Categorise) -> list[NewPrompt]:
    found = iter(categorise([one for one in prompts if not one.category]))
    return [one if one.category else replace(one, category=next(found)) for one in prompts]


def prompt_set_preview(*, organisation: Organisation, set_name: str, content: bytes, name: str = "") -> PromptReport:
    """Return what `prompt_set_import` would do. Raises InvalidInput for an unreadable file or an invalid name of the
    set."""
    _check_name(set_name)
    prompt_set = PromptSet.objects.filter(organisation=organisation, name=set_name).first()
    return prompts_preview(prompt_set=prompt_set, content=content, name=name)


def prompt_set_import(
    *,
    organisation: Organisation,
    set_name: str,
    content: bytes,
    name: str = "",
    partly: bool = False,
    by: User | None = None,
    told: Sequence[uuid.UUID] = (),
    categorise: Categorise | None = None,
) -> tuple[PromptSet, PromptReport]:
    """Add the rows of a file to the organisation's set of this name. Creates the set if there is none.

    `told` and `categorise` are those of `prompts_import`.

    Raises RowsRefused, with nothing written, if a row is refused; with `partly`, only if no row is valid.
    """
    _check_name(set_name)
    with write_transaction():
        prompt_set, _made = PromptSet.objects.get_or_create(organisation=organisation, name=set_name)
        report = prompts_import(
            prompt_set=prompt_set, content=content, name=name, by=by, told=told, categorise=categorise
        )
        if not partly or report.count("refused") == len(report.rows):
            rows_refuse(report.rows)
    return prompt_set, report


def _check_name(set_name: str) -> None:
    if not set_name.strip() or len(set_name) > LONGEST_NAME or unstorable(set_name):
        raise InvalidInput(
            _("A prompt set's name has 1 to %(longest)s characters that can be kept.") % {"longest": LONGEST_NAME},
            field="set",
        )
    name_check(set_name, field="set")
