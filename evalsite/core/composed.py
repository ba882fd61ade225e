"""Queries that the ORM composes once. Later runs bind other values to the same statement.

Composing a statement takes the ORM up to ten times as long as the database needs to run it. This is for
what is read very often: by steps of live conversations, calls, claims, jobs and refits, by every request of a person
(token, campaign, board, roles), and by pages of annotators. Everything else uses the ORM as it is.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import connection, connections
from django.db.models import Model, QuerySet
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.transaction import TransactionManagementError

from evalsite.core.db import as_stored, rows

Params = ParamSpec("Params")
ModelT = TypeVar("ModelT", bound=Model)
Row = TypeVar("Row")
Build = Callable[[Sequence[Any]], Any]

LONGEST = 20  # of a list of values: each length has a statement of its own
FIRST_MARK = 31_000  # whole numbers that stand for arguments: every column takes them, and no query of ours names them
BITS = 63  # of the numbers that a database takes


def composed(compose: Callable[Params, "QuerySet[ModelT, Row]"]) -> Callable[Params, list[Row]]:
    """Turn a function that returns a query into one that returns its rows.

    The arguments are whole numbers, texts, days, times, public ids, and lists of them. They must go into the query as
    they are, because the function runs once for each kind of database and length of lists. Its other values stand in
    the text: PostgreSQL uses the partial indexes of states for no prepared value.
    """
    statements: dict[Any, _Statement] = {}

    @wraps(compose)
    def run(*args: Params.args, **kwargs: Params.kwargs) -> list[Row]:
        names, values = tuple(kwargs), [*args, *kwargs.values()]
        lengths = tuple(len(value) if isinstance(value, list) else -1 for value in values)
        if not all(length == -1 or 0 < length <= LONGEST for length in lengths) or any(map(_is_too_large, values)):
            return list(compose(*args, **kwargs))
        shape = (connection.vendor, names, lengths)
        if shape not in statements:
            marks = _Marks(values)
            given = marks.values[: len(args)], dict(zip(names, marks.values[len(args) :], strict=True))
            statements[shape] = _composed(compose(*given[0], **given[1]), marks.places)  # type: ignore[arg-type]
        return statements[shape].run(values)

    return run


def _is_too_large(value: Any) -> bool:
    return type(value) is int and value.bit_length() > BITS


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement, what it binds (a place among the arguments, or a value), and how its rows are built."""

    text: str
    binds: tuple[tuple[tuple[int, int] | None, Any], ...]
    build: Build
    locks: bool

    def run(self, values: Sequence[Any]) -> list[Any]:
        if self.locks and not connection.in_atomic_block:
            raise TransactionManagementError("This query locks rows, so it needs a transaction.")
        params = [_stored(values, place) if place else constant for place, constant in self.binds]
        return [self.build(row) for row in rows(self.text, params)]


class _Marks:
    """Values that stand for the arguments while a statement is composed. `places` finds the argument of each."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.places: dict[Any, tuple[int, int]] = {}
        self.values = [
            [self._mark(one, number, place) for place, one in enumerate(value)]
            if isinstance(value, list)
            else self._mark(value, number, -1)
            for number, value in enumerate(values)
        ]

    def _mark(self, value: Any, number: int, place: int) -> Any:
        count = len(self.places) + 1
        marks: Mapping[type, Any] = {
            int: FIRST_MARK + count,
            str: f"mark {count}",
            datetime: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=count),
            date: date(2000, 1, 1) + timedelta(days=count),
            uuid.UUID: uuid.UUID(int=count),
        }
        mark = next((mark for kind, mark in marks.items() if isinstance(value, kind)), None)
        if mark is None:
            raise TypeError(f"A query cannot be composed once for a {type(value).__name__}.")
        self.places[_as_bound(mark)] = (number, place)
        return mark


def _as_bound(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)  # of a choice, its value
    if type(value) is date:
        return connection.ops.adapt_datefield_value(value)
    return as_stored(value) if isinstance(value, uuid.UUID | datetime) else value


def _stored(values: Sequence[Any], place: tuple[int, int]) -> Any:
    number, within = place
    return _as_bound(values[number] if within == -1 else values[number][within])


def _composed(found: "QuerySet[Any, Any]", places: Mapping[Any, tuple[int, int]]) -> _Statement:
    compiler = found.query.get_compiler(connection=connection)
    statement, params = compiler.as_sql()
    text, *rest = statement.split("%s")
    binds: list[tuple[tuple[int, int] | None, Any]] = []
    for value, after in zip(params, rest, strict=True):
        literal = None if value in places else _literal(value)
        text += (literal or "%s") + after
        if literal is None:
            binds.append((places.get(value), _as_bound(value)))
    if {place for place, _ in binds} - {None} != set(places.values()):
        raise ValueError("The query changes one of its arguments: compute it before, and pass it.")
    locks = found.query.select_for_update and connection.features.has_select_for_update
    return _Statement(text, tuple(binds), _builder(found, compiler), bool(locks))


def _literal(value: Any) -> str | None:
    """Return a state or a number as SQL; None for values that are bound."""
    if type(value) is int:
        return str(value)
    return f"'{value}'" if isinstance(value, str) and (value.isidentifier() or not value) else None


def _builder(found: "QuerySet[Any, Any]", compiler: Any) -> Build:
    """Return how a row of the statement becomes what the query gives: a model with its related ones, or values."""
    kind: Any = found._iterable_class
    values = _converter(compiler)
    if kind is FlatValuesListIterable:
        return lambda row: values(row)[0]
    if kind is ValuesListIterable:
        return lambda row: tuple(values(row))
    if kind is not ModelIterable:
        raise TypeError("Only models and lists of values are composed once.")
    info = compiler.klass_info
    begin, end = info["select_fields"][0], info["select_fields"][-1] + 1
    names = [column.target.attname for column, *_ in compiler.select[begin:end]]
    populators = get_related_populators(info, compiler.select, connection.alias)  # type: ignore[call-arg]

    def instance(row: Sequence[Any]) -> Any:
        converted = values(row)
        made = info["model"].from_db(connection.alias, names, converted[begin:end])
        for populator in populators:
            populator.populate(converted, made)
        for name, place in compiler.annotation_col_map.items():
            setattr(made, name, converted[place])
        return made

    return instance


def _converter(compiler: Any) -> Callable[[Sequence[Any]], list[Any]]:
    """Return the function from a row of the database to the values that the ORM gives."""
    converters = compiler.get_converters([column for column, *_ in compiler.select[: compiler.col_count]])
    steps = [(place, step, column) for place, (found, column) in converters.items() for step in found]

    def converted(row: Sequence[Any]) -> list[Any]:
        values, database = list(row), connections[connection.alias]
        for place, step, column in steps:
            values[place] = step(values[place], column, database)
        return values

    return converted
