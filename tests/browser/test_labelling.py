"""In a real browser: replies are labelled one at a time, by keyboard and by touch."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Site, Watched, sideways, window
from tests.browser.showcase import LABELLED

_NAMES = ["Correct", "Incorrect", "Irrelevant", "Inappropriate", "Weakly related"]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def labelled(served: Site) -> str:
    served.run("make_labels")
    return served.url


@pytest.fixture(params=[(1280, 900), (375, 800)], ids=["desktop", "phone"])
def labeller(browser: Browser, labelled: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height = request.param
    with window(browser, viewport={"width": width, "height": height}, has_touch=width < 400) as context:
        watched = Watched(context.new_page(), labelled)
        watched.open(f"/judge/{LABELLED}/")
        yield watched
    assert watched.troubles == []


def test_block_is_labelled_by_keyboard_alone(labeller: Watched) -> None:
    page = labeller.page
    _begin(page)
    for number, key in enumerate("12345", start=1):
        expect(page.locator("#stage-heading")).to_contain_text(re.compile(rf"\b{number} of 5"))
        expect(page.locator("button[value=correct]")).to_be_enabled()
        assert sideways(page) == 0
        page.keyboard.press(key)
    expect(page.locator("#stage-heading")).to_contain_text("5 of 5 judged")
    expect(page.locator("ol.answers li > span")).to_contain_text(_NAMES)
    page.keyboard.press("u")
    expect(page.locator('button[aria-pressed="true"]')).to_have_attribute("value", "weakly related")


def test_label_is_given_by_touch(labeller: Watched) -> None:
    page = labeller.page
    _begin(page)
    before = page.locator("input[name=assignment]").first.input_value()
    button = page.get_by_role("button", name=re.compile("Weakly related"))
    button.scroll_into_view_if_needed()
    button.click()
    expect(page.locator(f'input[name=assignment][value="{before}"]')).to_have_count(0)


def _begin(page: Page) -> None:
    page.get_by_role("button", name="Start judging").click()
    expect(page.locator("#stage[data-state=item]")).to_be_visible()
