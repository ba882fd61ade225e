"""Writes of rows by one statement, which is composed once. The ORM takes ten times as long to compose it."""

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from django.db import connection, connections
from django.db.models import Field, Model

from evalsite.core.db import execute_for_rows, rows

ModelT = TypeVar("ModelT", bound=Model)
LETTERS = "abcdefghijk"  # columns of the given rows
MOST_ADDED = 20  # rows of one statement: each number of rows has a statement of its own


def rows_add(new: Sequence[ModelT]) -> list[ModelT]:
    """Insert rows of one model, in a transaction if they are many. They get their keys."""
    made = list(new)
    for begin in range(0, len(made), MOST_ADDED):
        part = made[begin : begin + MOST_ADDED]
        database = connections[connection.alias]
        statement, fields = _insertion(type(part[0]), len(part), database.vendor)
        values = [field.get_db_prep_save(field.pre_save(row, True), database) for row in part for field in fields]
        for row, (key,) in zip(part, rows(statement, values), strict=True):
            row.pk, row._state.adding, row._state.db = key, False, connection.alias
    return made


def row_add(row: ModelT) -> ModelT:
    """Insert a row. It gets its key."""
    (made,) = rows_add([row])
    return made


def rows_update(changed: Sequence[Model], names: Sequence[str]) -> None:
    """Write these fields of saved rows of one model."""
    if not changed:
        return
    database = connections[connection.alias]
    together, one, fields, types = _update(type(changed[0]), tuple(names), database.vendor)
    values = [[field.get_db_prep_save(getattr(row, field.attname), database) for field in fields] for row in changed]
    execute_for_rows(together, one, (), values, types)


@cache
def _insertion(model: type[Model], count: int, vendor: str) -> tuple[str, list["Field[Any, Any]"]]:
    quote, meta = connection.ops.quote_name, model._meta
    fields: list[Field[Any, Any]] = [field for field in meta.concrete_fields if not field.primary_key]
    names = ", ".join(quote(str(field.column)) for field in fields)
    one = f"({', '.join(['%s'] * len(fields))})"
    key = quote(str(meta.pk.column))
    given = ", ".join([one] * count)
    return f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES {given} RETURNING {key}", fields  # noqa: S608


@cache
def _update(
    model: type[Model], names: tuple[str, ...], vendor: str
) -> tuple[str, str, list["Field[Any, Any]"], list[str]]:
    """Return the statement for many rows, that for one row, and the fields in the order of their values with types."""
    quote, meta = connection.ops.quote_name, model._meta
    fields: list[Field[Any, Any]] = [meta.get_field(name) for name in names]  # type: ignore[misc]
    table, key = quote(meta.db_table), quote(str(meta.pk.column))
    columns = [quote(str(field.column)) for field in fields]
    given = ", ".join(f"{column} = given.{letter}" for column, letter in zip(columns, LETTERS, strict=False))
    together = f"UPDATE {table} SET {given} FROM {{given}} WHERE {table}.{key} = given.{LETTERS[len(fields)]}"  # noqa: S608
    one = f"UPDATE {table} SET {', '.join(f'{column} = %s' for column in columns)} WHERE {key} = %s"  # noqa: S608
    given_fields = [*fields, meta.pk]
    return together, one, given_fields, [str(field.db_type(connection)) for field in given_fields]
