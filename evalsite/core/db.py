"""Writing safely on both databases, what to say while they are away, and tables whose rows never change."""

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
from django.db import Error, InterfaceError, NotSupportedError, OperationalError, connection, models, transaction
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

# No lease, back-off or beginning that is just written lies further ahead than this: one that does was written before
# the clock was set back, and waiting for it could take hours. Clocks of several machines must agree this well.
CLOCK_SET_BACK = timedelta(minutes=10)


class Octets(models.Func):
    """Bytes of a text or of a file in a row, read by the database without sending it."""

    function = "OCTET_LENGTH"
    output_field = models.BigIntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **more: Any) -> tuple[str, Any]:
        """SQLite counts characters of what is not a blob."""
        return self.as_sql(compiler, connection, template="LENGTH(CAST(%(expressions)s AS BLOB))", **more)


@contextmanager
def write_transaction() -> Iterator[None]:
    """A transaction that writes.

    SQLite has one writer at a time; threads that queue here instead of in SQLite's busy loop wait an eighth as
    long at the 99th percentile. On PostgreSQL this is `atomic()` and nothing else.
    """
    if connection.vendor != "sqlite":
        with transaction.atomic():
            yield
        return
    with _sqlite_writer, transaction.atomic():
        yield


def checkpoint() -> None:
    """Move what SQLite has written ahead into its file; nobody is kept from writing. PostgreSQL does so by itself.

    Left alone, the one whose commit is the thousandth page does it, and all who write wait behind: ten commits' time.
    """
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(PASSIVE)")


@contextmanager
def patient_statements() -> Iterator[None]:
    """Let statements of the work inside last for minutes: a worker reads whole campaigns, a page must not."""
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
_probed: list[tuple[float, str]] = []  # when the last probe was, and what it found
_write_refused: deque[float] = deque(maxlen=1)  # when a request last found that nothing can be written
_POSTGRESQL_UNWRITABLE = frozenset({"53100", "25006"})  # disk full, read-only transaction

# Locked, full, unreadable: what passes. Any other error of SQLite (no such table) is a fault of ours.
_SQLITE_AWAY = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
})  # fmt: skip


def as_unavailable(error: BaseException | None) -> Unavailable | None:
    """What to tell a caller whose request met a database that does not answer; None for every other error.

    The transaction under way was rolled back or never committed. Only of an answer lost in the moment of its commit
    nobody can know; a repeated request finds out, since work is keyed by its assignment.
    """
    if not (is_outdated(error) or (isinstance(error, OperationalError | InterfaceError) and _passes(error))):
        return None
    log.warning("the database does not answer: %s", error)
    if error is not None and getattr(error.__cause__, "sqlstate", "") in _POSTGRESQL_UNWRITABLE:
        _write_refused.append(time.monotonic())
    return Unavailable(
        "The database does not answer at the moment.", hint="Send the same request again later; it is done once."
    )


def why_not_writable() -> str:
    """Return why nothing can be written now, or "": by a probe of the disk or server, and by what requests have met.

    The probe writes a file beside SQLite's, at most every PROBE_S seconds in a process.
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
    """Whether a statement was prepared before a migration gave one of its columns another type.

    The driver forgets what it has prepared as the transaction is rolled back: sent again, the request is answered.
    """
    return isinstance(error, NotSupportedError) and "cached plan" in str(error)


def _passes(error: Error) -> bool:
    cause = error.__cause__
    if not isinstance(cause, sqlite3.Error):
        return True
    return getattr(cause, "sqlite_errorcode", 0) & 0xFF in _SQLITE_AWAY  # the rest of the code only tells where


def rows(statement: str, params: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """What a statement written by hand gives, as the database gives it.

    For the few that every annotator's request makes: the ORM takes ten times as long to compose them as the database
    to answer. It runs as it stands on both databases; ids go in by `as_stored`, locks by `row_locks`.
    """
    try:
        return _rows(statement, params)
    except NotSupportedError as error:
        if connection.in_atomic_block or not is_outdated(error):
            raise
        connection.close()  # there is no transaction whose end would make the driver forget
        return _rows(statement, params)


def _rows(statement: str, params: Sequence[Any]) -> list[tuple[Any, ...]]:
    with _cursor() as cursor:
        cursor.execute(statement, _bound(params))
        return list(cursor.fetchall())


def read(model: type[ModelT], statement: str, params: Sequence[Any] = ()) -> list[ModelT]:
    """The same as rows of a model, whose `columns` are all that the statement names."""
    return [instance for (instance,) in read_beside([model], statement, params)]


def read_beside(kinds: Sequence[type[models.Model]], statement: str, params: Sequence[Any] = ()) -> list[list[Any]]:
    """The same with rows of several models beside each other, in each row, and then what the statement names besides.

    It names the `columns` of each model first, in this order.
    """
    found = [list(row) for row in rows(statement, params)]
    shapes = [([field.attname for field in kind._meta.concrete_fields], kind) for kind in kinds]
    read: list[list[Any]] = [[] for _ in found]
    begin = 0
    for names, kind in shapes:
        end = begin + len(names)
        for index, column in _columns_of(kind):
            for convert in [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]:
                for row in found:
                    row[begin + index] = convert(row[begin + index], column, connection)  # as the ORM reads them
        for row, together in zip(found, read, strict=True):
            together.append(kind.from_db(connection.alias, names, row[begin:end]))
        begin = end
    return [[*together, *row[begin:]] for row, together in zip(found, read, strict=True)]


@cache
def columns(model: type[models.Model], of: str) -> str:
    """All of a model's columns, of its table by this name in the statement.

    Never `*`: a statement that PostgreSQL has prepared fails when a migration has given it one more.
    """
    return ", ".join(f"{of}.{field.column}" for field in model._meta.concrete_fields)


@cache
def _columns_of(model: type[models.Model]) -> list[tuple[int, Any]]:
    return list(enumerate(field.get_col(model._meta.db_table) for field in model._meta.concrete_fields))


def _cursor() -> CursorWrapper:
    """A cursor that leaves values to PostgreSQL and has it prepare a statement that comes again and again.

    Django's own writes them into the text, which is parsed and planned each time: half of the database's work for an
    answer. Connections live for a minute (settings), and no plan is kept for longer.
    """
    cursor = connection.cursor()
    if connection.vendor == "postgresql":
        from django.db.backends.postgresql.base import ServerBindingCursor  # no driver in the embedded form

        cursor.cursor = ServerBindingCursor(connection.connection)  # type: ignore[call-arg]
    return cursor


def _bound(params: Sequence[Any]) -> Sequence[Any]:
    """Whole numbers all of one kind for PostgreSQL: otherwise large and small ones make other statements."""
    if connection.vendor != "postgresql":
        return params
    from psycopg.types.numeric import Int8

    return [Int8(value) if type(value) is int else value for value in params]


def each(statement: str, params: Sequence[Sequence[Any]]) -> None:
    """Execute a statement written by hand with each of these params."""
    if params:
        with connection.cursor() as cursor:
            cursor.executemany(statement, params)


def for_each(
    together: str, one: str, same: Sequence[Any], different: Sequence[Sequence[Any]], types: Sequence[str]
) -> None:
    """Do the same with many rows of values: PostgreSQL is given them as columns (of these types) by one statement.

    There each statement is parsed and planned anew, and all who claim wait for the last; SQLite keeps the one it has.
    """
    if not different:
        return
    if connection.vendor != "postgresql":
        each(one, [(*same, *values) for values in different])
        return
    unnested = ", ".join(f"%s::{kind}[]" for kind in types)
    names = ", ".join("abcdefgh"[: len(types)])
    statement = together.format(given=f"UNNEST({unnested}) AS given ({names})")
    with _cursor() as cursor:
        cursor.execute(statement, _bound([*same, *(list(column) for column in zip(*different, strict=True))]))


def as_stored(value: uuid.UUID | datetime | None) -> Any:
    """A public id or a moment as this database keeps it."""
    if isinstance(value, uuid.UUID):
        return value if connection.features.has_native_uuid_field else value.hex
    return connection.ops.adapt_datetimefield_value(value)


def row_locks(clause: str) -> str:
    """The end of a statement that locks rows; nothing on SQLite, where who writes has the database alone."""
    return clause if connection.features.has_select_for_update else ""


class PublicModel(models.Model):
    """A row with an id that may be shown: 128 random bits tell nothing about how many rows there are."""

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
ALLOW_UPDATE = {
    "sqlite": "DROP TRIGGER IF EXISTS {table}_is_immutable",
    "postgresql": "DROP TRIGGER IF EXISTS {table}_is_immutable ON {table}",
}


class SchemaStep(RunPython):
    """A RunPython that asks for no models of its time: to make them takes Django a tenth of a second for each step."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        self.code(StateApps([], {}), schema_editor)


def forbid_update(table: str, *, of: Sequence[str] = ()) -> SchemaStep:
    """A migration step after which the database itself refuses to change a row of `table`, or these columns of it:
    what an erased person can be named in is left out.

    SQLite forgets triggers when Django rebuilds a table, so a later migration that alters one of these tables
    must end with this step again, and with `forbid_delete` (facts.py); a test checks that every one of them is there.
    """

    def forward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(ALLOW_UPDATE[schema_editor.connection.vendor].format(table=table))
        for statement in FORBID_UPDATE[schema_editor.connection.vendor]:
            named = statement.replace("BEFORE UPDATE ON", f"BEFORE UPDATE OF {', '.join(of)} ON") if of else statement
            schema_editor.execute(named.format(table=table), params=None)

    def backward(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
        schema_editor.execute(ALLOW_UPDATE[schema_editor.connection.vendor].format(table=table))

    return SchemaStep(forward, backward)
