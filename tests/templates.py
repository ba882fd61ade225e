"""A migrated, empty database, made once per state of the migrations, which tests copy instead of migrating anew.

SQLite's is a file and PostgreSQL's a database of the tests' server that nobody may connect to. pytest-django's own
test database is such a copy (this module is a plugin of tests/conftest.py), and so are those of sites that tests start.
A template that is half made has another name, so what is found under the right name is whole.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from sqlite3 import connect
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
import django
import psycopg
import pytest
from django.apps import apps
from django.conf import settings

from tests.databases import own_postgresql
from tests.environment import DATABASE_URL, PATIENCE_S, REDIS_URL
from tests.processes import ROOT

CACHE = ROOT / "var" / "test-templates"
FILE = "touchstone.sqlite3"  # as a site names its own, in its data directory
POSTGRESQL = "touchstone_template_"
KEPT_S = 14 * 24 * 3600  # another checkout may have other migrations: its template on the server is not ours to drop
OWN_MODULE = re.compile(r"^(?:from|import) (evalsite[\w.]*)", re.MULTILINE)
PRODUCTION = {
    "REDIS_URL": REDIS_URL,
    "SECRET_KEY": "templates-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDE",
    "ALLOWED_HOSTS": "127.0.0.1",
}


@cache
def state() -> str:
    """Return a hash of everything that decides what a migrated database is: migrations, what they import, Django."""
    migrations = [file for app in apps.get_app_configs() for file in sorted(Path(app.path, "migrations").glob("*.py"))]
    imported = {name for file in migrations for name in OWN_MODULE.findall(file.read_text())}
    own = [ROOT / f"{name.replace('.', '/')}.py" for name in sorted(imported)]
    digest = hashlib.sha256(f"{django.__version__} {sorted(apps.app_configs)}".encode())
    for file in [*migrations, *own]:
        digest.update(file.name.encode() + file.read_bytes() if file.exists() else b"")
    return digest.hexdigest()[:16]


@contextmanager
def migrated_sqlite(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the settings of an empty, migrated database in this folder."""
    yield {**settings.SQLITE, "NAME": seed(folder)}


@contextmanager
def migrated_postgresql() -> Iterator[dict[str, Any]]:
    """Yield the settings of an empty, migrated database on the tests' server, which is dropped afterwards."""
    with copy_of_postgresql() as url:
        yield dict(dj_database_url.parse(url))


def seed(folder: Path) -> Path:
    """Put an empty, migrated database where a site with this data directory keeps its own, unless it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    if not file.exists():
        shutil.copyfile(sqlite_template(), file)
    return file


@contextmanager
def copy_of_postgresql() -> Iterator[str]:
    """Yield the address of a copy of the template, dropped afterwards."""
    with own_postgresql(postgresql_template()) as url:
        yield url


def sqlite_template() -> Path:
    """Return the file, made first where there is none."""
    file = CACHE / state() / FILE
    if not file.exists():
        with _making():
            if not file.exists():
                _make_sqlite(file)
    os.utime(file.parent)  # used today
    return file


def postgresql_template() -> str:
    """Return the name of the template on the tests' server, made first where there is none.

    Each role has its own: a role may not copy the database of another one.
    """
    role = hashlib.sha256((urlsplit(DATABASE_URL).username or "").encode()).hexdigest()[:4]
    name = f"{POSTGRESQL}{state()}_{role}"
    with psycopg.connect(DATABASE_URL, autocommit=True) as server:
        if not _there(server, name):
            server.execute("SELECT pg_advisory_lock(hashtext(%s))", [name])  # other checkouts use the same server
            if not _there(server, name):
                _make_postgresql(server, name)
    return name


def cluster_template(version: str, make: Callable[[Path], None]) -> Path:
    """Return the data directory of a stopped PostgreSQL with a migrated database; `make` creates it in a folder."""
    folder = CACHE / state() / f"cluster-{version}"
    if not folder.exists():
        with _making():
            if not folder.exists():
                half = folder.with_name(f"half-{uuid.uuid4().hex[:8]}")
                half.parent.mkdir(parents=True, exist_ok=True)
                make(half)
                half.rename(folder)
    return folder


def migrate(data: Path, **environment: str) -> None:
    """Migrate a site's database, in its data directory or at the given DATABASE_URL, by the site's own command."""
    configured = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS"}
    clean = {name: value for name, value in os.environ.items() if name not in configured}
    if "DATABASE_URL" in environment:
        clean |= PRODUCTION
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env={**clean, "TOUCHSTONE_DATA_DIR": str(data), **environment},
        check=True,
        timeout=PATIENCE_S,
    )


@contextmanager
def _making() -> Iterator[None]:
    """Hold the lock of the folder: the processes of a run would otherwise make the same template at once."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for folder in CACHE.iterdir():
            if folder.is_dir() and folder.stat().st_mtime < time.time() - KEPT_S:
                shutil.rmtree(folder, ignore_errors=True)
        yield


def _make_sqlite(file: Path) -> None:
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        migrate(Path(folder))
        made = Path(folder) / FILE
        with closing(connect(made)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the file alone is the whole database
        file.parent.mkdir(exist_ok=True)
        made.rename(file)


def _there(server: psycopg.Connection, name: str) -> bool:
    return server.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is not None


def _make_postgresql(server: psycopg.Connection, name: str) -> None:
    """Migrate a database under another name, then give it its own and let nobody in: a copy needs it unused."""
    _drop_old(server)
    with own_postgresql() as url, tempfile.TemporaryDirectory() as data:
        migrate(Path(data), DATABASE_URL=url)
        half = urlsplit(url).path[1:]
        server.execute(f'ALTER DATABASE "{half}" WITH ALLOW_CONNECTIONS false')
        server.execute("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s", [half])
        server.execute(f"COMMENT ON DATABASE \"{half}\" IS '{time.time():.0f}'")
        server.execute(f'ALTER DATABASE "{half}" RENAME TO "{name}"')


def _drop_old(server: psycopg.Connection) -> None:
    listed = server.execute(
        "SELECT datname, shobj_description(oid, 'pg_database') FROM pg_database WHERE starts_with(datname, %s)",
        [POSTGRESQL],
    )
    for name, made_at in listed.fetchall():
        if float(made_at or 0) < time.time() - KEPT_S:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """What is at the test database's place is used: `django_db_modify_db_settings` has just put it there."""
    return True


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """A copy of the template is the test database of this process; no other run has the same one."""
    test = settings.DATABASES["default"].setdefault("TEST", {})
    # It needs Django's apps, and scripts without them import this module.
    from tests.flush import flush_with_sequences, quick_flush

    if settings.PRODUCTION:
        with copy_of_postgresql() as url, quick_flush():
            test["NAME"] = urlsplit(url).path[1:]
            yield
    else:
        shutil.copyfile(sqlite_template(), test["NAME"])
        with flush_with_sequences():
            yield
