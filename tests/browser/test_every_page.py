"""Every page, light and dark, wide and narrow: axe finds nothing, nothing is loaded from elsewhere, keys reach all."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched, annotators, sideways, window
from tests.processes import visit

pytestmark = pytest.mark.browser

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
BOARD = "/boards/demonstration/"
VARIANTS = ("/?q=small", f"{BOARD}?q=zebra", f"{BOARD}?sort=judgments", f"{BOARD}charts/wins/", "a filtered board")
PAGES = [
    "/",
    BOARD,
    f"{BOARD}charts/",
    f"{BOARD}method/",
    f"{BOARD}prompts/",
    f"{BOARD}embed/?rows=5",
    "a chatbot",
    "a prompt",
    "/nowhere/",
    *(pytest.param(path, marks=pytest.mark.full) for path in VARIANTS),
]
LOOKS = [
    pytest.param((1280, 900, "light"), id="wide-light"),
    pytest.param((375, 800, "dark"), id="narrow-dark", marks=pytest.mark.full),
]


@pytest.fixture(params=LOOKS)
def reader(browser: Browser, judged_site: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height, scheme = request.param
    look = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    with window(browser, base_url=judged_site, **look) as context:
        watched = Watched(context.new_page(), judged_site)
        yield watched
    assert [trouble for trouble in watched.troubles if "404" not in trouble] == [], "the browser logs a 404 itself"


def violations(page: Page) -> list[str]:
    """What axe finds, one line for each rule with the first place where it is broken."""
    wanted = {"runOnly": {"type": "tag", "values": RULES}, "resultTypes": ["violations"]}  # the rest is not written out
    found = Axe().run(page, options=wanted).response["violations"]
    return [f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:160]}" for each in found]


def chatbot_page(site: str) -> str:
    with visit(site) as reader:
        rows = reader.get(f"/api/v1{BOARD.rstrip('/')}").json()["chatbots"]
    return f"{BOARD}chatbots/{rows[1]['chatbot']}/"


def linked_page(site: str, page: str, address: str) -> str:
    """The first page of this form that another one links to."""
    with visit(site) as reader:
        body = reader.get(page).text
    found = re.search(rf'href="({re.escape(BOARD)}{address})"', body)
    assert found, f"{page} links to no {address}"
    return unescape(found.group(1))


FOUND: dict[str, Callable[[str], str]] = {
    "a chatbot": chatbot_page,
    "a prompt": lambda site: linked_page(site, f"{BOARD}prompts/", "prompts/[0-9a-f-]{36}/"),
    "a filtered board": lambda site: linked_page(site, BOARD, r"\?category=[^\"]+"),
}


@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_on_any_page_and_none_is_wider_than_the_window(reader: Watched, path: str) -> None:
    reader.open(FOUND[path](reader.site) if path in FOUND else path)
    assert violations(reader.page) == []
    assert sideways(reader.page) <= 0


@pytest.mark.full
def test_matrices_come_by_themselves_and_are_printed(reader: Watched) -> None:
    reader.open(f"{BOARD}charts/")
    for slug in ("wins", "counts"):
        expect(reader.page.locator(f"#{slug} table.matrix td").first).to_be_visible()
    assert violations(reader.page) == []
    reader.page.emulate_media(media="print")
    for slug in ("intervals", "differences", "wins", "counts", "over_time", "precision"):
        expect(reader.page.locator(f"#{slug}")).to_be_visible()
    for hidden in (".tabs", ".contents", ".colophon"):
        expect(reader.page.locator(hidden).first).to_be_hidden()
    assert reader.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"


def open_all(page: Page) -> None:
    summaries = page.locator("summary").all()
    assert summaries
    for summary in summaries:
        summary.click()


@pytest.mark.full
def test_axe_finds_nothing_in_what_opens_on_a_page(reader: Watched) -> None:
    reader.open(f"{BOARD}charts/")
    expect(reader.page.locator("table.matrix")).to_have_count(2)
    open_all(reader.page)
    assert violations(reader.page) == []
    reader.open(BOARD)
    open_all(reader.page)
    assert violations(reader.page) == []


def test_axe_finds_nothing_while_judging(reader: Watched) -> None:
    reader.open("/judge/demonstration/")
    assert violations(reader.page) == []
    reader.page.get_by_role("button", name="Start judging").click()
    expect(reader.page.locator("#stage[data-state=item]")).to_be_visible()
    assert violations(reader.page) == []
    reader.page.keyboard.press("?")
    expect(reader.page.locator("#keys")).to_be_visible()
    assert violations(reader.page) == []
    reader.page.keyboard.press("Escape")
    reader.page.keyboard.press("s")
    assert violations(reader.page) == []


def test_keys_go_through_a_board_in_the_order_of_reading(reader: Watched) -> None:
    reader.open(BOARD)
    reached = []
    for _ in range(100):
        reader.page.keyboard.press("Tab")
        where = reader.page.evaluate(
            "(() => { const e = document.activeElement; const box = e.getBoundingClientRect();"
            " return e === document.body ? null : [e.innerText || e.getAttribute('aria-label') || '',"
            " box.width > 0 && box.height > 0, getComputedStyle(e).outlineStyle]; })()"
        )
        if where is None:
            break
        reached.append(where)
    names = [name for name, _, _ in reached]
    assert names[0] == "Skip to the content"
    expected = ["Ranking", "Charts", "Method", "Rank", "Chatbot", "How to read this board", "Deutsch"]
    places = [names.index(name) for name in expected]
    assert places == sorted(places)
    rows = reader.page.locator("#ranking .who").all_inner_texts()
    assert [name for name in names if name in rows] == rows, "every chatbot once, from the first to the last"
    assert all(visible for _, visible, _ in reached)
    assert {outline for _, _, outline in reached} == {"solid"}, "where the focus is can be seen"


@pytest.mark.full
def test_the_ranking_follows_the_judgments_under_the_readers_eyes(
    browser: Browser, judged_site: str, tmp_path: Path
) -> None:
    with window(browser, base_url=judged_site) as context:
        page = context.new_page()
        watched = Watched(page, judged_site)
        watched.open(BOARD)
        first = page.locator("#ranking").get_attribute("data-stamp")
        page.locator("#ranking .who").nth(2).focus()
        focused = page.evaluate("document.activeElement.getAttribute('href')")
        with annotators(judged_site, tmp_path):
            expect(page.locator("#ranking")).not_to_have_attribute("data-stamp", first or "")
        assert page.evaluate("document.activeElement.getAttribute('href')") == focused, "the focus stays where it was"
    assert watched.troubles == []


@pytest.mark.full
def test_a_search_cuts_the_ranking_while_typing_and_stands_in_the_address(browser: Browser, judged_site: str) -> None:
    with window(browser, base_url=judged_site) as context:
        page = context.new_page()
        page.goto(f"{BOARD}?q=parrot")
        expect(page.locator("#ranking .who")).to_have_text(["Parrot"])
        page.get_by_role("searchbox").fill("con")
        expect(page.locator("#ranking .who")).to_have_text(["Concierge"])
        assert page.url.endswith("?q=con")


@contextmanager
def another_site(html: str, folder: Path) -> Iterator[str]:
    """A page that somebody else serves."""
    (folder / "index.html").write_text(html)
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()


@pytest.mark.full
def test_another_sites_page_shows_the_board_in_a_frame_and_no_other_page_of_ours(
    browser: Browser, judged_site: str, tmp_path: Path
) -> None:
    frames = "".join(
        f'<iframe id="{name}" src="{judged_site}{path}"></iframe>'
        for name, path in (("board", f"{BOARD}embed/?rows=3&theme=dark"), ("other", BOARD))
    )
    with another_site(frames, tmp_path) as url, window(browser) as context:
        page = context.new_page()
        page.goto(url)
        board = page.frame_locator("#board")
        expect(board.locator("tbody tr")).to_have_count(3)
        assert board.locator("body").evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
        assert page.frame_locator("#other").locator("#ranking").count() == 0


@pytest.mark.full
def test_names_of_two_hundred_letters_widen_no_page(browser: Browser, judged_site: str) -> None:
    """The text is put into the page as a name would stand there: in head, ranking, charts and record."""
    with window(browser, base_url=judged_site, viewport={"width": 375, "height": 800}) as context:
        page = context.new_page()
        for path in ("/", BOARD, f"{BOARD}charts/", chatbot_page(judged_site)):
            page.goto(path)
            named = page.evaluate(
                "[...document.querySelectorAll('h1, h3 a, .board-name a, .headline, .who, .of-row, .claim b,"
                " .panel bdi, .matrix th span, .matrix bdi, .record .name a')]"
                ".map((e) => { e.textContent = 'W'.repeat(200); }).length"
            )
            assert named > 0, path
            assert sideways(page) <= 0, path
