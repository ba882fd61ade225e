"""The processes of a run share the work of rewriting the assertions of test modules, once after a change.

pytest rewrites a module when it is imported, and every process of a run imports all of them in the same order: in a
new checkout each would rewrite all modules, half a minute of processor time. Here each process first rewrites a share.
"""

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

TESTS = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    given = getattr(session.config, "workerinput", None)
    if given is None or sys.dont_write_bytecode:
        return
    number, count = int(given["workerid"].removeprefix("gw")), int(given["workercount"])
    for file in sorted(TESTS.rglob("test_*.py"))[number::count]:
        keep_rewritten(file, session.config)


def keep_rewritten(file: Path, config: pytest.Config) -> bool:
    """Put the rewritten module where pytest looks for it, unless a newer one is there; tell whether it was needed."""
    folder = rewrite.get_cache_dir(file)
    kept = folder / f"{file.stem}{rewrite.PYC_TAIL}"
    if kept.exists() and kept.stat().st_mtime >= file.stat().st_mtime:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    source_hash, code = rewrite._rewrite_test(file, config)
    return rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, source_hash, kept)
