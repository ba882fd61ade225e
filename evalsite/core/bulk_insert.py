"""Insertion of many rows without an object for each: COPY on PostgreSQL, one prepared statement on SQLite.

For imports of a million rows. Constraints and foreign keys are checked as for any other row. `rows_prepare` needs no
database, so another thread can prepare the next rows while the database checks the last ones.
"""

import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field
from psycopg.sql import SQL, Composed, Identifier

_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_NULL = "\\N"
CHUNK = 20_000  # Rows of one statement.

_Fields = Sequence["Field[Any, Any]"]
_Shared = Mapping["Field[Any, Any]", Any]


@dataclass(frozen=True, slots=True)
class CopyRows:
    """Rows in the text format of COPY."""

    statement: Composed
    text: str

    def insert(self) -> None:
        with connection.cursor() as cursor, cursor.cursor.copy(self.statement) as copy:
            copy.write(self.text)


@dataclass(frozen=True, slots=True)
class ParameterRows:
    """Rows as the parameters of a statement."""

    statement: str
    rows: Sequence[tuple[Any, ...]]

    def insert(self) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(self.statement, self.rows)


PreparedRows = CopyRows | ParameterRows


def rows_insert(
    model: type[models.Model], count: int, *, same: Mapping[str, Any] | None = None, **columns: Sequence[Any]
) -> list[int]:
    """Insert `count` rows and return their keys, in order. Must run in a transaction.

    same: values that all rows share, by attribute name (`campaign_id`).
    columns: one value for each row, by attribute name. Fields that are not named get their defaults.
    """
    database = connections[connection.alias]
    keys: list[int] = []
    for begin in range(0, count, CHUNK):
        new = keys_reserve(model, min(CHUNK, count - begin))
        part = {name: column[begin : begin + len(new)] for name, column in columns.items()}
        rows_prepare(database, model, new, same=same, **part).insert()
        keys += new
    return keys


def keys_reserve(model: type[models.Model], count: int) -> list[int]:
    """Return keys that no other row gets. Must run in a transaction."""
    table = model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # The name of the sequence is a subquery, because a look-up costs more than a key.
            sequence = "(SELECT pg_get_serial_sequence(%s, 'id')::regclass)"
            cursor.execute(
                f"SELECT array_agg(nextval({sequence})) FROM generate_series(1, %s)",  # noqa: S608 # of constants
                [f'"{table}"', count],
            )
            keys: list[int] | None = cursor.fetchone()[0]
            return keys or []
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        found = cursor.fetchone()
        last = found[0] if found else 0
        change = "UPDATE sqlite_sequence SET seq = %s WHERE name = %s"
        cursor.execute(
            change if found else "INSERT INTO sqlite_sequence (seq, name) VALUES (%s, %s)", [last + count, table]
        )
    return list(range(last + 1, last + count + 1))


def rows_prepare(
    database: BaseDatabaseWrapper,
    model: type[models.Model],
    keys: Sequence[int],
    *,
    same: Mapping[str, Any] | None = None,
    order: Sequence[int] | None = None,
    **columns: Sequence[Any],
) -> PreparedRows:
    """Return rows that are ready to be inserted, with these keys. Nothing is asked of the database.

    database: the one that the rows are for. A thread has a connection of its own, perhaps to another one.
    order: the places of the rows in the order in which they are written. Rows in the order of a large index change each
        of its pages once, not many times.
    same, columns: as in `rows_insert`.
    """
    given: dict[str, Sequence[Any]] = {"id": keys, **columns}
    if order is not None:
        given = {name: [column[place] for place in order] for name, column in given.items()}
    shared: dict[str, Any] = dict(same or {})
    for field in model._meta.concrete_fields:
        if field.attname in given or field.attname in shared:
            continue
        if field.default is uuid.uuid4:
            given[field.attname] = _random_ids(len(keys))
        else:
            shared[field.attname] = field.get_default()
    fields = {field.attname: field for field in model._meta.concrete_fields}
    constants = {fields[name]: value for name, value in shared.items()}
    named = [fields[name] for name in given]
    if database.vendor == "postgresql":
        return _copy(model, named, list(given.values()), constants)
    return _parameters(database, model, named, list(given.values()), constants)


def _random_ids(count: int) -> list[str]:
    """Return random UUIDs (version 4) as hexadecimal digits, from one call for random bytes."""
    digits = secrets.token_bytes(16 * count).hex()
    variant = dict(zip("0123456789abcdef", "89ab" * 4, strict=True))
    return [
        f"{digits[at : at + 12]}4{digits[at + 13 : at + 16]}{variant[digits[at + 16]]}{digits[at + 17 : at + 32]}"
        for at in range(0, 32 * count, 32)
    ]


def _names(*fields: "Field[Any, Any]") -> list[str]:
    return [str(field.column) for field in fields]


def _copy(model: type[models.Model], fields: _Fields, columns: Sequence[Sequence[Any]], shared: _Shared) -> CopyRows:
    constant = "".join(f"\t{_text(value)}" for value in shared.values()) + "\n"
    texts = [_texts(column) for column in columns]
    statement = SQL("COPY {} ({}) FROM STDIN").format(
        Identifier(model._meta.db_table), SQL(", ").join([Identifier(name) for name in _names(*fields, *shared)])
    )
    return CopyRows(statement, "".join([f"{line}{constant}" for line in map("\t".join, zip(*texts, strict=True))]))


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


def _parameters(
    database: BaseDatabaseWrapper,
    model: type[models.Model],
    fields: _Fields,
    columns: Sequence[Sequence[Any]],
    shared: _Shared,
) -> ParameterRows:
    constant = tuple(field.get_db_prep_save(value, database) for field, value in shared.items())
    prepared = [_prepared(database, field, column) for field, column in zip(fields, columns, strict=True)]
    names = ", ".join(map(database.ops.quote_name, _names(*fields, *shared)))
    marks = ", ".join(["%s"] * (len(fields) + len(shared)))
    table = database.ops.quote_name(model._meta.db_table)
    return ParameterRows(
        f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 # of names alone
        [(*row, *constant) for row in zip(*prepared, strict=True)],
    )


_PLAIN = {int, str, bool, type(None)}  # Both databases take them as they are.


def _prepared(database: BaseDatabaseWrapper, field: "Field[Any, Any]", column: Sequence[Any]) -> Sequence[Any]:
    if set(map(type, column)) <= _PLAIN:
        return column
    prepare: Callable[[Any, Any], Any] = field.get_db_prep_save
    return [prepare(value, database) for value in column]
