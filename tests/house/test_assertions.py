"""Every test checks something, whatever its loops and branches do."""

import ast
from pathlib import Path

import pytest

from tests.house.assertions import ROOT, Module, Scope, asserts, unsure

# Tests that may run without an assertion, each with the reason.
EXCEPTIONS: dict[str, str] = {}


def test_every_test_certainly_asserts() -> None:
    found = unsure()
    assert [name for name in found if name not in EXCEPTIONS] == [], "assert outside of loops and branches that it ran"
    assert [name for name in EXCEPTIONS if name not in found] == [], "these need no exception any more"


def test_exceptions_have_reasons() -> None:
    assert [name for name, reason in EXCEPTIONS.items() if len(reason.split()) < 3] == []


CERTAIN = [
    "assert x",
    "with pytest.raises(ValueError):\n    f()",
    "for one in (1, 2):\n    assert one",
    "for one in range(3):\n    assert one",
    "for one in LIMITS:\n    assert one",
    "for n, one in enumerate(LIMITS):\n    assert one",
    "if x:\n    assert 1\nelse:\n    assert 2",
    "with open(x) as file:\n    assert file",
    "rows = [1, 2]\nfor row in rows:\n    assert row",
    "def inner():\n    assert 1\ninner()",
    "np.testing.assert_allclose(x, y)",
    "expect(page).to_be_visible()",
    "monkeypatch.setattr(x, 'y', lambda: pytest.fail('called'))",
]
UNSURE = [
    "f()",
    "for row in rows():\n    assert row",
    "for row in []:\n    assert row",
    "for one in range(0):\n    assert one",
    "for one in range(len(x)):\n    assert one",
    "if x:\n    assert 1",
    "while f():\n    assert 1",
    "def inner():\n    assert 1",
    "[check(row) for row in rows()]",
    "try:\n    f()\nexcept ValueError:\n    assert 1",
    "rows = f()\nfor row in rows:\n    assert row",
]


@pytest.mark.parametrize("body", CERTAIN)
def test_assertions_that_run_are_found(body: str) -> None:
    assert _certain(body)


@pytest.mark.parametrize("body", UNSURE)
def test_assertions_that_may_not_run_are_told_apart(body: str) -> None:
    assert not _certain(body)


def _certain(body: str) -> bool:
    tree = ast.parse("def test_it(x):\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    return asserts(function, Scope(Module(tree, {}, {}, {}, {})))


def test_a_test_without_assertion_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.house.assertions.ROOT", tmp_path)
    (tmp_path / "test_odd.py").write_text("def test_nothing():\n    pass\n\n\ndef test_one():\n    assert 1\n")
    assert unsure(tmp_path) == ["test_odd.py::test_nothing"]
    assert ROOT.exists()
