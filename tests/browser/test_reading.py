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
        first, second = page.locator(".sides a").all()
        expect(first).to_have_attribute("aria-current", "true")
        page.locator("#answer [type=radio]").evaluate_all("all => all.forEach((one) => { one.checked = true; })")
        page.locator("#answer").evaluate("(form) => form.requestSubmit(form.querySelector('[type=submit]'))")
        expect(page.locator("#trouble")).to_contain_text("has not been on the screen")
        expect(page.locator("#card-B")).to_be_in_viewport()
        expect(page.locator("#stage-heading")).to_contain_text("1 of 3")
        expect(second).to_have_attribute("aria-current", "true")
        second.tap()
        switch = page.locator(".sides").evaluate("(box) => box.getBoundingClientRect().bottom")
        assert page.locator("#card-B").evaluate("(box) => box.getBoundingClientRect().top") >= switch - 1
        contained = page.locator(".scrolls").evaluate_all(
            "all => all.filter((box) => getComputedStyle(box).overscrollBehaviorY !== 'auto').length"
        )
        assert (contained, sideways(page)) == (0, 0)
        assert watched.troubles == []


SMALL = """() => [...document.querySelectorAll(
  "button, summary, input:not([type=hidden]), select, textarea, :is(.masthead, .tabs, .colophon, .answers, .sides) a"
)].map((one) => one.matches("input") && one.closest("label") ? one.closest("label") : one)
  .filter((one) => one.checkVisibility() && !one.closest(".visually-hidden, .skip-link"))
  .filter((one) => one.getBoundingClientRect().height < 43.5)
  .map((one) => one.outerHTML.slice(0, 100))"""


def test_on_a_phone_what_is_tapped_has_44_pixels(browser: Browser, place: Site) -> None:
    with window(browser, base_url=place.url, **PHONE) as context:
        page = context.new_page()
        for address in ("/", "/boards/demonstration/", "/me/", "/account/login/"):
            page.goto(address)
            assert page.evaluate(SMALL) == [], address
        long_replies(page)
        page.locator("#skip summary").tap()
        assert page.evaluate(SMALL) == []
        page.locator("#skip legend").tap()
        expect(page.locator("#skip form")).to_be_visible()
        page.locator(".prompt").tap(force=True)
        expect(page.locator("#skip form")).to_be_hidden()
        page.locator("#skip summary").tap()
        page.get_by_role("button", name="Cancel").tap()
        expect(page.locator("#skip form")).to_be_hidden()


def test_on_a_phone_the_first_chatbot_is_above_the_fold(browser: Browser, judged_site: str) -> None:
    with window(browser, base_url=judged_site, **PHONE) as context:
        page = context.new_page()
        page.goto("/boards/demonstration/")
        rows = page.locator(".ranking tbody tr:not(.part)")
        expect(rows.first).to_be_in_viewport(ratio=1)
        heights = rows.evaluate_all("all => all.map((one) => Math.round(one.getBoundingClientRect().height))")
        assert max(heights) <= 48, "one line for each chatbot"
        expect(page.locator("#filters")).to_be_hidden()
        page.get_by_role("button", name="Filters").tap()
        expect(page.locator("#filters")).to_be_visible()
        assert sideways(page) <= 0


@pytest.mark.parametrize("look", [WIDE, PHONE], ids=["wide", "phone"])
def test_more_columns_are_shown_sorted_by_and_put_away(
    browser: Browser, judged_site: str, look: dict[str, Any]
) -> None:
    with window(browser, base_url=judged_site, **look) as context:
        page = context.new_page()
        page.goto("/boards/demonstration/")
        errors = page.locator(".ranking td.se")
        expect(page.locator(".ranking td.ability").first).to_be_attached()
        expect(errors).to_have_count(0)
        page.get_by_role("link", name="More columns").click()
        expect(errors).not_to_have_count(0)
        errors.first.scroll_into_view_if_needed()
        expect(errors.first).to_be_in_viewport()
        page.get_by_role("columnheader", name="SE").get_by_role("link").click()
        expect(page.get_by_role("columnheader", name="SE")).to_have_attribute("aria-sort", "ascending")
        shown = [float(text) for text in errors.all_inner_texts()]
        assert shown == sorted(shown)
        assert sideways(page) <= 0, "the table scrolls in its own frame"
        page.get_by_role("link", name="Fewer columns").click()
        expect(errors).to_have_count(0)


@pytest.mark.full
def test_a_low_window_and_a_large_zoom_show_text(browser: Browser, place: Site) -> None:
    for width, height in ((844, 390), (640, 450)):
        with window(browser, base_url=place.url, viewport={"width": width, "height": height}) as context:
            page = context.new_page()
            long_replies(page)
            page.locator("#card-A").evaluate("(card) => card.scrollIntoView({block: 'start'})")
            expect(page.locator(".bar")).not_to_be_in_viewport()
            shown = page.locator("#card-A").evaluate(
                "(card) => Math.min(innerHeight - card.getBoundingClientRect().top, card.offsetHeight)"
            )
            assert shown > 0.5 * height


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
        code = page.locator(".card pre").first
        assert code.evaluate("(box) => getComputedStyle(box).whiteSpace") == "pre"
        assert page.locator(".prompt").evaluate("(box) => box.scrollTop") == 0
        page.get_by_role("button", name="Fold the prompt").click()
        assert page.locator(".prompt").evaluate("(box) => box.clientHeight") < 80
        page.get_by_role("button", name="Mark differences").click()
        assert page.evaluate("CSS.highlights.get('different').size") > 0
        together = page.get_by_role("button", name="Scroll together")
        if together.is_visible():
            together.click()
            page.locator(".card .scrolls").first.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
            page.wait_for_function("document.querySelectorAll('.card .scrolls')[1].scrollTop > 0")


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
