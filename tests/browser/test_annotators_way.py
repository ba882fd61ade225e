"""In a real browser: from arrival to the code by keyboard alone, by touch on a phone, in two tabs, too late."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.addresses import ARRIVAL
from tests.browser.conftest import Site, Watched, sideways, window
from tests.browser.test_every_page import violations

pytestmark = pytest.mark.browser
SHOWCASE = "/judge/showcase/"


@contextmanager
def visit(browser: Browser, place: Site, **look: Any) -> Iterator[Watched]:
    with window(browser, base_url=place.url, **look) as context:
        watched = Watched(context.new_page(), place.url)
        yield watched
    assert watched.troubles == []


PHONE = {"viewport": {"width": 375, "height": 800}, "has_touch": True, "is_mobile": True}


def expect_item(page: Page, number: int) -> None:
    expect(page.locator("#stage-heading")).to_contain_text(f"{number} of 3")
    expect(page.locator("#answer button:disabled")).to_have_count(0)


def begin(page: Page) -> None:
    """Past the words; the first plan may still be under way, and the page waits for it by itself."""
    page.get_by_role("button", name="Start judging").click()
    expect(page.locator("#stage[data-state=item]")).to_be_visible()


def consent_and_qualify(page: Page) -> None:
    page.locator("input[name=consent]").check()
    page.get_by_role("button", name="Start judging").click()
    for key in ("a", "b"):
        expect(page.locator("#answer button:enabled").first).to_be_visible()
        page.keyboard.press(key)
        page.locator("#after button").click()
        expect(page.locator("#stage:not([data-state=explained])")).to_be_visible()
    page.get_by_role("button", name="Begin").click()
    expect(page.locator("#stage[data-state=item]")).to_be_visible()


def test_from_prolific_to_the_code_by_keyboard_alone(browser: Browser, place: Site) -> None:
    with visit(browser, place) as visitor:
        page, pressed = visitor.page, []
        visitor.open(ARRIVAL % "keyboard")
        page.locator("input[name=consent]").focus()
        page.keyboard.press("Space")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        for number, key in enumerate(["a", "a"], start=1):
            expect(page.locator("#stage-heading")).to_contain_text(f"Qualification: {number} of 2")
            expect(page.locator("button[value=A]")).to_be_enabled()
            page.keyboard.press(key)
            expect(page.locator("#stage[data-state=explained]")).to_be_visible()
            assert violations(page) == []
            page.keyboard.press("Enter")
        expect(page.locator("#stage-heading")).to_have_text("You are in")
        page.keyboard.press("Enter")
        for number, key in enumerate(["ArrowLeft", "b", "t"], start=1):
            expect_item(page, number)
            page.keyboard.press(key)
            pressed.append(key)
        expect(page.locator("#stage-heading")).to_have_text("You have finished")
        expect(page.locator("#code")).to_have_text("C1DONE77")
        expect(page.get_by_role("link", name="Return to Prolific")).to_have_attribute(
            "href", "https://app.prolific.com/submissions/complete?cc=C1DONE77"
        )
        assert len(pressed) == 3, "one press a judgment"
        assert violations(page) == []


@pytest.mark.full
def test_several_aspects_by_keys_with_a_reason_and_a_comment(browser: Browser, place: Site) -> None:
    with visit(browser, place) as visitor:
        page = visitor.page
        visitor.open(SHOWCASE)
        begin(page)
        expect_item(page, 1)
        page.keyboard.press("w")
        page.keyboard.press("Space")
        page.get_by_role("textbox", name="In your words", exact=True).fill("a b t 1 5")
        assert violations(page) == []
        page.locator("#stage-heading").focus()
        for key in ("a", "2"):
            page.keyboard.press(key)
        expect_item(page, 1)
        page.keyboard.press("8")
        expect_item(page, 2)
        page.keyboard.press("u")
        expect_item(page, 1)
        checked = page.locator(".aspects input:checked").evaluate_all("all => all.map((one) => one.value)")
        assert checked == ["A", "tie", "B"]
        expect(page.get_by_label("more exact")).to_be_checked()


@pytest.mark.full
def test_arrows_scroll_a_long_reply_that_has_the_focus_and_judge_otherwise(browser: Browser, place: Site) -> None:
    with visit(browser, place, viewport={"width": 1280, "height": 620}) as visitor:
        page = visitor.page
        visitor.open(ARRIVAL % "arrows")
        consent_and_qualify(page)
        expect_item(page, 1)
        long = page.locator(".card .scrolls[tabindex]").first
        expect(long).to_be_visible()
        long.focus()
        for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"):
            page.keyboard.press(key)
        expect_item(page, 1)
        expect(page.locator("#answer.chosen")).to_have_count(0)
        page.keyboard.press("PageDown")
        page.wait_for_function("document.activeElement.scrollTop > 0")
        page.locator("#stage-heading").focus()
        page.keyboard.press("ArrowLeft")
        expect_item(page, 2)


@pytest.mark.full
def test_the_choice_stays_in_sight_for_350_ms_and_can_be_undone_for_ten_seconds_and_then_still_in_the_block(
    browser: Browser, place: Site
) -> None:
    """The page's own clock is moved by the test."""
    with visit(browser, place) as visitor:
        page = visitor.page
        page.clock.install()
        visitor.open("/judge/demonstration/")
        page.clock.resume()
        begin(page)
        heading = page.locator("#stage-heading")
        page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
        with page.expect_response("**/answer/"):
            page.locator("button[value=A]").click()
        page.clock.run_for(300)
        expect(page.locator(".card[data-side=A][data-chosen]")).to_be_visible()
        expect(heading).to_contain_text("1 of 5")
        page.clock.run_for(100)
        expect(heading).to_contain_text("2 of 5")
        expect(page.locator("#saved")).to_contain_text("A is better")
        page.clock.run_for(9_000)
        expect(page.locator("#undo")).to_be_visible()
        expect(page.locator("#back")).to_be_hidden()
        page.clock.run_for(2_000)
        expect(page.locator("#undo")).to_have_count(0)
        expect(page.locator("#back")).to_be_visible()
        page.clock.resume()
        page.keyboard.press("u")
        expect(heading).to_contain_text("1 of 5")
        expect(page.locator("button[value=A]")).to_have_attribute("aria-pressed", "true")


@pytest.mark.full
def test_by_touch_on_a_phone_with_undo_skip_and_reload(browser: Browser, place: Site) -> None:
    with visit(browser, place, **PHONE) as visitor:
        page = visitor.page
        visitor.open("/judge/demonstration/")
        begin(page)
        assert sideways(page) <= 0
        heading = page.locator("#stage-heading")
        page.locator("button[value=A]").tap()
        expect(heading).to_contain_text("2 of 5")
        page.locator("#undo").tap()
        expect(heading).to_contain_text("1 of 5")
        expect(page.locator("button[value=B]")).to_be_enabled()
        page.locator("button[value=B]").tap()
        expect(heading).to_contain_text("2 of 5")
        page.reload()
        expect(heading).to_contain_text("2 of 5")
        page.locator("#skip summary").tap()
        page.get_by_label("Something else").tap()
        page.get_by_role("button", name="Skip", exact=True).tap()
        for number in (3, 4, 5):
            expect(heading).to_contain_text(f"{number} of 5")
            expect(page.locator("button[value=tie]")).to_be_enabled()
            page.locator("button[value=tie]").tap()
        expect(heading).to_contain_text("4 of 5 judged")
        expect(page.locator(".answers li").first).to_contain_text("B is better")
        assert sideways(page) <= 0


def test_in_two_tabs_an_answer_is_one(browser: Browser, place: Site) -> None:
    with visit(browser, place) as visitor:
        page = visitor.page
        visitor.open("/judge/demonstration/")
        begin(page)
        other = page.context.new_page()
        other.goto("/judge/demonstration/")
        page.locator("button[value=A]").click()
        expect(page.locator("#stage-heading")).to_contain_text("2 of 5")
        other.locator("button[value=B]").click()
        expect(other.locator("#stage-heading")).to_contain_text("2 of 5")
        expect(other.locator("#saved")).to_contain_text("A is better")  # what stands is told, not what was pressed


@pytest.mark.full
def test_an_answer_after_the_lease_is_kept_and_the_rest_explained(browser: Browser, place: Site) -> None:
    with visit(browser, place) as visitor:
        page = visitor.page
        visitor.open("/judge/demonstration/")
        begin(page)
        place.run("end_leases")
        page.locator("button[value=A]").click()
        expect(page.locator("#stage-heading")).to_have_text("The time for this round is over")
        expect(page.locator(".notice")).to_contain_text("It is kept, and counts")
        page.keyboard.press("Enter")
        expect(page.locator("#stage-heading")).to_contain_text("1 of 5")


@pytest.mark.parametrize(
    "look", [pytest.param(PHONE, id="phone"), pytest.param({"color_scheme": "dark"}, id="dark", marks=pytest.mark.full)]
)
def test_axe_finds_nothing_on_the_pages_around_it(browser: Browser, place: Site, look: dict[str, Any]) -> None:
    with visit(browser, place, **look) as visitor:
        for path in (ARRIVAL % "axe", "/me/", "/account/sign-up/", "/account/login/", "/account/password/"):
            visitor.open(path)
            assert violations(visitor.page) == [], path
            assert sideways(visitor.page) <= 0, path
