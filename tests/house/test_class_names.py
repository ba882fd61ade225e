"""One class name stands for one thing."""

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names that a framework gives: each command and migration is a module of its own.
GIVEN = {"Command", "Migration"}


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for package in ("evalsite", "irt_engine", "scheduler"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and node.name not in GIVEN and not node.name.startswith("_"):
                    places[node.name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
