"""The cast of the service's tests, for attacks that go through its pages and its API."""

from tests.evalsite.fixtures import (
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
    stranger,
)

__all__ = [
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
    "stranger",
]
