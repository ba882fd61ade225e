"""Uploaded or pasted row files: CSV with a header, JSONL, or plain text with one row per line.

Rows are read and counted one by one. Nothing is guessed: an invalid row is refused with its line number.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from evalsite.core.errors import InvalidInput, TooLarge
from evalsite.core.number_format import whole

MOST_BYTES = 20_000_000
MOST_ROWS = 200_000
MOST_LINES = 10 * MOST_ROWS  # includes blank lines and lines within a CSV cell
MOST_CELLS, MOST_COLUMNS = 3_000_000, 200
PIECE = 1_000_000
LONGEST_CELL = 200_000  # characters; longer than any reply that a person would read
CSV_PROBLEMS = (  # error texts of Python's csv module
    gettext_noop("unexpected end of data"),
    gettext_noop("',' expected after '\"'"),
)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


# Prefixes of spreadsheet formulas, also full-width ones for East Asian versions. Some follow blanks.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")


def defused(value: Any) -> Any:
    """Prefix a cell that a spreadsheet would compute with an apostrophe. `undefused` takes it away."""
    return f"'{value}" if isinstance(value, str) and _is_computed(value) else value


def undefused(value: str) -> str:
    """Return the text that `defused` was given."""
    return value[1:] if value.startswith("'") and _is_computed(value) else value


def _is_computed(text: str) -> bool:
    """Whether a spreadsheet would compute the text, apart from apostrophes before it.

    One that has an apostrophe by itself gets another one, so that every text can be restored.
    """
    text = text.lstrip("'")
    return text.startswith(FORMULA) or text.lstrip().startswith(FORMULA)


def csv_text(rows: Iterable[Iterable[Any]], *, lineterminator: str = "\r\n") -> str:
    """Return rows as CSV (RFC 4180). Every text cell is defused: all CSV output comes from here."""
    text = io.StringIO()
    csv.writer(text, lineterminator=lineterminator).writerows([defused(cell) for cell in row] for row in rows)
    return text.getvalue()


def identifier(value: Any) -> Any:
    """Return a number as identifier text, without a fraction if it is whole. Return other values unchanged."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row with the number of its first line (from 1).

    `problem` is the reason why it is unusable. `cells` holds the readable cells.
    """

    line: int
    cells: Mapping[str, Any]
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of a file, and its column names if it has any."""

    form: str
    columns: tuple[str, ...]
    rows: tuple[FileRow, ...]


class ReportRow(Protocol):
    """A row of an import report: the result, and the reason of a refusal."""

    @property
    def line(self) -> int: ...

    @property
    def key(self) -> str: ...

    @property
    def fate(self) -> str: ...

    @property
    def problem(self) -> str: ...


class RowsRefused(InvalidInput):
    """Some rows of a file are invalid, so none was imported. `rows` lists the invalid ones with their problems."""

    code = "rows_refused"

    def __init__(self, rows: Sequence[ReportRow]) -> None:
        count = len(rows)
        said = ngettext("%(n)s row is refused; nothing was added.", "%(n)s rows are refused; nothing was added.", count)
        super().__init__(said % {"n": count}, hint=_("Mend them, or ask for the others alone."), field="file")
        self.rows = tuple(rows)


def rows_refuse(rows: Iterable[ReportRow]) -> None:
    """Raise RowsRefused if any row is refused."""
    refused = [row for row in rows if row.fate == "refused"]
    if refused:
        raise RowsRefused(refused)


def column_list(columns: Sequence[str]) -> str:
    """Return the first column names of a file for a message, shortened."""
    return ", ".join(name[:60] for name in columns[:10])


def rows_read(content: bytes, name: str = "") -> FileRows:
    """Return the rows of a file. Its extension determines the format; for pasted text, its first characters do.

    Raises InvalidInput for binary content or no rows, and TooLarge beyond MOST_BYTES or MOST_ROWS.
    """
    if len(content) > MOST_BYTES:
        raise TooLarge(
            _("The file is longer than %(megabytes)s MB.") % {"megabytes": MOST_BYTES // 1_000_000},
            hint=_("Split it."),
            field="file",
        )
    _check_text(content)
    form = _form(content, name)
    reading = _READERS[form](content)
    if not reading.rows:
        raise InvalidInput(_("The file has no rows."), hint=_("Check that it is the right one."), field="file")
    return reading


def _check_text(content: bytes) -> None:
    """Raise InvalidInput unless the content is UTF-8 without NUL. Decodes in pieces to avoid a copy of a large file."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(content) + 1, PIECE):
        pending = len(decoder.getstate()[0])
        try:
            decoder.decode(content[begin : begin + PIECE], final=begin + PIECE > len(content))
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, begin - pending + error.start) + 1
            raise InvalidInput(
                _("Line %(line)s is not UTF-8.") % {"line": line}, hint=_("Save the file as UTF-8."), field="file"
            ) from None
    if b"\0" in content:
        raise InvalidInput(_("The file holds NUL characters: it is no text."), field="file")


def _first_piece(content: bytes) -> str:
    return content[:PIECE].decode("utf-8-sig", "ignore")


def _form(content: bytes, name: str) -> str:
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    known = {"csv": "csv", "jsonl": "jsonl", "ndjson": "jsonl", "json": "json", "txt": "text"}
    if ending in known:
        return known[ending]
    if ending:
        raise InvalidInput(
            _("%(name)s ends in .%(ending)s.") % {"name": repr(name), "ending": ending},
            hint=_("Use .csv, .jsonl, .json or .txt."),
            field="file",
        )
    start = _first_piece(content).lstrip()
    if start.startswith("{"):
        return "jsonl"
    if start.startswith("[") and _is_array(content):
        return "json"
    return "csv" if "prompt_id" in start.split("\n", 1)[0] else "text"


def _text_stream(content: bytes, newline: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8-sig", newline=newline)


def _too_many_rows() -> TooLarge:
    return TooLarge(
        _("The file has more than %(most_rows)s rows.") % {"most_rows": whole(MOST_ROWS)},
        hint=_("Split it."),
        field="file",
    )


def _limit_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, including blank ones. Raises TooLarge beyond MOST_LINES."""
    for number, line in enumerate(lines, start=1):
        if number > MOST_LINES:
            raise _too_many_rows()
        yield line


def _collect(rows: Iterable[FileRow], columns: int = 1) -> tuple[FileRow, ...]:
    """Collect all rows, counting while reading. Raises TooLarge at the first row or cell beyond the limits."""
    found: list[FileRow] = []
    for row in rows:
        found.append(row)
        if len(found) > MOST_ROWS:
            raise _too_many_rows()
        if len(found) * columns > MOST_CELLS:
            raise _too_many_values()
    return tuple(found)


def _too_many_values() -> TooLarge:
    return TooLarge(
        _("The file has more than %(most)s values.") % {"most": whole(MOST_CELLS)}, hint=_("Split it."), field="file"
    )


def _csv(content: bytes) -> FileRows:
    _check_separator(re.split("[\r\n]", _first_piece(content), maxsplit=1)[0])
    reader = csv.DictReader(_limit_lines(_text_stream(content, "")), strict=True)
    csv.field_size_limit(max(csv.field_size_limit(), MOST_BYTES))  # longer cells are refused with their line number
    before = 0  # last line read so far: the reader's own number lags behind after an error

    def rows() -> Iterator[FileRow]:
        nonlocal before
        for cells in reader:
            yield _csv_row(before + 1, cells)
            before = reader.line_num

    try:
        if len(reader.fieldnames or ()) > MOST_COLUMNS:
            raise TooLarge(
                _("The file has more than %(most)s columns.") % {"most": MOST_COLUMNS},
                hint=_("Leave out those that are not needed."),
                field="file",
            )
        columns = tuple(name.strip() for name in reader.fieldnames or ())
        reader.fieldnames = list(columns)
        if len(set(columns)) < len(columns):
            raise InvalidInput(_("Two columns have the same name."), field="file")
        before = reader.line_num
        return FileRows("csv", columns, _collect(rows(), len(columns)))
    except csv.Error as error:
        raise InvalidInput(
            _("Line %(line_num)s is not CSV: %(error)s.") % {"line_num": before + 1, "error": _(str(error))},
            field="file",
        ) from None


def _check_separator(head: str) -> None:
    """Raise InvalidInput for a header without commas that contains another common separator."""
    if "," not in head and any(other in head for other in ";\t|"):
        raise InvalidInput(
            _("The columns are not separated by commas: %(head)s") % {"head": column_list([head.strip()])},
            hint=_("Save the file with commas between its columns."),
            field="file",
        )


def _csv_row(line: int, cells: Mapping[Any, Any]) -> FileRow:
    if None in cells:
        return FileRow(line, {}, _("it has more cells than the head"))
    if None in cells.values():
        return FileRow(line, {}, _("it has fewer cells than the head"))
    return FileRow(line, {name: undefused(cell) for name, cell in cells.items()})


def _jsonl(content: bytes) -> FileRows:
    if sum(content.count(sign) for sign in (b"{", b"[", b",")) > MOST_CELLS:  # each may become a value in memory
        raise _too_many_values()
    rows = _collect(_json_row(number, line) for number, line in _lines(content))
    names = dict.fromkeys(name for row in rows for name in row.cells)
    return FileRows("jsonl", tuple(names), rows)


def _is_array(content: bytes) -> bool:
    """Whether pasted text is a JSON array of objects, and not prompts that begin with a bracket."""
    return re.match(rb"\s*\[\s*\{\s*\"", content.removeprefix(codecs.BOM_UTF8)) is not None


def _json(content: bytes) -> FileRows:
    """Read an array of objects, which may be the only list of an object. The numbers are those of the objects."""
    if sum(content.count(sign) for sign in (b"{", b"[", b",")) > MOST_CELLS:
        raise _too_many_values()
    try:
        value = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise InvalidInput(
            _("The file is not JSON (line %(line)s).") % {"line": line}, hint=_("Is it complete?"), field="file"
        ) from None
    lists = [one for one in value.values() if isinstance(one, list)] if isinstance(value, dict) else [value]
    if len(lists) != 1 or not isinstance(lists[0], list):
        raise InvalidInput(_("The file is not one array of JSON objects."), field="file")
    rows = _collect(_object_row(number, one) for number, one in enumerate(lists[0], start=1))
    return FileRows("json", tuple(dict.fromkeys(name for row in rows for name in row.cells)), rows)


def _json_row(number: int, line: str) -> FileRow:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return FileRow(number, {}, _("it is not JSON"))
    return _object_row(number, value)


def _object_row(number: int, value: Any) -> FileRow:
    if not isinstance(value, dict):
        return FileRow(number, {}, _("it is not a JSON object"))
    found = {name: unstorable([name, cell]) for name, cell in value.items()}
    cells = {name: "" if found[name] else cell for name, cell in value.items() if not unstorable(name)}
    return FileRow(number, cells, next((_cell_problem(what, name) for name, what in found.items() if what), ""))


def _cell_problem(what: str, column: str) -> str:
    return _("%(what)s stands in its %(column)s") % {"what": what, "column": ascii(column)[1:-1]}


def unstorable(value: Any) -> str:
    """Return what makes a value impossible to store as text in our databases, else "". Searches lists and objects.

    JSON can escape both problems. A string can also hold more JSON: its reader must check again.
    """
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, str) and "\0" in one:
            return _("a NUL character")
        elif isinstance(one, str) and LONE_SURROGATE.search(one):
            return _("half a character (a lone surrogate)")
    return ""


def _plain(content: bytes) -> FileRows:
    return FileRows("text", ("text",), _collect(FileRow(number, {"text": line}) for number, line in _lines(content)))


def _lines(content: bytes) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_limit_lines(_text_stream(content, "\n")), start=1):
        if line.strip():
            yield number, line.strip()


_READERS = {"csv": _csv, "jsonl": _jsonl, "json": _json, "text": _plain}
