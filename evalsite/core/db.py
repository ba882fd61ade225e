"""Database helpers: write transactions, errors of an absent database, SQL by hand, immutable tables."""

import logging
import sqlite3
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from django.apps.registry import Apps
from django.db import (
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
    models,
    transaction,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.backends.utils import CursorWrapper
from django.db.migrations import RunPython
from django.db.migrations.state import ProjectState, StateApps
from django.db.models.sql.compiler import SQLCompiler

from evalsite.core.env import unwritable
from evalsite.core.errors import Unavailable

log = logging.getLogger(__name__)

ModelT = TypeVar("ModelT", bound=models.Model)

_sqlite_writer = threading.RLock()

# Limit for times in the near future. No lease, back-off or start time written now lies further ahead. A later one was
# written before the clock was set back, and waiting for it could take hours. Clocks of several machines must agree this
# well.
CLOCK_SET_BACK = timedelta(minutes=10)


class Octets(models.Func):
    """Number of bytes of a text or file column, counted in the database."""

    function = "OCTET_LENGTH"
    output_field = models.BigIntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> tuple[str, Any]:
        """Cast to BLOB, because SQLite counts the characters of a text."""
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **more)


@contextmanager
def write_transaction() -> Iterator[None]:
    """Open a transaction that writes.

    SQLite has one writer at a time. Threads that queue for this lock wait an eighth as long at the 99th percentile as
    in SQLite's busy loop. On PostgreSQL this is only `atomic()`.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            yield
        return
    with _sqlite_writer, transaction.atomic():
        yield


def checkpoint() -> None:
    """Copy SQLite's write-ahead log into the database file without blocking writers.

    Otherwise the commit that writes the thousandth page does it, and all writers wait for ten commits' time. PostgreSQL
    needs no call.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


@contextmanager
def patient_statements() -> Iterator[None]:
    """Raise the statement timeout to minutes: a worker reads whole campaigns, a page must not."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = '600s'; SET idle_in_transaction_session_timeout = '600s'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET statement_timeout; RESET idle_in_transaction_session_timeout")


PROBE_S, REFUSED_FOR_S = 2.0, 5.0
_probing = threading.Lock()
_probed: list[tuple[float, str]] = []  # time of the last probe, and its result
_write_refused: deque[float] = deque(maxlen=1)  # time of the last request that could not write
_POSTGRESQL_UNWRITABLE = frozenset({"53100", "25006"})  # disk full, read-only transaction

# Temporary conditions: locked, full, unreadable. Any other SQLite error (such as "no such table") is a bug.
_SQLITE_AWAY = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
})  # fmt: skip


def as_unavailable(error: BaseException | None) -> Unavailable | None:
    """Return the error for a caller whose request met an absent database; None for every other error.

    The open transaction was rolled back or never committed. The outcome is unknown only if the connection was lost
    during the commit. Repeating the request is safe, because work is keyed by its assignment.
    """
    if not (is_outdated(error) or (isinstance(error, OperationalError | InterfaceError) and _is_temporary(error))):
        return None
    log.warning("the database does not answer: %s", error)
    if error is not None and getattr(error.__cause__, "sqlstate", "") in _POSTGRESQL_UNWRITABLE:
        _write_refused.append(time.monotonic())
    return Unavailable(
        "The database does not answer at the moment.", hint="Send the same request again later; it is done once."
    )


def why_not_writable() -> str:
    """Return the reason why the database cannot be written now, or "".

    Uses a probe of the disk or server, and the errors of recent requests. The probe writes a file beside SQLite's, at
    most every PROBE_S seconds in a process.
    """
    now = time.monotonic()
    if any(now - at < REFUSED_FOR_S for at in _write_refused):
        return "the database refuses to write"
    if connection.vendor == "sqlite":
        with _probing:
            if not _probed or now - _probed[0][0] > PROBE_S:
                _probed[:] = [(now, unwritable(Path(connection.settings_dict["NAME"]).parent))]
            why = _probed[0][1]
        return f"nothing can be written ({why})" if why else ""
    read_only = rows("SELECT current_setting('transaction_read_only')")[0][0] == "on"
    return "the database is read-only" if read_only else ""


def is_outdated(error: BaseException | None) -> bool:
    """Return whether a prepared statement is outdated because a migration changed the type of a column.

    The driver forgets its prepared statements when the transaction is rolled back. A repeated request therefore
    succeeds.
    """
    return isinstance(error, NotSupportedError) and "cached plan" in str(error)


def _is_temporary(error: Error) -> bool:
    cause = error.__cause__
    if not isinstance(cause, sqlite3.Error):
        return True
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE_AWAY  # the higher bits only give details


def rows(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run a hand-written statement and return its rows as the database gives them.

    Meant for the few statements of every annotator's request. The ORM needs ten times as long to compose them as the
    database to run them. The statement must run on both databases. Convert ids with `as_stored` and write locks with
    `row_locks`.
    """
    try:
        return _rows(statement, params)
    except NotSupportedError as error:
        if connection.in_atomic_block or not is_outdated(error):
            raise
        connection.close()  # outside a transaction, only closing makes the driver forget
        return _rows(statement, params)


def _rows(statement: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with _cursor() as cursor:
        cursor.execute(statement, _bound(params))
        return list(cursor.fetchall())


def read(model: type[ModelT], statement: str, params: Sequence[Any] = ()) -> list[ModelT]:
    """Run a statement that selects the `columns` of one model, and return instances."""
    return [instance for (instance,) in read_joined([model], statement, params)]


def read_joined(kinds: Sequence[type[models.Model]], statement: str, params: Sequence[Any] = ()) -> list[list[Any]]:
    """Run a statement that selects the `columns` of several models, and return one list per row.

    Each list holds one instance per model, in the order of `kinds`, then the remaining values. The statement must
    select the columns in this order.
    """
    found = [list(row) for row in rows(statement, params)]
    shapes = [([field.attname for field in kind._meta.concrete_fields], kind) for kind in kinds]
    database = connections[connection.alias]
    read: list[list[Any]] = [[] for _ in found]
    begin = 0
    for names, kind in shapes:
        end = begin + len(names)
        for index, convert, column in _converters_of(kind, database.vendor):
            for row in found:
                row[begin + index] = convert(row[begin + index], column, database)
        for row, together in zip(found, read, strict=True):
            together.append(kind.from_db(connection.alias, names, row[begin:end]))
        begin = end
    return [[*together, *row[begin:]] for row, together in zip(found, read, strict=True)]


@cache
def columns(model: type[models.Model], of: str) -> str:
    """Return all columns of a model, prefixed with the table alias `of`.

    Never use `*`: a statement prepared by PostgreSQL fails after a migration adds a column.
    """
    return ", ".join(f"{of}.{field.column}" for field in model._meta.concrete_fields)


@cache
def _converters_of(model: type[models.Model], vendor: str) -> list[tuple[int, Any, Any]]:
    """Return the conversions of the ORM for a model: the place of a column, the function, and the column."""
    columns = [field.get_col(model._meta.db_table) for field in model._meta.concrete_fields]
    return [
        (index, convert, column)
        for index, column in enumerate(columns)
        for convert in [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
    ]


def _cursor() -> CursorWrapper:
    """Return a cursor that binds values on the PostgreSQL server, so that repeated statements are prepared.

    Django's own cursor writes values into the text, which is parsed and planned each time. That is half of the
    database's work for an answer. Connections live for a minute (see settings), and so do plans.
    """
    cursor = connection.cursor()
    if connection.vendor == "postgresql":
        from django.db.backends.postgresql.base import ServerBindingCursor  # the embedded form has no driver

        cursor.cursor = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
    return cursor


def _bound(params: Sequence[Any]) -> Sequence[Any]:
    """Bind whole numbers as one type on PostgreSQL; small and large ones would otherwise make different statements."""
    if connection.vendor != "postgresql":
        return params
    from psycopg.types.numeric import Int8

    return [Int8(value) if type(value) is int else value for value in params]


def each(statement: str, params: Sequence[Sequence[Any]]) -> None:
    """Execute a hand-written statement once for each set of parameters."""
    if params:
        with connection.cursor() as cursor:
            cursor.executemany(statement, params)


def execute_for_rows(
    together: str, one: str, same: Sequence[Any], different: Sequence[Sequence[Any]], types: Sequence[str]
) -> None:
    """Execute a statement for many rows of values.

    PostgreSQL receives the rows as columns (of these types) in one statement. It would otherwise parse and plan each
    statement anew, and all claims would wait for the last one. SQLite reuses one prepared statement.
    """
    if not different:
        return
    if connection.vendor != "postgresql":
        each(one, [(*same, *values) for values in different])
        return
    unnested = ", ".join(f"%s::{kind}[]" for kind in types)
    names = ", ".join("abcdefghijk"[: len(types)])
    statement = together.format(given=f"UNNEST({unnested}) AS given ({names})")
    with _cursor() as cursor:
        cursor.execute(statement, _bound([*same, *(list(column) for column in zip(*different, strict=True))]))


def as_stored(value: uuid.UUID | datetime | None) -> Any:
    """Convert a public id or a time to the form that this database stores."""
    if isinstance(value, uuid.UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    return connection.ops.adapt_datetimefield_value(value)


def row_locks(clause: str) -> str:
    """Return the locking clause of a statement; "" on SQLite, where a writer has the database alone."""
    return clause if connection.features.has_select_for_update else ""


class PublicModel(models.Model):
    """Model with a random public id. Its 128 random bits do not reveal the number of rows."""

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)

    class Meta:
        abstract = True


FORBID_UPDATE = {
    "sqlite": (
        "CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} "
        "BEGIN SELECT RAISE(ABORT, '{table} is immutable: add a new row instead'); END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION touchstone_refuse_update() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN RAISE EXCEPTION '% is immutable: add a new row instead', TG_TABLE_NAME "
        "USING ERRCODE = 'integrity_constraint_violation'; END $$",
        "CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION touchstone_refuse_update()",
    ),
}
# The triggers of tables whose texts an erasure may empty: `deletion_guard` gives the permit.
FORBID_UPDATE_WITHOUT_PERMIT = {
    "sqlite": (
        "CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} WHEN NOT EXISTS (SELECT 1 FROM core_permit) "
        "BEGIN SELECT RAISE(ABORT, '{table} is immutable: add a new row instead'); END",
    ),
    "postgresql": (
        "CREATE OR REPLACE FUNCTION touchstone_refuse_update_without_permit() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN IF EXISTS (SELECT 1 FROM core_permit) THEN RETURN NEW; END IF; "
        "RAISE EXCEPTION '% is immutable: add a new row instead', TG_TABLE_NAME "
        "USING ERRCODE = 'integrity_constraint_violation'; END $$",
        "CREATE TRIGGER {table}_is_immutable BEFORE UPDATE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION touchstone_refuse_update_without_permit()",
    ),
}
ALLOW_UPDATE = {
    "sqlite": "DROP TRIGGER IF EXISTS {table}_is_immutable",
    "postgresql": "DROP TRIGGER IF EXISTS {table}_is_immutable ON {table}",
}


class SchemaStep(RunPython):
    """RunPython step without historical models: Django needs a tenth of a second per step to build them."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        self.code(StateApps([], {}), schema_editor)


def forbid_update(table: str, *, of: Sequence[str] = (), erasable: bool = False) -> SchemaStep:
    """Return a migration step that makes the database refuse updates of `table`, or of the columns `of`.

    Leave out columns that can name an erased person. erasable: an erasure may empty texts, with a permit
    (`deletion_guard`).

    SQLite drops triggers when Django rebuilds a table. A later migration that alters one of these tables must therefore
    end with this step again, and with `forbid_delete`. A test checks that every trigger exists.
    """

    def forward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(ALLOW_UPDATE[schema_editor.connection.vendor].format(table=table))
        forbidden = FORBID_UPDATE_WITHOUT_PERMIT if erasable else FORBID_UPDATE
        for statement in forbidden[schema_editor.connection.vendor]:
            named = statement.replace("BEFORE UPDATE ON", f"BEFORE UPDATE OF {', '.join(of)} ON") if of else statement
            schema_editor.execute(named.format(table=table), params=None)

    def backward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(ALLOW_UPDATE[schema_editor.connection.vendor].format(table=table))

    return SchemaStep(forward, backward)
