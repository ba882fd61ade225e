"""The environment of a test run, set before Django reads its settings (pytest loads this file first: see addopts).

Nothing of the developer's own configuration may leak in. TEST_FORM=production chooses PostgreSQL and Redis. Every
process of a run (pytest-xdist's workers, and the one that hands out) reads this for itself: each has a data directory
and a Redis prefix of its own, and pytest-django gives each a database of its own.
"""

import os
import shutil
import tempfile
import uuid
from pathlib import Path

CI = os.environ.get("CI", "").lower() in {"1", "true"}
PRODUCTION = os.environ.get("TEST_FORM") == "production"
FULL = os.environ.get("TEST_FULL", "").lower() in {"1", "true"}  # `make test-full`: every case, at length
PATIENCE_S = 600  # how long a test waits for a condition before it fails: never a measure of speed
DATABASE_URL = os.environ.get("TEST_DATABASE_URL", "postgres://postgres@127.0.0.1:5432/postgres")
REDIS_URL = os.environ.get("TEST_REDIS_URL", "redis://127.0.0.1:6379/9")
REDIS_PREFIX = f"touchstone-tests-{uuid.uuid4().hex[:8]}"  # throttles of an earlier run must not count in this one
BENCH_PYTHON = Path(__file__).resolve().parents[1] / ".venv-bench" / "bin" / "python"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"  # the processes share the processors already, and no matrix here is large
for name in (
    "DATABASE_URL",
    "REDIS_URL",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
    "SITE_URL",
    "TOUCHSTONE_DEBUG",
    "TOUCHSTONE_ENDPOINT_KEYS",
    "TOUCHSTONE_ENDPOINT_NETWORKS",
    "TOUCHSTONE_REDIS_PREFIX",
):
    os.environ.pop(name, None)
os.environ["TOUCHSTONE_DATA_DIR"] = tempfile.mkdtemp(prefix="touchstone-tests-")
os.environ["TOUCHSTONE_NEWCOMER_PERCENT"] = "100"  # all of a test's annotators come from one address
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's synchronous API runs a loop in the test's thread
if PRODUCTION:
    os.environ |= {
        "DATABASE_URL": DATABASE_URL,
        "REDIS_URL": REDIS_URL,
        "TOUCHSTONE_REDIS_PREFIX": REDIS_PREFIX,
        "SECRET_KEY": "tests-only-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGH",
        "TOUCHSTONE_ENDPOINT_KEYS": "tests-only-key-of-endpoints-0123456789-abcdefghijkl",
        "ALLOWED_HOSTS": "testserver,localhost,127.0.0.1",
        "TOUCHSTONE_HTTPS": "no",
        "STATIC_ROOT": os.environ["TOUCHSTONE_DATA_DIR"] + "/static",
    }


def pytest_unconfigure() -> None:
    shutil.rmtree(os.environ["TOUCHSTONE_DATA_DIR"], ignore_errors=True)
