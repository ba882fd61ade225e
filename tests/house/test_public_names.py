"""Tests use the public names of the project, so that its modules can change inside."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"irt_engine", "scheduler", "evalsite"}
IMPORT = re.compile(r"^[ \t]*(?:from|import)\s(?:[^(\n\\]|\\\n)*(?:\([^)]*\))?", re.MULTILINE)
PRIVATE = re.compile(r"\b_(?!_future__\b)")


def private_imports(source: str) -> Iterator[str]:
    """Yield each name beginning with an underscore that is imported from a package of the project."""
    if not any(PRIVATE.search(one) for one in IMPORT.findall(source)):
        return  # parsing takes far longer than this
    for one in ast.walk(ast.parse(source)):
        if isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] in PACKAGES:
            yield from (f"{one.module}.{name.name}" for name in one.names if _is_private(f"{one.module}.{name.name}"))
        elif isinstance(one, ast.Import):
            yield from (
                name.name for name in one.names if name.name.partition(".")[0] in PACKAGES and _is_private(name.name)
            )


def _is_private(path: str) -> bool:
    return any(part.startswith("_") for part in path.split("."))


def test_tests_import_no_private_name() -> None:
    paths = sorted((ROOT / "tests").rglob("test_*.py"))
    assert paths
    found = {str(path.relative_to(ROOT)): list(private_imports(path.read_text())) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from evalsite.core import _inner", ["evalsite.core._inner"]),
        ("from scheduler._inner import f", ["scheduler._inner.f"]),
        ("import irt_engine._inner", ["irt_engine._inner"]),
        (
            "if 1:\n    from evalsite.core import (\n        jobs,\n        _inner as inner,\n    )",
            ["evalsite.core._inner"],
        ),
        ("import os, \\\n    evalsite._inner", ["evalsite._inner"]),
        ("from evalsite.core import jobs\nfrom somewhere import _odd", []),
    ],
)
def test_private_imports_are_found(source: str, found: list[str]) -> None:
    assert list(private_imports(source)) == found
