"""What sites need whose processes a test starts itself."""

from collections.abc import Iterator

import pytest

from tests.templates import copy_of_postgresql


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty, migrated database, dropped after the test."""
    with copy_of_postgresql() as url:
        yield url
