"""One class name stands for one thing."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Names that a framework gives: each command and migration is a module of its own.
GIVEN = {"Command", "Migration"}
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)


def test_class_names_are_unique() -> None:
    places = defaultdict(list)
    for package in ("evalsite", "irt_engine", "scheduler"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in CLASS.findall(path.read_text()):
                if name not in GIVEN and not name.startswith("_"):
                    places[name].append(str(path.relative_to(ROOT)))
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
