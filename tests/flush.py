"""How tables are emptied after a test that commits."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from django.db.backends.postgresql.operations import DatabaseOperations
from django.db.backends.sqlite3.base import DatabaseWrapper as SQLiteWrapper
from django.test import TransactionTestCase


@contextmanager
def quick_flush() -> Iterator[None]:
    """Empty PostgreSQL's tables by DELETE after each test that commits: TRUNCATE waits for the disk, table by table.

    A test that flushes the database itself still truncates.
    """

    def deletes(self: DatabaseOperations, style: Any, tables: Sequence[str], **options: bool) -> list[str]:
        if options.get("reset_sequences"):
            return truncates(self, style, tables, **options)
        # In any order: foreign keys are checked at the end, and `manage.py flush` has the permit to delete facts.
        return [f"DELETE FROM {self.quote_name(table)}" for table in tables]  # noqa: S608  the names of models

    def teardown(self: TransactionTestCase) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(DatabaseOperations, "sql_flush", deletes)
            ends(self)

    truncates: Callable[..., list[str]] = DatabaseOperations.sql_flush
    ends: Callable[[TransactionTestCase], None] = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield


SQLiteOperations = SQLiteWrapper.ops_class  # its module cannot be imported before the wrapper's


@contextmanager
def flush_with_sequences() -> Iterator[None]:
    """Begin SQLite's ids anew after each test that commits, as a rollback does: rows of other tests have the same."""

    def resets(self: Any, style: Any, tables: Sequence[str], **options: bool) -> list[str]:
        return deletes(self, style, tables, **options | {"reset_sequences": True})

    def teardown(self: TransactionTestCase) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(SQLiteOperations, "sql_flush", resets)
            ends(self)

    deletes: Callable[..., list[str]] = SQLiteOperations.sql_flush
    ends: Callable[[TransactionTestCase], None] = TransactionTestCase._fixture_teardown  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(TransactionTestCase, "_fixture_teardown", teardown)
        yield
