"""The cast of the service's tests, for attacks that go through its pages and its API."""

from tests.evalsite.conftest import (
    _no_rows_at_the_end,
    alice,
    bob,
    campaign,
    charlie,
    dora,
    english,
    make_campaign,
    nobody_has_knocked,
    organisation,
    owner,
    shared_rows,
    stranger,
)

__all__ = [
    "_no_rows_at_the_end",
    "alice",
    "bob",
    "campaign",
    "charlie",
    "dora",
    "english",
    "make_campaign",
    "nobody_has_knocked",
    "organisation",
    "owner",
    "shared_rows",
    "stranger",
]
