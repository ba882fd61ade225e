"""Two threads may import the libraries at the same moment: the worker's jobs and its warm-up do.

Python then breaks a deadlock of import locks by handing out a half-loaded package. That cannot happen while no module
imports from a package that contains it.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = ("irt_engine", "scheduler")

AT_ONCE = """
import importlib, threading
failed = []
def load(name):
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}: {error}")
names = ("irt_engine.fitting", "irt_engine.agreement.collusion")
threads = [threading.Thread(target=load, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(failed)
"""


def imported(path: Path) -> set[str]:
    """Return the modules that a file imports from, with relative imports resolved."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = path.relative_to(ROOT).parent.parts
            package = above[: len(above) - node.level + 1] if node.level else ()
            found.add(".".join([*package, *([node.module] if node.module else [])]))
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_module_imports_from_a_package_that_contains_it(library: str) -> None:
    modules = [path for path in sorted((ROOT / library).rglob("*.py")) if path.name != "__init__.py"]
    assert len(modules) > 20
    for path in modules:
        parents = path.relative_to(ROOT).parent.parts
        containing = {".".join(parents[: depth + 1]) for depth in range(len(parents))}
        assert not imported(path) & containing, path


def test_two_threads_load_the_engine_at_once() -> None:
    result = subprocess.run([sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
