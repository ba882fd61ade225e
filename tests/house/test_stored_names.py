"""What others rely on keeps its name: operations and fields of the API, flags, variables, settings, tables, pages."""

import pytest

from tests.house.names import FILE, collected, stored, written

SECTIONS = ["api", "commands", "environment", "settings", "tables", "pages"]


@pytest.fixture(scope="module")
def names() -> dict[str, list[str]]:
    return collected()


@pytest.mark.parametrize("section", SECTIONS)
def test_every_stored_name_is_still_there(names: dict[str, list[str]], section: str) -> None:
    gone = sorted(set(stored()[section]) - set(names[section]))
    head = f"Others rely on these names ({section}), and the code no longer has them:"
    advice = f"Restore them. If the removal is intended, delete their lines in {FILE.name} and say so in CHANGELOG.md."
    assert not gone, "\n".join([head, *gone, advice])


def test_every_section_is_stored_and_long() -> None:
    assert {section: len(found) for section, found in stored().items() if len(found) < 30} == {}
    assert [*stored()] == [*SECTIONS, "exports"]


def test_file_is_read_back_as_it_was_written() -> None:
    assert written(stored()) == FILE.read_text(encoding="utf-8")
