"""What no operation that takes a body may stumble over, tried at each that docs/openapi.yaml has.

The documented refusal in the one shape, and nothing written. What is right but for one thing is refused for that.
The usual run spreads the hostile values over the operations and their fields; the full run tries each at each.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.core.cache import cache

from evalsite.core.row_files import MOST_BYTES
from tests.environment import FULL
from tests.evalsite.api.client import error_of
from tests.evalsite.api.operations import (
    FORM,
    JSON,
    OPERATIONS,
    WRITING,
    Operation,
    Sent,
    Tenant,
    everything,
    places,
    right,
    with_value,
)

PlaceT = TypeVar("PlaceT")
ValueT = TypeVar("ValueT")
JSONL = "application/jsonl"
# A file of votes is read by the worker, and a submission is a form: tests of their own send faulty ones.
READ_AT_ONCE = [one for one in WRITING if one.described["operationId"] not in {"send_votes", "submit"}]
UNREADABLE = {
    "cut off": b'{"a": [',
    "no object": b"[]",
    "no JSON": b"nonsense",
    "nested deeply": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "objects in objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "an integer beyond what Python reads": b'{"a": ' + b"9" * 50_000 + b"}",
    "no number": b'{"a": NaN}',
    "a lone surrogate": b'{"a": "\\ud800"}',
    "a lone surrogate in a name": b'{"\\udfff": 1}',
    "a name twice": b'{"a": 1, "a": 2}',
    "no UTF-8": b'{"a": "\xff"}',
    "a surrogate in UTF-8": b'{"a": "\xed\xa0\x80"}',
    "UTF-16": '{"a": 1}'.encode("utf-16"),
}
UNKNOWN = {  # JSON that can be read, and names what no operation knows
    "nested as deeply as can be read": b'{"a": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a huge integer": b'{"a": ' + b"9" * 4_000 + b"}",
    "a huge exponent": b'{"a": 1e999999}',
    "NUL in a text": b'{"a": "\\u0000"}',
    "NUL in a name": b'{"a\\u0000b": 1}',
}
WRONG_TYPES = ["text/html", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "nonsense", ""]
DEEP: Any = []
for _ in range(500):
    DEEP = [DEEP]
VALUES: Mapping[str, Any] = {
    "NUL": "a\0b",
    "NUL alone": "\0",
    "a huge integer": 10**4000,
    "a huge negative integer": -(10**30),
    "an integer beyond 64 bits": 2**64,
    "a long text": "x" * 250_000,
    "deeply nested": DEEP,
    "an object": {"a": 1},
    "true": True,
}
# What is in its place in fields of such a type: no whole number is asked for, or whether something is so.
FITTING = {"number": {"a huge negative integer", "an integer beyond 64 bits"}, "boolean": {"true"}}


def spread(
    where: Iterable[PlaceT], values: Iterable[ValueT], *, one_of: int, begin: int = 0
) -> list[tuple[PlaceT, ValueT]]:
    """Return one of so many pairs, so that each place meets several values and each value several places.

    All pairs in a full run.
    """
    pairs = product(enumerate(where, begin), enumerate(values))
    return [(place, value) for (n, place), (m, value) in pairs if FULL or (n + m) % one_of == 0]


@pytest.fixture
def nothing_written(there: Tenant) -> Iterator[None]:
    before = everything()
    yield
    assert everything() == before


def refused(sent: Sent, why: str, *codes: str, status: int = 400) -> Mapping[str, Any]:
    """Send it: it is refused as the file says that it may be, in the one shape."""
    response, where = sent.send(), f"{why}, to {sent.operation.label}"
    assert (response.status_code, where) == (status, where)
    error: Mapping[str, Any] = error_of(response)
    assert error["code"] in codes, where
    assert error["hint"], "it says what to do now"
    assert str(status) in sent.operation.described["responses"], "and docs/openapi.yaml says that it may"
    return error


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("what", UNREADABLE)
def test_a_body_that_cannot_be_read(there: Tenant, what: str) -> None:
    for one, body in spread(READ_AT_ONCE, [UNREADABLE[what]], one_of=4, begin=[*UNREADABLE].index(what)):
        kind, codes = (JSONL, ("rows_refused", "invalid")) if one.of_rows else (JSON, ("parse_error",))
        refused(replace(right(there, one), body=body, kind=kind), "unreadable", *codes)


@pytest.mark.usefixtures("nothing_written")
def test_a_body_that_names_what_is_not_known(there: Tenant) -> None:
    for one, (what, body) in spread(READ_AT_ONCE, UNKNOWN.items(), one_of=3):
        kind, codes = (JSONL, ("rows_refused", "invalid")) if one.of_rows else (JSON, ("invalid",))
        refused(replace(right(there, one), body=body, kind=kind), what, *codes)


@pytest.mark.usefixtures("nothing_written")
def test_a_wrong_content_type(there: Tenant) -> None:
    known = {kind for one in OPERATIONS.values() for kind in one.kinds}
    for number, one in enumerate(WRITING):
        cache.clear()  # all together are more requests than an account may send in a minute
        sent = right(there, one)
        charsets = [f"{kind}; charset={bad}" for kind in one.kinds[:1] for bad in ("iso-8859-1", "nonsense")]
        wrong = (
            [kind for kind in WRONG_TYPES if not kind.startswith(FORM)] if FORM in one.kinds else WRONG_TYPES + charsets
        )
        for _, kind in spread([one], [*wrong, *sorted(known - {*one.kinds})], one_of=4, begin=number):
            refused(replace(sent, body=sent.body or b"{}", kind=kind), kind, "unsupported_media_type", status=415)


@pytest.mark.usefixtures("nothing_written")
def test_a_body_that_is_too_large(there: Tenant) -> None:
    for one in READ_AT_ONCE:
        most = MOST_BYTES if one.of_rows else settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        sent = right(there, one)
        body = (sent.body if one.of_rows else b"{}") + b" " * most
        refused(replace(sent, body=body), "too large", "too_large", status=413)


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("one", [one for one in WRITING if one.body], ids=lambda one: one.label)
def test_a_hostile_value_in_any_field(there: Tenant, one: Operation) -> None:
    sent = right(there, one)
    begin = WRITING.index(one)
    for (way, schema), (what, value) in spread(places(one.body), VALUES.items(), one_of=4, begin=begin):
        if not any(name in schema["type"] and what in fitting for name, fitting in FITTING.items()):
            error = refused(
                replace(sent, body=with_value(sent.body, way, value)), f"{what} as {way}", "invalid", "too_long"
            )
            assert error["field"].split(".")[0] == way[0]
