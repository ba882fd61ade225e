"""The list of planted mistakes (mutations.py) fits the code of today."""

from collections import Counter

import pytest

from tests.house.mutations import FEWEST, MUTATIONS, ROOT, Mutation


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_mutation_changes_one_place_of_code(mutation: Mutation) -> None:
    text = (ROOT / mutation.file).read_text(encoding="utf-8")
    changed = mutation.applied_to(text)
    assert changed != text
    compile(changed, mutation.file, "exec")
    for mirror in mutation.mirrors:
        assert (ROOT / mirror).is_file()


def _package_of(file: str) -> str:
    """Return a library, or an app of the service."""
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "evalsite" else parts[0]


def test_mutations_are_spread_over_four_packages() -> None:
    assert len(MUTATIONS) == 30 >= FEWEST
    assert len({one.name for one in MUTATIONS}) == 30
    spread = Counter(_package_of(one.file) for one in MUTATIONS)
    assert spread.keys() == {"evalsite/judgments", "evalsite/refits", "scheduler", "irt_engine"}
    assert min(spread.values()) >= 7
    assert sum(one.on_postgresql for one in MUTATIONS) == 2
