"""Columns of a file that a person has to choose, because one is missing or several can be meant.

A choice is applied to the kept file itself: its columns get our names. So every later reading is the usual one.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import FileRows, csv_text, rows_read, undefused

ROWS_FOR_GUESS = 50
MOST_OFFERED = 200


class ColumnsUnclear(InvalidInput):
    """A needed column of a file is missing, or several columns can be meant.

    form: the kind of the file. columns: those to choose from. guess: the probable column of each of our names.
    """

    def __init__(
        self, message: str, *, hint: str, field: str, reading: FileRows, synonyms: Mapping[str, tuple[str, ...]]
    ) -> None:
        super().__init__(message, hint=hint, field=field)
        self.form = reading.form
        self.columns = tuple(name for name in reading.columns if name)[:MOST_OFFERED]
        self.guess = _guess(reading, self.columns, synonyms) if self.columns else {}


def _guess(reading: FileRows, columns: Sequence[str], synonyms: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    """Return a column for each of our names, by its own name or else by its first values. No column has two names."""
    found: dict[str, str] = {}
    for ours, others in synonyms.items():
        free = [name for name in columns if name not in found.values()]
        named = [name for name in free if name == ours or _plain(name) in others]
        partly = [name for name in free if any(len(other) > 2 and other in _plain(name) for other in others)]
        if named or partly:
            found[ours] = (named or partly)[0]
    rows = [row.cells for row in reading.rows[:ROWS_FOR_GUESS] if not row.problem]
    lengths = {name: sum(len(str(row.get(name, ""))) for row in rows) for name in columns}
    if "prompt_id" in synonyms and "prompt_id" not in found:
        free = [name for name in columns if name not in found.values() and _all_differ(name, rows)]
        if free:
            found["prompt_id"] = min(free, key=lengths.__getitem__)
    for ours in {"text", "reply"} & synonyms.keys() - found.keys() if "turns" not in found else ():
        free = [name for name in columns if name not in found.values()]
        if free:
            found[ours] = max(free, key=lengths.__getitem__)
    return found


def _all_differ(name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = [str(row.get(name, "")) for row in rows]
    return "" not in values and len(set(values)) == len(values)


def _plain(name: str) -> str:
    """Return a column's name without case, blanks and separators."""
    return "".join(name.casefold().replace("_", " ").replace("-", " ").split())


def columns_named(content: bytes, name: str, chosen: Mapping[str, str], needed: Sequence[set[str]]) -> bytes:
    """Return the file with our names of the chosen columns.

    chosen: the column of the file for each of our names; empty for none.
    needed: of each of these groups, one name is needed.

    Raises InvalidInput for a column that the file does not have, one that is chosen twice, or one that is missing.
    """
    reading = rows_read(content, name)
    wanted = {ours: column for ours, column in chosen.items() if column}
    _check(wanted, reading, needed)
    names = {column: column for column in reading.columns}
    for ours, column in wanted.items():
        if ours in names and ours != column:
            names[ours] = _unused(ours, names)
    names |= {column: ours for ours, column in wanted.items()}
    return _csv_renamed(content, names) if reading.form == "csv" else _json_renamed(content, reading, names)


def _check(wanted: Mapping[str, str], reading: FileRows, needed: Sequence[set[str]]) -> None:
    taken: dict[str, str] = {}
    for ours, column in wanted.items():
        if reading.form == "text" or column not in reading.columns:
            raise InvalidInput(
                _("The file has no column %(column)s.") % {"column": repr(column[:60])},
                hint=_("Choose one of its columns."),
                field=ours,
            )
        if column in taken:
            raise InvalidInput(
                _("The column %(column)s is chosen for both %(first)s and %(second)s.")
                % {"column": repr(column[:60]), "first": taken[column], "second": ours},
                hint=_("Choose a column of its own for each."),
                field=ours,
            )
        taken[column] = ours
    there = wanted.keys() | set(reading.columns) - taken.keys()
    for group in needed:
        if group.isdisjoint(there):
            ours = min(group)
            raise InvalidInput(
                _("No column is chosen for %(name)s.") % {"name": ours}, hint=_("Choose one."), field=ours
            )


def _unused(name: str, there: Mapping[str, str]) -> str:
    """Return a name for a column that has one of our names and is not meant."""
    number = 1
    while f"{name} ({number})" in there or f"{name} ({number})" in there.values():
        number += 1
    return f"{name} ({number})"


def _csv_renamed(content: bytes, names: Mapping[str, str]) -> bytes:
    """Rewrite the header, and leave everything behind it."""
    text = content.decode("utf-8-sig")
    lines = io.StringIO(text, newline="")
    reader = csv.reader(iter(lines.readline, ""), strict=True)
    header = next(reader)
    behind = text[lines.tell() :]
    renamed = [names.get(name.strip(), name.strip()) for name in header]
    blank = "\n" * (reader.line_num - 1 - sum(name.count("\n") for name in renamed))  # The lines keep their numbers.
    return (csv_text([[undefused(name) for name in renamed]], lineterminator="\n") + blank + behind).encode()


def _json_renamed(content: bytes, reading: FileRows, names: Mapping[str, str]) -> bytes:
    if reading.form == "json":
        value = json.loads(content.decode("utf-8-sig"))
        objects = value if isinstance(value, list) else next(one for one in value.values() if isinstance(one, list))
        return _json_text([_object_renamed(one, names) for one in objects])
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline="\n")
    return b"".join(_line_renamed(line, names) for line in lines)


def _line_renamed(line: str, names: Mapping[str, str]) -> bytes:
    """Return a JSON line under our names, or as it is if it holds no object: it keeps its number and its fault."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return line.encode()
    return _json_text(_object_renamed(value, names)) + b"\n"


def _object_renamed(value: Any, names: Mapping[str, str]) -> Any:
    return {names.get(name, name): cell for name, cell in value.items()} if isinstance(value, dict) else value


def _json_text(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # Half a character, which only an escape can write.
        return json.dumps(value).encode()
