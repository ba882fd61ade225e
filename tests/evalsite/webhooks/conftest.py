"""Webhooks of alice, whose receivers are servers of this process."""

from typing import Any

import pytest

from evalsite.core.env import networks


@pytest.fixture(autouse=True)
def loopback(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow calls to this machine, and keep the keys of each test apart."""
    monkeypatch.setenv("TOUCHSTONE_ENDPOINT_NETWORKS", "127.0.0.0/8")
    settings.ENDPOINT_NETWORKS = networks("TOUCHSTONE_ENDPOINT_NETWORKS")
    settings.ENDPOINT_KEYS = ["the-first-key-of-these-tests-0123456789"]
