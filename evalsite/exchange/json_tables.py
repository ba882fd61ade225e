"""JSON lines read many at a time, for files without a fault: anything unusual needs the reader of single rows."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, NoReturn

from evalsite.exchange.arrow_tables import Checked, NotPlain
from evalsite.exchange.file_opening import BUFFER, MAX_RECORD, OpenedFile

CHUNK = 500  # Lines in memory.

Row = dict[str, Any]


def json_rows(source: OpenedFile) -> Iterator[list[Row]]:
    """Yield the objects of the lines, many at a time. Raises NotPlain for anything unusual."""
    source.allow(4 * MAX_RECORD)
    text = io.TextIOWrapper(io.BufferedReader(Checked(source, b"\0"), BUFFER), "utf-8", newline="\n")
    while lines := list(islice(text, CHUNK)):
        if source.record_bytes > MAX_RECORD and any(len(line) > MAX_RECORD // 4 for line in lines):
            raise NotPlain  # Perhaps too long in bytes.
        source.record_done()
        if rows := [_row(line) for line in lines if line.strip()]:
            yield rows


def _row(line: str) -> Row:
    try:
        row = _DECODER.decode(line)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise NotPlain from error
    if not isinstance(row, dict):
        raise NotPlain
    return row


def _unique(pairs: list[tuple[str, Any]]) -> Row:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise NotPlain
    return row


def _refuse_constant(name: str) -> NoReturn:
    raise NotPlain


def _number(text: str) -> str:
    return str(Decimal(text))


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_number, parse_constant=_refuse_constant)
