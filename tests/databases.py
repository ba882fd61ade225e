"""Databases beside the one of pytest-django: empty ones of either kind, and this process speaking to them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import dj_database_url
import psycopg
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.db.utils import load_backend

from tests.environment import DATABASE_URL


@contextmanager
def connected(configured: dict[str, Any]) -> Iterator[None]:
    """The ORM of this process speaks to this database."""
    kept = connections["default"]
    own = connections.configure_settings({"default": configured})["default"]
    connections["default"] = load_backend(own["ENGINE"]).DatabaseWrapper(own, "default")
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connections["default"].close()
        connections["default"] = kept
        ContentType.objects.clear_cache()


@contextmanager
def empty_sqlite(folder: Path) -> Iterator[dict[str, Any]]:
    yield {**settings.SQLITE, "NAME": folder / "earlier.sqlite3"}


@contextmanager
def empty_postgresql() -> Iterator[dict[str, Any]]:
    """A database of its own on the tests' server, dropped afterwards."""
    name = f"touchstone_earlier_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(DATABASE_URL, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield dict(dj_database_url.parse(urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}"))))
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
