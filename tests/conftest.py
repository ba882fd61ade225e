"""What every test may use, and what is skipped where.

The suite runs on the embedded form (SQLite). With TEST_FORM=production it runs on PostgreSQL and Redis instead.
What needs a service that this machine lacks is skipped with the reason; under CI=true that is a failure.
"""

import gc
import os
import shutil
import socket
import subprocess
from collections.abc import Generator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import override_settings
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from tests.environment import BENCH_PYTHON, CHROMIUM, CI, DATABASE_URL, FULL, PRODUCTION, REDIS_PREFIX, REDIS_URL
from tests.processes import Start, end, forget_redis_keys, libfaketime, postgresql_bin, start_manage
from tests.shared import in_order, no_shared_rows_left, shared_rows  # noqa: F401  fixtures
from tests.templates import django_db_keepdb, django_db_modify_db_settings, seed  # noqa: F401  pytest-django's fixtures

# What tests share asserts, too: without this a failure there says nothing of what it compared.
pytest.register_assert_rewrite("tests.faults", "tests.browser", "tests.evalsite")

# No test is timed: a machine that does other work beside it must not fail it.
# A usual run tries the same few examples each time; `make test-full` looks for others.
settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=300 if FULL else 25,
    derandomize=not FULL,
)
settings.load_profile("untimed")


def answers(url: str, default_port: int) -> bool:
    """Whether something listens at the address."""
    parts = urlsplit(url)
    try:
        with socket.create_connection((parts.hostname or "127.0.0.1", parts.port or default_port), timeout=2):
            return True
    except OSError:
        return False


MISSING = {
    "postgresql": "" if answers(DATABASE_URL, 5432) else "no PostgreSQL answers (set TEST_DATABASE_URL)",
    "redis": "" if answers(REDIS_URL, 6379) else "no Redis answers (set TEST_REDIS_URL)",
    "browser": "" if CHROMIUM else "no Chromium on this machine",
    "redis_server": "" if shutil.which("redis-server") else "no redis-server to start here",
    "postgresql_server": "" if postgresql_bin() else "no initdb and pg_ctl of PostgreSQL here",
    "arena_rank": "" if BENCH_PYTHON.exists() else "no arena-rank here (make .venv-bench/.bench)",
    "caddy": "" if shutil.which("caddy") and shutil.which("wget") else "no caddy or no wget here",
    "faketime": "" if libfaketime() else "no libfaketime here (Debian: faketime)",
}


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Thousands of tests stay until the end: the garbage collector need not look at them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# What waits for other processes begins first, so that no process of a run ends long after the others.
FIRST = ("tests/journey/", "tests/browser/")
OWN_SITE = ("tests/browser/test_accounts.py", "tests/browser/test_submissions.py")


class OneSite(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Hand out files to the processes of a run. Those that read the served demonstration go to one process together.

    Otherwise each process would start a demonstration of its own, which takes as long as a file of these tests.
    """

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return "tests/browser" if file.startswith("tests/browser/") and file not in OWN_SITE else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneSite | None:
    return OneSite(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not FULL:
        left_out = [item for item in items if item.get_closest_marker("full")]
        items[:] = [item for item in items if not item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left_out)
    items[:] = in_order(sorted(items, key=lambda item: not item.nodeid.startswith(FIRST)))
    for item in items:
        if PRODUCTION:
            item.add_marker(pytest.mark.postgresql)
            item.add_marker(pytest.mark.redis)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, reason in MISSING.items():
        if reason and item.get_closest_marker(marker):
            if CI:
                pytest.fail(f"{reason}, and under CI=true nothing may be skipped")
            pytest.skip(reason)


@pytest.fixture(scope="session", autouse=True)
def _form() -> Iterator[None]:
    """What the production form needs: static files collected, and its Redis keys forgotten at the end.

    Passwords are hashed fast: an Argon2 hash takes as long as all else that most tests do. test_create_user has one.
    Static files are looked up when they are asked for: every test's clients would else go through all of them first.
    """
    if PRODUCTION:
        call_command("collectstatic", interactive=False, verbosity=0)
    fast = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    with override_settings(PASSWORD_HASHERS=fast, WHITENOISE_AUTOREFRESH=True):
        yield
    if PRODUCTION and not MISSING["redis"]:
        forget_redis_keys(REDIS_URL, REDIS_PREFIX)


@pytest.fixture
def real_votes() -> Path:
    """The folder of real votes, which the project neither ships nor needs."""
    folder = os.environ.get("EVAL_DATA_DIR")
    if not folder:
        pytest.skip("EVAL_DATA_DIR is not set: no folder of real votes to measure on")
    return Path(folder)


@pytest.fixture
def manage(tmp_path: Path) -> Iterator[Start]:
    """Start `manage.py <arguments>` with a data directory and a migrated database of its own; it is ended after."""
    started: list[subprocess.Popen[str]] = []
    seed(tmp_path / "data")

    def start(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        started.append(start_manage(tmp_path / "data", *arguments, output=subprocess.PIPE, **environment))
        return started[-1]

    yield start
    for process in started:
        end(process)
