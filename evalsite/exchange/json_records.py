"""Objects of JSON lines, of a JSON array, and of an array in an object, one at a time, as pairs of key and text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import NoReturn

import ijson

from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.file_opening import BUFFER, OpenedFile

MAX_DEPTH = 100  # Nesting depth of JSON. Deeper files are probably attacks.
NESTED = "(a list or an object)"
WRAPPERS = ("data", "rows", "records", "items", "votes", "battles", "judgments", "annotations", "results")

Pairs = list[tuple[str, str]]
_Events = Iterator[tuple[str, object]]

_SCALAR = rb'(?:"[^"\\]{0,200}"|-?[\d.eE+-]{1,40}|true|false|null)'
_WRAPPED = re.compile(
    rb'\s*\{\s*(?:"[^"\\]{1,100}"\s*:\s*'
    + _SCALAR
    + rb'\s*,\s*){0,20}"(?:'
    + "|".join(WRAPPERS).encode()
    + rb')"\s*:\s*\['
)


class Nested(str):
    """A list or an object in a cell: one fixed text, because no column uses it. `value` is for formats that do."""

    _raw: object

    def __new__(cls, raw: object) -> Nested:
        self = super().__new__(cls, NESTED)
        self._raw = raw
        return self

    @property
    def value(self) -> object:
        return _unpaired(self._raw, 1)


class _Pairs(list[tuple[str, object]]):
    """A JSON object as a list of pairs, so that duplicate keys are detected."""


def is_wrapped(head: bytes) -> bool:
    """Whether the file is one object whose first list, under one of WRAPPERS, holds the rows.

    A JSON line can look so as well, but another one follows it.
    """
    if not _WRAPPED.match(head):
        return False
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return True
    return not rest.lstrip().startswith(b"{")


def line_pairs(text: str) -> Pairs:
    """Return the object of one line. Raises FormatError."""
    try:
        value = json.loads(text, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=_Pairs)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise _bad_json(error, "Use one JSON object per line, or one array of objects.") from error
    if not isinstance(value, _Pairs):
        raise _not_an_object()
    return [(key, cell_text(item)) for key, item in value]


def array_items(source: OpenedFile) -> Iterator[Pairs]:
    """Yield the objects of the top-level array, one at a time."""
    events = _events(source)
    next(events, None)  # The bracket by which the format was detected.
    yield from _objects(events, source)
    for _ in events:  # Text behind the array is an error.
        pass


def wrapped_items(source: OpenedFile) -> Iterator[Pairs]:
    """Yield the objects of the first list in the top-level object, one at a time. Another list is ambiguous."""
    events = _events(source)
    next(events, None)
    found = key = ""
    for event, value in events:
        if event == "map_key":
            key = str(value)
        elif event == "start_array" and found:
            raise FormatError(
                f"holds two lists, {quoted(found)} and {quoted(key)}",
                code="ambiguous_layout",
                hint="Keep the one that holds the votes.",
            )
        elif event == "start_array":
            found = key
            yield from _objects(events, source)
        elif event == "start_map":
            _built(events, event, 1)


def _objects(events: _Events, source: OpenedFile) -> Iterator[Pairs]:
    for event, _ in events:
        if event == "end_array":
            return
        if event != "start_map":
            raise _not_an_object()
        yield _flat_object(events)
        source.record_done()


def _flat_object(events: _Events) -> Pairs:
    pairs: Pairs = []
    key = ""
    for event, value in events:
        if event == "end_map":
            break
        if event == "map_key":
            key = str(value)
        elif event.startswith("start"):
            pairs.append((key, Nested(_built(events, event, 1))))
        else:
            pairs.append((key, cell_text(value)))
    return pairs


def _built(events: _Events, start: str, depth: int) -> object:
    """Return the rest of a list or an object that has just begun."""
    if depth > MAX_DEPTH:
        raise FormatError(f"is nested deeper than {MAX_DEPTH}", code="bad_json", hint="Leave out what is not needed.")
    items: list[object] = []
    pairs: dict[str, object] = {}
    key = ""
    for event, value in events:
        if event.startswith("end"):
            break
        if event == "map_key":
            key = str(value)
            continue
        item = _built(events, event, depth + 1) if event.startswith("start") else value
        if start == "start_map":
            pairs[key] = item
        else:
            items.append(item)
    return pairs if start == "start_map" else items


def _unpaired(raw: object, depth: int) -> object:
    if depth > MAX_DEPTH:
        raise FormatError(f"is nested deeper than {MAX_DEPTH}", code="bad_json", hint="Leave out what is not needed.")
    if isinstance(raw, _Pairs):
        return {key: _unpaired(item, depth + 1) for key, item in raw}
    return [_unpaired(item, depth + 1) for item in raw] if isinstance(raw, list) else raw


def _events(source: OpenedFile) -> _Events:
    try:
        yield from ijson.basic_parse(source.stream, buf_size=BUFFER)
    except (ijson.JSONError, ValueError, ArithmeticError) as error:
        raise _bad_json(error, "The file begins as a JSON array of objects. NaN is not JSON: write null.") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bad_json(error: Exception, hint: str) -> FormatError:
    reason = (str(error).splitlines() or [type(error).__name__])[0].strip()
    return FormatError(f"is not valid JSON ({reason})", code="bad_json", hint=hint)


def _not_an_object() -> FormatError:
    return FormatError(
        "is not a JSON object",
        code="bad_json",
        hint='A vote looks like {"model_a": ..., "model_b": ..., "winner": ...}.',
    )


def cell_text(value: object) -> str:
    """Return a value as the text that CSV would have."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, Decimal)):
        return str(value)
    return Nested(value)
