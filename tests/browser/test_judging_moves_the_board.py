"""In a real browser: judge, and the board's count goes up under the reader's eyes."""

import re
from statistics import median

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watched, sideways, window

pytestmark = pytest.mark.browser

BOARD, JUDGE = "/boards/demonstration/", "/judge/demonstration/"


def count(page: Page) -> int:
    return int(page.locator("#judgment-count").inner_text().replace(",", ""))


def begin(visitor: Watched) -> None:
    visitor.open(JUDGE)
    visitor.page.get_by_role("button", name="Start judging").click()
    # The first plan may still be under way: the page waits for it by itself.
    expect(visitor.page.locator("#stage[data-state=item]")).to_be_visible()


def test_judging_one_assignment_raises_the_count_on_an_open_leaderboard(visitor: Watched) -> None:
    visitor.open(BOARD)
    before = count(visitor.page)
    reader = visitor.page
    judge = reader.context.new_page()
    watched = Watched(judge, visitor.site)
    begin(watched)
    judge.locator("button[value=A]").click()
    expect(judge.locator("#stage-heading")).to_contain_text("2 of")
    expect(reader.locator("#judgment-count")).to_have_text(str(before + 1))
    assert watched.troubles == []


def test_a_block_is_judged_by_keyboard_alone(visitor: Watched) -> None:
    begin(visitor)
    page = visitor.page
    for number, key in enumerate(["a", "b", "t", "n", "ArrowRight"], start=1):
        expect(page.locator("#stage-heading")).to_contain_text(re.compile(rf"\b{number} of 5"))
        expect(page.locator("button[value=A]")).to_be_enabled()
        page.keyboard.press(key)
        if number == 3:
            expect(page.locator("#stage-heading")).to_contain_text(re.compile(r"\b4 of 5"))
            page.keyboard.press("u")  # the third answer was a slip
            expect(page.locator("#stage-heading")).to_contain_text(re.compile(r"\b3 of 5"))
            expect(page.locator("button[value=A]")).to_be_enabled()
            page.keyboard.press("ArrowLeft")
    expect(page.locator("#stage-heading")).to_contain_text("5 of 5 judged")
    page.keyboard.press("Enter")
    expect(page.locator("#stage-heading")).to_contain_text(re.compile(r"\b1 of 5"))
    visitor.open(BOARD)
    assert count(page) >= 5


COUNT_PRESSES = """addEventListener("keydown", () => {
  sessionStorage.setItem("presses", Number(sessionStorage.getItem("presses")) + 1);
}, true)"""
# Of each judgment of a block: what is pressed, and the heading after it. The third is taken back, the list of keys is
# read before the fourth, and with the fifth the block is submitted.
BLOCK = [
    [("a", "2 of 5")],
    [("b", "3 of 5")],
    [("t", "4 of 5"), ("u", "3 of 5"), ("b", "4 of 5")],
    [("?", "4 of 5"), ("Escape", "4 of 5"), ("n", "5 of 5")],
    [("ArrowRight", "5 of 5 judged"), ("Enter", "1 of 5")],
]


@pytest.mark.full
def test_a_median_judgment_takes_no_more_than_two_key_presses(visitor: Watched) -> None:
    """Counted by the page over two blocks, whatever is pressed beside the answers."""
    page, presses, before = visitor.page, [], 0
    page.add_init_script(COUNT_PRESSES)
    begin(visitor)
    for judgment in BLOCK * 2:
        for key, heading in judgment:
            expect(page.locator("#answer button:disabled")).to_have_count(0)
            page.keyboard.press(key)
            expect(page.locator("#stage-heading")).to_contain_text(heading)
        counted = int(page.evaluate("sessionStorage.getItem('presses')"))
        presses.append(counted - before)
        before = counted
    assert sum(presses) == 2 * sum(len(judgment) for judgment in BLOCK), "the page hears every press"
    assert median(presses) <= 2


@pytest.mark.full
def test_a_skip_moves_on_and_is_not_a_judgment(visitor: Watched) -> None:
    visitor.open(BOARD)
    before = count(visitor.page)
    begin(visitor)
    shown = visitor.page.locator("input[name=assignment]").first.input_value()
    visitor.page.keyboard.press("s")
    visitor.page.get_by_label("A reply is missing or broken").check()
    visitor.page.get_by_role("button", name="Skip", exact=True).click()
    expect(visitor.page.locator("input[name=assignment]").first).not_to_have_value(shown)
    visitor.open(BOARD)
    assert count(visitor.page) == before


@pytest.mark.full
def test_a_reload_in_the_middle_shows_the_same_item(visitor: Watched) -> None:
    begin(visitor)
    shown = visitor.page.locator("input[name=assignment]").first.input_value()
    visitor.page.reload()
    assert visitor.page.locator("input[name=assignment]").first.input_value() == shown


def test_an_answer_given_offline_is_kept_and_sent_once_when_the_connection_is_back(visitor: Watched) -> None:
    visitor.open(BOARD)
    before = count(visitor.page)
    begin(visitor)
    page, context = visitor.page, visitor.page.context
    first = page.locator("input[name=assignment]").first.input_value()
    context.set_offline(True)
    page.locator("button[value=B]").click()
    expect(page.locator("#trouble")).to_contain_text("Your answer is kept")
    for value in ("A", "B"):
        expect(page.locator(f"button[value={value}]")).to_be_disabled()
    decided = page.locator("#answer input[name=client_ms]").input_value()
    page.wait_for_event("requestfailed")  # one more attempt
    assert page.locator("#answer input[name=client_ms]").input_value() == decided, "the time to decide, not to connect"
    context.set_offline(False)
    expect(page.locator("input[name=assignment]").first).not_to_have_value(first)
    expect(page.locator("#trouble")).to_be_hidden()
    expect(page.locator("button[value=A]")).to_be_enabled()
    told = ("net::ERR_INTERNET_DISCONNECTED", "htmx:sendError", "htmx:afterRequest")  # by the browser and by htmx
    visitor.troubles[:] = [one for one in visitor.troubles if not any(word in one for word in told)]
    visitor.open(BOARD)
    assert count(page) == before + 1


@pytest.mark.full
def test_single_letters_can_be_switched_off_and_the_browser_remembers_it(visitor: Watched) -> None:
    begin(visitor)
    page = visitor.page
    first = page.locator("input[name=assignment]").first.input_value()
    page.keyboard.press("?")
    page.get_by_label("Single letters answer too").uncheck()
    page.get_by_role("button", name="Close").click()
    page.reload()
    assert page.locator("button[value=A]").get_attribute("aria-keyshortcuts") == "ArrowLeft"
    for key in ("a", "b", "t", "n", "s", "?"):
        page.keyboard.press(key)
    expect(page.locator("#keys")).to_be_hidden()
    assert not page.locator("#skip").get_attribute("open")
    assert page.locator("input[name=assignment]").first.input_value() == first
    page.keyboard.press("ArrowRight")
    expect(page.locator("input[name=assignment]").first).not_to_have_value(first)


@pytest.mark.full
@pytest.mark.parametrize("path", ["/", BOARD, JUDGE, "/nowhere/"])
def test_no_page_is_wider_than_the_window(visitor: Watched, path: str) -> None:
    visitor.page.goto(visitor.site + path)
    assert sideways(visitor.page) <= 0
    visitor.troubles[:] = [one for one in visitor.troubles if "404" not in one]  # the browser logs the 404 itself


def test_it_works_without_scripts(visitor: Watched) -> None:
    browser = visitor.page.context.browser
    assert browser is not None
    with window(browser, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(visitor.site + JUDGE)
        page.get_by_role("button", name="Start judging").click()
        first = page.locator("input[name=assignment]").first.input_value()
        page.locator("button[value=tie]").click()
        expect(page.locator("input[name=assignment]").first).not_to_have_value(first)
