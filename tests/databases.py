"""Databases beside the one of pytest-django: empty ones of either kind, and this process speaking to them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import dj_database_url
import psycopg
from django.conf import settings
from django.db import connections
from django.db.utils import load_backend

from tests.environment import DATABASE_URL

PREFIX = "touchstone_tests_"  # of every database that a run makes for itself


@contextmanager
def connected(configured: dict[str, Any]) -> Iterator[None]:
    """The ORM of this process speaks to this database."""
    from django.contrib.contenttypes.models import ContentType  # it needs Django's apps

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
    with own_postgresql() as url:
        yield dict(dj_database_url.parse(url))


@contextmanager
def own_postgresql(template: str = "") -> Iterator[str]:
    """Create a database on the tests' server, empty or a copy of the template; yield its address, and drop it.

    An advisory lock lasts as long as this process uses it: a run that was killed leaves no lock, and the next one
    drops its databases.
    """
    drop_abandoned()
    name = f"{PREFIX}{uuid.uuid4().hex[:12]}"
    with psycopg.connect(DATABASE_URL, autocommit=True) as server:
        server.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])
        server.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
        try:
            server.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')  # it need not survive a power cut
            yield address_of(name)
        finally:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def address_of(name: str) -> str:
    """Return the address of a database on the tests' server."""
    return urlunsplit(urlsplit(DATABASE_URL)._replace(path=f"/{name}"))


@cache
def drop_abandoned() -> None:
    """Drop the databases of runs that no longer exist, once in a process. Those of other roles are theirs to drop."""
    with psycopg.connect(DATABASE_URL, autocommit=True) as server:
        own = "SELECT datname FROM pg_database WHERE starts_with(datname, %s) AND pg_has_role(datdba, 'USAGE')"
        listed = server.execute(own, [PREFIX]).fetchall()
        for (name,) in listed:
            (free,) = server.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [name]).fetchone() or (False,)
            if free:
                server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
                server.execute("SELECT pg_advisory_unlock(hashtext(%s))", [name])
