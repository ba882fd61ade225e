"""Every relative link in the documentation leads to a file, and every anchor to a heading."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "CHANGELOG.md")
PAGES = [*(ROOT / name for name in OUTSIDE), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


def links(text: str) -> list[str]:
    """Return the targets of the relative links outside of code."""
    return [target for target in LINK.findall(CODE.sub("", text)) if ":" not in target]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings, as GitHub and the site make them."""
    found: dict[str, int] = {}
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
        if found[anchor]:
            found[f"{anchor}-{found[anchor]}"] = 0
    return set(found)


def broken(page: Path, text: str) -> list[str]:
    """Return the links of a page that lead nowhere."""
    found = []
    for target in links(text):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        here = (
            text if path == page else path.read_text(encoding="utf-8") if path.suffix == ".md" and path.exists() else ""
        )
        if not path.exists() or (anchor and anchor not in anchors(here)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_broken_links_are_found() -> None:
    text = "# A\n## To do, now\n## A\n[x](no.md) [y](#to-do-now) [z](#a-1) [w](#b) `[v](u.md)` [i](README.md#no)"
    assert broken(ROOT / "SECURITY.md", text) == ["no.md", "#b", "README.md#no"]


def test_addresses_of_other_sites_are_not_followed() -> None:
    assert links("[a](https://example.org/x) [b](mailto:x@example.org) [c](docs/api.md)") == ["docs/api.md"]
