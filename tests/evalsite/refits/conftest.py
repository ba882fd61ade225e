"""What tests of the loop share."""

import pytest

from evalsite.judgments import queue


@pytest.fixture
def no_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue has a head only, as where there is nothing more to ask: who finds it low asks for a plan."""
    monkeypatch.setattr(queue, "BLOCKS_BEHIND", 0)
