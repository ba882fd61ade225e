"""The documentation as a site: each page has its place, its audience, and what it lists is complete."""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.house import command_reference
from tests.house.names import stored

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
INTERNAL = {"TOUCHSTONE_WATCH_PARENT"}  # a process of ours sets it for another one
VARIABLE = re.compile(r"\bTOUCHSTONE_[A-Z0-9_]*[A-Z0-9]\b")


def module(name: str) -> ModuleType:
    """Return a module of docs/site, which is no package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "site" / f"{name}.py")
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def files(part: object) -> Iterator[str]:
    """Yield the files that a navigation names."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, list | dict):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from files(inner)


def test_navigation_has_every_page_once() -> None:
    listed = list(files(yaml.safe_load((DOCS / "site" / "mkdocs.yml").read_text())["nav"]))
    assert len(listed) == len(set(listed))
    assert {page.name for page in PAGES} <= set(listed)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_begins_with_its_audience(page: Path) -> None:
    title, blank, first = page.read_text(encoding="utf-8").splitlines()[:3]
    assert title.startswith("# ")
    assert not blank
    assert first.startswith("For ")


def test_diagrams_have_their_pictures() -> None:
    drawn = {path.name for path in (DOCS / "pictures").glob("diagram-*.svg")}
    assert drawn == set(module("diagrams").diagrams()), "run: python docs/site/diagrams.py"


def test_operations_page_names_every_operation() -> None:
    text = (DOCS / "openapi.yaml").read_text(encoding="utf-8")
    described = yaml.load(text, Loader=yaml.CSafeLoader)["paths"]
    page = module("operations").page(text)
    addresses = [f"{method.upper()} {path}" for path, methods in described.items() for method in methods]
    assert len(addresses) > 50
    assert [address for address in addresses if f"### `{address}`" not in page] == []


def test_page_of_commands_is_current() -> None:
    assert (DOCS / "commands.md").read_text(encoding="utf-8") == command_reference.page(), "run: make reference"


def test_page_of_commands_names_every_command_and_option() -> None:
    text = command_reference.page()
    parsers = command_reference.parsers()
    assert sorted(" ".join(command_reference.SUBJECTS.values()).split()) == sorted(parsers)
    names = [line.split() for line in stored()["commands"] if " -" in line and "=" not in line]
    assert len(names) > 100
    for *command, option in names:
        assert f"`{' '.join(command)}`" in text
        assert re.search(rf"`[^`\n]*{option}\b", text), (command, option)


def test_page_of_settings_names_every_variable() -> None:
    text = (DOCS / "settings.md").read_text(encoding="utf-8")
    rows = "\n".join(line.split("|")[1] for line in text.splitlines() if line.startswith("|"))
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "evalsite").rglob("*.py"))
    wanted = {*stored()["environment"], *VARIABLE.findall(source)} - INTERNAL
    assert len(wanted) > 40
    assert sorted(name for name in wanted if f"`{name}`" not in rows) == []
