"""Public names of the two libraries have numpydoc docstrings: parameters with shapes and units, results, and errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# `Kernels` documents what the compiled kernels and their references implement.
KERNELS = "irt_engine/fitting/kernel_protocol.py"
WORDS = 30  # in a sentence
LONG_SENTENCES = 0.02  # the share that may be longer


@dataclass(frozen=True)
class PublicName:
    path: str
    name: str
    node: ast.FunctionDef | ast.ClassDef
    owner: ast.ClassDef | None

    def __str__(self) -> str:
        return f"{self.path}: {self.name}"

    @property
    def docstring(self) -> str:
        return ast.get_docstring(self.node) or ""

    @property
    def is_property(self) -> bool:
        return any("property" in ast.unparse(one) for one in self.node.decorator_list)


def sources() -> Iterator[Path]:
    for library in ("irt_engine", "scheduler"):
        yield from sorted((ROOT / library).rglob("*.py"))


def public_names(path: Path) -> Iterator[PublicName]:
    """Yield functions, classes and methods without a leading underscore; of overloads only the implementation."""
    where = str(path.relative_to(ROOT))
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield PublicName(where, node.name, node, None)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for part in node.body:
                if isinstance(part, ast.FunctionDef) and not part.name.startswith("_") and not _overload(part):
                    yield PublicName(where, f"{node.name}.{part.name}", part, node)


def _overload(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(one) == "overload" for one in node.decorator_list)


NAMES = [name for path in sources() for name in public_names(path)]
# Methods of protocols are documented once: "Return ...; see `Protocol.method`" is enough where they are implemented.
PROTOCOLS = {
    part.name
    for name in NAMES
    if isinstance(name.node, ast.ClassDef) and any(ast.unparse(base).startswith("Protocol") for base in name.node.bases)
    for part in name.node.body
    if isinstance(part, ast.FunctionDef)
}


def parameters(name: PublicName) -> list[str]:
    """Return the parameters of a function, or the fields or parameters of a class."""
    node = name.node
    if isinstance(node, ast.ClassDef):
        if any(ast.unparse(base).startswith("Protocol") for base in node.bases):
            return []
        begin = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if begin is None:
            fields = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            return [ast.unparse(one.target) for one in fields if "ClassVar" not in ast.unparse(one.annotation)]
        node = begin
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *([given.vararg] if given.vararg else [])]
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def documented(docstring: str) -> set[str]:
    """Return the names under Parameters."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}$|\Z)", docstring, re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^(\*{0,2}\w[^:\n]*)(?: :|$)", section[1], re.MULTILINE) if section else []
    return {part.strip().lstrip("*") for head in heads for part in head.split(",")}


def exempt(name: PublicName) -> bool:
    """Return whether a name implements one that is documented in a protocol."""
    if name.owner is not None:
        return name.node.name in PROTOCOLS and not any("Protocol" in ast.unparse(base) for base in name.owner.bases)
    return name.path.startswith("irt_engine/fitting/compiled/") or (
        name.path.startswith("irt_engine/fitting/reference") and name.node.name in PROTOCOLS
    )


def missing(name: PublicName) -> list[str]:
    """Return what a docstring lacks."""
    lacks = [] if name.docstring.partition("\n")[0].endswith((".", "…")) else ["a first line that ends in a full stop"]
    if exempt(name):
        return lacks
    lacks += [f"parameter {one}" for one in parameters(name) if one not in documented(name.docstring)]
    node = name.node
    returns = isinstance(node, ast.FunctionDef) and node.returns is not None and ast.unparse(node.returns) != "None"
    if returns and not name.is_property and not re.search(r"^(Returns|Yields)\n---", name.docstring, re.MULTILINE):
        lacks.append("section Returns")
    return lacks


def test_public_names_have_complete_numpydoc_docstrings() -> None:
    assert len(NAMES) > 500
    assert {str(name): lacks for name in NAMES if (lacks := missing(name))} == {}


def test_compiled_kernels_are_documented_by_their_protocol() -> None:
    names = {name.node.name for name in NAMES if name.path == KERNELS and name.owner is not None}
    assert "expected_terms" in names


def prose(docstring: str) -> Iterator[str]:
    """Yield the sentences of a docstring and of its descriptions of parameters."""
    parts = re.split(r"\n\s*\n|\n(?=\S[^\n]* : )|\n[\w ]+\n-{3,}\n", docstring)
    for part in parts:
        text = re.sub(r"^\S[^\n]* : [^\n]*\n", "", part)
        yield from (one for one in re.split(r"(?<=[.:;?!])\s+(?=[A-Z`(0-9])", " ".join(text.split())) if one)


def test_few_sentences_of_docstrings_are_long() -> None:
    sentences = [one for name in NAMES for one in prose(name.docstring)]
    long = [one for one in sentences if len(one.split()) > WORDS]
    assert len(long) <= LONG_SENTENCES * len(sentences), "\n".join(long)


CLASS = """
class A:
    '''Store a.

    Parameters
    ----------
    a, b : int
        Numbers.
    '''

    a: int
    b: int
    c: int
"""


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ('def f(a: int) -> int:\n    """Return a."""\n', ["parameter a", "section Returns"]),
        ('def f() -> None:\n    """Do it"""\n', ["a first line that ends in a full stop"]),
        (CLASS, ["parameter c"]),
    ],
)
def test_incomplete_docstrings_are_found(source: str, lacks: list[str]) -> None:
    node = ast.parse(source).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    assert missing(PublicName("scheduler/x.py", node.name, node, None)) == lacks
