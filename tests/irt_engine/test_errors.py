"""Errors keep what they say on their way out of a process pool."""

from __future__ import annotations

import copy
import pickle

import pytest

from irt_engine import DidNotConverge, EngineError, InvalidResponses, NotIdentified


@pytest.mark.parametrize("kind", [EngineError, InvalidResponses, NotIdentified, DidNotConverge])
def test_an_error_is_the_same_after_pickling_and_copying(kind: type[EngineError]) -> None:
    error = kind("row 3: no name", code="missing_name", hint="give one")
    error.add_note("while reading votes.csv")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):  # noqa: S301, our own
        assert type(other) is kind
        assert (other.message, other.code, other.hint) == ("row 3: no name", "missing_name", "give one")
        assert str(other) == str(error) == "row 3: no name (give one)"
        assert other.args == error.args
        assert other.__notes__ == ["while reading votes.csv"]
