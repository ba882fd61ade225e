"""Rows that many tests begin with, built once and shared: each test runs in a savepoint on top of them.

`@shared` replaces `@pytest.fixture` on a fixture that only builds rows. The rows are built in transactions that stay
open from one test of a module to the next, and each test receives them read afresh. The open transactions form a
stack: a test that needs a campaign finds the campaign of the test before it; a test that needs no rows finds none.

A builder takes other shared fixtures, returns model instances (also in tuples, lists, dicts or dataclasses) or plain
values, and touches nothing but the database. A test with `transaction=True` builds its own rows.

On SQLite rows that were built before on the same rows are written again by the statements that wrote them, without
the queries and the ORM: a process builds the campaign that most modules begin with only once in REPEATABLE_S.
"""

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.db import connection, models, transaction
from django.utils import translation

from tests import durations
from tests.processes import forget_cache

F = TypeVar("F", bound=Callable[..., Any])
Identities = dict[tuple[type[models.Model], Any], models.Model]
Statement = tuple[str, Any, bool]  # its text, its parameters, and whether it has many sets of them
REPEATABLE_S = 240.0  # rows that are written again must not be so old that a lease or a batch has run out
STACK = "shared_rows"  # the fixture that brings the stack to what a test needs, before the test's own transaction


@dataclass(frozen=True)
class Builder:
    """A function that builds rows. late: after all others that do not need it, since few tests ask for it."""

    name: str
    function: Callable[..., Any]
    takes: tuple[str, ...]
    late: bool
    number: int


@dataclass(frozen=True, eq=False)
class Recording:
    """What a builder has written, what it returned, and when."""

    statements: list[Statement] = field(repr=False)
    result: Any
    begin_s: float


@dataclass(frozen=True)
class Layer:
    """The rows of one builder, the transaction that holds them, and the module whose tests they are for."""

    builder: Builder
    module: str
    recording: Recording
    held: Any = field(repr=False)

    @property
    def result(self) -> Any:
        return self.recording.result


_registered: list[Builder] = []
_recordings: dict[tuple[Any, ...], Recording] = {}
_stack: list[Layer] = []
_identities = pytest.StashKey[Identities]()


def shared(function: F | None = None, *, late: bool = False) -> Any:
    """Make a fixture whose rows are built once for consecutive tests of a module."""
    if function is None:
        return lambda named: shared(named, late=late)
    builder = Builder(
        function.__name__, function, tuple(inspect.signature(function).parameters), late, len(_registered)
    )
    _registered.append(builder)

    def fixture(request: pytest.FixtureRequest, db: None, **needed: Any) -> Any:
        for layer in _stack:
            if layer.builder is builder:
                return fresh(layer.result, request.node.stash.setdefault(_identities, {}))
        return function(**needed)  # nothing is shared in real transactions, or on top of a module's own fixture

    # Pytest learns from the signature that a test which takes this fixture needs the others, too.
    names = dict.fromkeys(["request", "db", *builder.takes])
    parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    fixture.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    fixture.__name__, fixture.__doc__ = function.__name__, function.__doc__
    fixture.builder = builder  # type: ignore[attr-defined]
    return pytest.fixture(fixture)


def fresh(value: Any, identities: Identities) -> Any:
    """Return the value with every model instance read from the database; one row is one object within a test."""
    if isinstance(value, models.Model):
        key = (type(value), value.pk)
        if key not in identities:
            identities[key] = type(value)._base_manager.get(pk=value.pk)
        return identities[key]
    if type(value) in (tuple, list):
        return type(value)(fresh(one, identities) for one in value)
    if type(value) is dict:
        return {name: fresh(one, identities) for name, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{one.name: fresh(getattr(value, one.name), identities) for one in fields(value)})
    return value


def needed_by(item: pytest.Item) -> list[Builder]:
    """Return the builders whose rows the test needs, each after those that it takes."""
    if in_real_transactions(item):
        return []
    found = getattr(item, "_fixtureinfo", None)
    visible = {name: known[-1].func for name, known in found.name2fixturedefs.items()} if found else {}
    waiting = {name: func.builder for name, func in visible.items() if hasattr(func, "builder")}
    ordered: list[Builder] = []
    done: set[str] = set()
    while ready := [one for one in waiting.values() if done.issuperset(one.takes)]:
        ordered.append(min(ready, key=lambda one: (one.late, one.number)))
        done.add(ordered[-1].name)
        del waiting[ordered[-1].name]
    return ordered


def uses_database(item: pytest.Item) -> bool:
    return item.get_closest_marker("django_db") is not None or bool(
        {"db", "transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    )


def in_real_transactions(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    return bool(marker and marker.kwargs.get("transaction")) or bool(
        {"transactional_db", "live_server"} & set(getattr(item, "fixturenames", ()))
    )


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests by modules; in each first those in real transactions, then by the rows that they need.

    Each that uses the database asks for the stack before all other fixtures.
    """
    modules = {name: number for number, name in enumerate(dict.fromkeys(item.nodeid.split("::")[0] for item in items))}

    def place(item: pytest.Item) -> tuple[Any, ...]:
        chain = [(one.late, one.number) for one in needed_by(item)]
        return modules[item.nodeid.split("::")[0]], not in_real_transactions(item), chain

    for item in items:
        names = getattr(item, "fixturenames", [])
        if uses_database(item) and STACK not in names:
            names.insert(0, STACK)
    return sorted(items, key=place)


def bring(item: pytest.Item) -> None:
    """Roll back the layers that the test does not share with the one before it, and build those that it lacks."""
    wanted = needed_by(item)
    module = item.nodeid.split("::")[0]
    if any(layer.module != module for layer in _stack) or _broken():
        keep = 0
    else:
        pairs = zip(_stack, wanted, strict=False)
        keep = next(
            (n for n, (layer, one) in enumerate(pairs) if layer.builder is not one), min(len(_stack), len(wanted))
        )
    roll_back(to=keep)
    for builder in wanted[keep:]:
        _stack.append(_built(builder, module))  # noqa: PERF401  # each reads the stack of those before it


def _broken() -> bool:
    """A test has closed the connection under the open transactions."""
    return bool(_stack) and (connection.connection is None or connection.closed_in_transaction)


def _built(builder: Builder, module: str) -> Layer:
    with durations.shared.spent():
        return _build(builder, module)


def _build(builder: Builder, module: str) -> Layer:
    # The same ids are given on equal rows with equal sequences alone.
    key = (builder, *(layer.recording for layer in _stack), *(sequences() if not _stack else ()))
    known = _recordings.get(key) if connection.vendor == "sqlite" else None
    held = transaction.atomic()
    held._from_testcase = True  # type: ignore[attr-defined]  # services may insist on the outermost transaction
    held.__enter__()
    try:
        if known is None or time.monotonic() - known.begin_s > REPEATABLE_S:
            known = _recordings[key] = _record(builder)
        else:
            write_again(known.statements)
    except BaseException:
        transaction.set_rollback(True)
        held.__exit__(None, None, None)
        raise
    return Layer(builder, module, known, held)


def sequences() -> list[tuple[str, int]]:
    """Return the last id of each table on SQLite, where a rollback takes ids back."""
    if connection.vendor != "sqlite":
        return []
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, seq FROM sqlite_sequence WHERE seq > 0 ORDER BY name")
        found: list[tuple[str, int]] = cursor.fetchall()
    return found


def _record(builder: Builder) -> Recording:
    results = {layer.builder.name: layer.result for layer in _stack}
    identities: Identities = {}
    statements: list[Statement] = []
    begin_s = time.monotonic()
    forget_cache()
    with translation.override(settings.LANGUAGE_CODE), written_into(statements):
        result = builder.function(**{name: fresh(results[name], identities) for name in builder.takes})
    return Recording(statements, result, begin_s)


@contextmanager
def written_into(statements: list[Statement]) -> Iterator[None]:
    """Note each statement that is no query."""

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith("SELECT"):
            params = [tuple(one) for one in params] if many else params
            statements.append((sql, params, many))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield


def write_again(statements: list[Statement]) -> None:
    """Execute the statements on the same rows as before, so that they give the same ids."""
    with connection.cursor() as cursor:
        for sql, params, many in statements:
            if many:
                cursor.executemany(sql, params)
            else:
                cursor.execute(sql, params)
                cursor.fetchall()  # a statement with RETURNING ends with its last row


def roll_back(*, to: int = 0) -> None:
    """Undo the layers above this many."""
    while len(_stack) > to:
        layer = _stack.pop()
        if connection.in_atomic_block:
            transaction.set_rollback(True)
        layer.held.__exit__(None, None, None)


@pytest.fixture
def shared_rows(request: pytest.FixtureRequest, _form: None, django_db_setup: None, django_db_blocker: Any) -> None:
    """Bring the shared rows to what this test needs."""
    with django_db_blocker.unblock():
        bring(request.node)


@pytest.fixture(scope="session", autouse=True)
def no_shared_rows_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Roll back what is left open, before the database goes."""
    yield
    if _stack:
        with request.getfixturevalue("django_db_blocker").unblock():
            roll_back()
