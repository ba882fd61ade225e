"""Foreign keys of many new rows, checked by one query for each key.

PostgreSQL checks every reference of every row by a statement of its own: more than half of the time of a large import.
A role that may set `session_replication_role` (a superuser, or by `GRANT SET ON PARAMETER`) is spared that.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, connection, models
from django.db.models import Field

from evalsite.core.bulk_insert import keys_reserve

_FIRST_VERSION = 150_000  # Of PostgreSQL, with privileges on parameters.


@contextmanager
def references_together(tables: Sequence[type[models.Model]]) -> Iterator[None]:
    """Check the foreign keys of rows that the block adds to these tables at its end. Must run in a transaction.

    Without the privilege, and on SQLite, each row is checked as ever. All else (unique, check and not null) always is.
    Inside the block, only insert into these tables. No other transaction may delete the rows that they refer to: they
    are new, or locked.

    Raises IntegrityError for a row that refers to nothing.
    """
    if not _may_check_together():
        yield
        return
    first = {table: keys_reserve(table, 1)[0] for table in tables}
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
    yield  # An error rolls the setting back with the rows.
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = origin")
    for table, key in first.items():
        references_check(table, after=key)


def _may_check_together() -> bool:
    if connection.vendor != "postgresql" or connection.pg_version < _FIRST_VERSION:  # type: ignore[attr-defined]
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_parameter_privilege('session_replication_role', 'SET')")
        return bool(cursor.fetchone()[0])


def references_check(table: type[models.Model], *, after: int) -> None:
    """Raise IntegrityError if a row with a greater key than `after` refers to a row that does not exist."""
    for field in table._meta.concrete_fields:
        if isinstance(field, models.ForeignKey) and field.db_constraint:  # type: ignore[attr-defined]
            _reference_check(table, field, after)


def _reference_check(table: type[models.Model], field: "models.ForeignKey[Any, Any]", after: int) -> None:
    target: Field[Any, Any] = field.target_field
    name, other = table._meta.db_table, target.model._meta.db_table
    statement = (
        f"SELECT {field.column} FROM {name} AS new WHERE new.id > %s AND {field.column} IS NOT NULL "  # noqa: S608 # names
        f"AND NOT EXISTS (SELECT 1 FROM {other} AS there WHERE there.{target.column} = new.{field.column}) LIMIT 1"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [after])
        missing = cursor.fetchone()
    if missing is not None:
        raise IntegrityError(f"{name}.{field.column}: there is no row {missing[0]} in {other}")
