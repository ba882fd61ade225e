"""Another language and the other direction of writing break no page: words are longer, and left is right."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched, sideways, window
from tests.browser.test_every_page import BOARD, chatbot_page, violations

pytestmark = pytest.mark.browser

JUDGE = "/judge/demonstration/"
OTHERS = ("/", f"{BOARD}charts/", f"{BOARD}method/", "a chatbot", "/me/", "/account/sign-up/")
PAGES = [BOARD, JUDGE, *(pytest.param(path, marks=pytest.mark.full) for path in OTHERS)]

# What lies left of the window, except within what scrolls by itself: that way no scroll bar leads.
CUT_OFF = """
[...document.querySelectorAll('main *')].filter(e => {
  if (!e.offsetParent || e.closest('.visually-hidden') || e.getBoundingClientRect().left >= -1) return false;
  for (let up = e; up; up = up.parentElement) if (/auto|scroll/.test(getComputedStyle(up).overflowX)) return false;
  return true;
}).map(e => e.outerHTML.slice(0, 120))
"""


@pytest.fixture(
    scope="module",
    params=[pytest.param((1280, 900), id="wide", marks=pytest.mark.full), pytest.param((375, 800), id="narrow")],
)
def german(browser: Browser, judged_site: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A reader whose browser asks for German."""
    width, height = request.param
    look = {"viewport": {"width": width, "height": height}, "locale": "de-DE", "color_scheme": "light"}
    with window(browser, base_url=judged_site, **look) as context:
        watched = Watched(context.new_page(), judged_site)
        yield watched
    assert watched.troubles == []


def kept(page: Page, name: str) -> None:
    """A picture, where one is wanted."""
    if folder := os.environ.get("PICTURES"):
        width = page.evaluate("innerWidth")
        page.screenshot(
            path=Path(folder) / f"{name.strip('/').replace('/', '-') or 'home'}-{width}.png", full_page=True
        )


def opened(reader: Watched, path: str) -> Page:
    reader.open(chatbot_page(reader.site) if path == "a chatbot" else path)
    return reader.page


@pytest.mark.parametrize("path", PAGES)
def test_german_fits_and_is_marked_as_german(german: Watched, path: str) -> None:
    page = opened(german, path)
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator(".skip-link")).to_have_text("Zum Inhalt springen")
    assert violations(page) == []
    assert sideways(page) <= 0
    kept(page, f"de-{path}")


@pytest.mark.parametrize("path", PAGES)
def test_right_to_left_fits_and_turns_the_page_round(german: Watched, path: str) -> None:
    page = opened(german, path)
    mark = page.locator(".brand").first
    before = mark.bounding_box()
    page.evaluate("document.documentElement.dir = 'rtl'")
    after = mark.bounding_box()
    assert before is not None
    assert after is not None
    assert before["x"] < after["x"], "what begins a line stands on the right"
    assert abs(sideways(page)) == 0
    assert page.evaluate(CUT_OFF) == [], "nothing is cut off on the left"
    kept(page, f"rtl-{path}")


def test_a_block_is_judged_in_german_by_its_keys(german: Watched) -> None:
    page = opened(german, JUDGE)
    page.get_by_role("button", name="Bewertung beginnen").click()
    expect(page.locator("#stage[data-state=item]")).to_be_visible()
    assert violations(page) == []
    assert sideways(page) <= 0
    kept(page, "de-judging")
    page.keyboard.press("a")
    expect(page.locator("#stage-heading")).to_contain_text("2 von")


def test_no_word_of_a_boards_tabs_is_broken(german: Watched) -> None:
    german.open(BOARD)
    tabs = german.page.locator(".board-head .tabs a")
    assert tabs.all_inner_texts() == ["Rangfolge", "Diagramme", "Prompts", "Methode", "Daten"]
    heights = {tabs.nth(number).bounding_box()["height"] for number in range(5)}  # type: ignore[index]
    assert max(heights) < 48, f"one line of text and its room each, not {heights}"


def test_a_reader_changes_the_language_where_they_are(german: Watched) -> None:
    page = opened(german, f"{BOARD}method/")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    assert page.url.endswith(f"{BOARD}method/")
    page.get_by_role("button", name="Deutsch").click()
    expect(page.locator("html")).to_have_attribute("lang", "de")
