"""In a real browser: long replies and formulas as people read them, on a phone and on a wide screen."""

from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, Watched, sideways, window

pytestmark = pytest.mark.browser
PHONE = {"viewport": {"width": 375, "height": 667}, "has_touch": True, "is_mobile": True}
WIDE = {"viewport": {"width": 1280, "height": 700}}
# What scrolls up and down by itself, inside the page.
INNER = """() => [...document.querySelectorAll("#content *")].filter((box) => {
  const flow = getComputedStyle(box).overflowY;
  return (flow === "auto" || flow === "scroll") && box.scrollHeight > box.clientHeight + 1;
}).map((box) => box.className)"""
TOP = "(box) => box.getBoundingClientRect().top + scrollY"
BOTTOM = "(box) => box.getBoundingClientRect().bottom + scrollY"


def long_replies(page: Page) -> None:
    page.goto("/judge/showcase/")
    page.get_by_role("button", name="Start judging").click()
    expect(page.locator("#stage[data-state=item]")).to_be_visible()


def fonts_of(page: Page, selector: str) -> list[dict[str, Any]]:
    """The fonts that Chromium draws an element with."""
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    node = devtools.send("DOM.querySelector", {"nodeId": root, "selector": selector})["nodeId"]
    found: list[dict[str, Any]] = devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"]
    return found


def test_on_a_phone_only_the_page_scrolls(browser: Browser, place: Site) -> None:
    with window(browser, base_url=place.url, **PHONE) as context:
        watched = Watched(context.new_page(), place.url)
        page = watched.page
        long_replies(page)
        assert page.evaluate("document.documentElement.scrollHeight > 2 * innerHeight")
        assert page.evaluate(INNER) == []
        contained = page.locator(".scrolls").evaluate_all(
            "all => all.filter((box) => getComputedStyle(box).overscrollBehaviorY !== 'auto').length"
        )
        assert (contained, sideways(page)) == (0, 0)
        assert watched.troubles == []


def test_on_a_phone_the_answers_come_after_both_replies(browser: Browser, place: Site) -> None:
    with window(browser, base_url=place.url, **PHONE) as context:
        page = context.new_page()
        for address in ("/judge/showcase/", "/judge/demonstration/"):
            page.goto(address)
            page.get_by_role("button", name="Start judging").click()
            expect(page.locator("#stage[data-state=item]")).to_be_visible()
            ends = page.locator(".card").evaluate_all(f"all => all.map({BOTTOM})")
            assert len(ends) == 2
            for place_of_page in ("0", "document.documentElement.scrollHeight"):
                page.evaluate(f"scrollTo(0, {place_of_page})")
                assert page.locator(".bar").evaluate(TOP) >= max(ends)


@pytest.mark.full
def test_on_a_wide_screen_long_replies_scroll_and_the_bar_stays(browser: Browser, place: Site) -> None:
    with window(browser, base_url=place.url, **WIDE) as context:
        page = context.new_page()
        long_replies(page)
        assert "scrolls" in page.evaluate(INNER)
        assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
        expect(page.locator(".bar")).to_be_in_viewport()


def test_formulas_are_drawn_with_the_bundled_font(browser: Browser, place: Site) -> None:
    with window(browser, base_url=place.url, **WIDE) as context:
        page = context.new_page()
        long_replies(page)
        page.evaluate("document.fonts.ready")
        expect(page.locator("msqrt").first).to_be_attached()
        for selector in ("math mi", "msqrt mn", "mroot mn"):
            drawn = {(font["familyName"], font["isCustomFont"]) for font in fonts_of(page, selector)}
            assert drawn == {("Touchstone Formulas", True)}, selector
        widths = page.locator("msqrt").first.evaluate(
            "(root) => [root.getBoundingClientRect().width, root.firstElementChild.getBoundingClientRect().width]"
        )
        assert widths[0] > widths[1] + 4, "the root sign takes room"
