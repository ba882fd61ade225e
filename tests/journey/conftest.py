"""What sites need whose processes a test starts itself."""

import uuid
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

from tests.environment import DATABASE_URL


@pytest.fixture
def database() -> Iterator[str]:
    """The address of an empty database, dropped after the test."""
    name = f"touchstone_journey_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(DATABASE_URL, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
        yield urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}"))
        connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
