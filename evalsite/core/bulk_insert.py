"""Insertion of many rows without an object for each: COPY on PostgreSQL, one prepared statement on SQLite.

For imports of a million rows. Constraints and foreign keys are checked as for any other row.
"""

import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import connection, models
from django.db.models import Field
from psycopg.sql import SQL, Identifier

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_NULL = "\\N"
CHUNK = 20_000  # Rows of one statement.


def rows_insert(
    model: type[models.Model], count: int, *, same: Mapping[str, Any] | None = None, **columns: Sequence[Any]
) -> list[int]:
    """Insert `count` rows and return their keys, in order. Must run in a transaction.

    same: values that all rows share, by attribute name (`campaign_id`).
    columns: one value for each row, by attribute name. Fields that are not named get their defaults.
    """
    keys: list[int] = []
    for begin in range(0, count, CHUNK):
        size = min(CHUNK, count - begin)
        part = {name: column[begin : begin + size] for name, column in columns.items()}
        keys += _chunk_insert(model, size, same or {}, part)
    return keys


def _chunk_insert(
    model: type[models.Model], count: int, same: Mapping[str, Any], columns: Mapping[str, Sequence[Any]]
) -> list[int]:
    keys = _keys(model, count)
    given: dict[str, Sequence[Any]] = {"id": keys, **columns}
    shared: dict[str, Any] = dict(same)
    for field in model._meta.concrete_fields:
        if field.attname in given or field.attname in shared:
            continue
        if field.default is uuid.uuid4:
            given[field.attname] = _random_ids(count)
        else:
            shared[field.attname] = field.get_default()
    fields = {field.attname: field for field in model._meta.concrete_fields}
    insert = _copy if connection.vendor == "postgresql" else _execute
    constants = {fields[name]: value for name, value in shared.items()}
    insert(model, [fields[name] for name in given], list(given.values()), constants)
    return keys


def _random_ids(count: int) -> list[str]:
    """Return random UUIDs (version 4) as hexadecimal digits, from one call for random bytes."""
    digits = secrets.token_bytes(16 * count).hex()
    variant = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
    return [
        f"{digits[at : at + 12]}4{digits[at + 13 : at + 16]}{variant[digits[at + 16]]}{digits[at + 17 : at + 32]}"
        for at in range(0, 32 * count, 32)
    ]


def _keys(model: type[models.Model], count: int) -> list[int]:
    """Return new keys. On PostgreSQL they come from the table's sequence; SQLite has one writer at a time."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [f'"{table}"', count]
            )
            return [key for (key,) in cursor.fetchall()]
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = (cursor.fetchone() or (0,))[0]
    return list(range(last + 1, last + count + 1))


_Fields = Sequence["Field[Any, Any]"]
_Shared = Mapping["Field[Any, Any]", Any]


def _names(*fields: "Field[Any, Any]") -> list[str]:
    return [str(field.column) for field in fields]


def _copy(model: type[models.Model], fields: _Fields, columns: Sequence[Sequence[Any]], shared: _Shared) -> None:
    constant = "".join(f"\t{_text(value)}" for value in shared.values()) + "\n"
    texts = [_texts(column) for column in columns]
    statement = SQL("COPY {} ({}) FROM STDIN").format(
        Identifier(model._meta.db_table), SQL(", ").join([Identifier(name) for name in _names(*fields, *shared)])
    )
    with connection.cursor() as cursor, cursor.cursor.copy(statement) as copy:
        copy.write("".join([f"{line}{constant}" for line in map("\t".join, zip(*texts, strict=True))]))


def _texts(column: Sequence[Any]) -> Iterable[str]:
    kinds = set(map(type, column))
    if kinds == {int}:
        return map(str, column)
    if kinds == {str} and not any(sign in text for text in set(column) for sign in "\\\t\n\r"):
        return column
    return map(_text, column)


def _text(value: Any) -> str:
    """Return a value in the text format of COPY."""
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).translate(_ESCAPES)


def _execute(model: type[models.Model], fields: _Fields, columns: Sequence[Sequence[Any]], shared: _Shared) -> None:
    constant = tuple(field.get_db_prep_save(value, connection) for field, value in shared.items())
    prepared = [_prepared(field, column) for field, column in zip(fields, columns, strict=True)]
    names = ", ".join(map(connection.ops.quote_name, _names(*fields, *shared)))
    marks = ", ".join(["%s"] * (len(fields) + len(shared)))
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 # of names alone
            [(*row, *constant) for row in zip(*prepared, strict=True)],
        )


_PLAIN = {int, str, bool, type(None)}  # Both databases take them as they are.


def _prepared(field: "Field[Any, Any]", column: Sequence[Any]) -> Sequence[Any]:
    if set(map(type, column)) <= _PLAIN:
        return column
    prepare: Callable[[Any, Any], Any] = field.get_db_prep_save
    return [prepare(value, connection) for value in column]
