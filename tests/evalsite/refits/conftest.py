"""What tests of the loop share."""

import pytest

from evalsite.refits import planning


@pytest.fixture
def no_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is kept behind a queue, as where there is nothing more to ask: who finds it low asks for a plan."""
    monkeypatch.setattr(planning, "BACKLOG_SIZE", 0)
