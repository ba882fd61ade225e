"""A real browser before a real server: Debian's Chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.environment import CHROMIUM
from tests.processes import end, free_port, start_manage, wait_for

# --no-sandbox: tests may run as root; the rest keeps Chromium from calling home.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# No test is timed: a page may wait for a machine that compiles or fits beside it.
expect.set_options(timeout=60_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def site_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def site(site_data: Path) -> Iterator[str]:
    """The demonstration campaign, served, with nobody judging but the test."""
    port = free_port()
    process = start_manage(site_data, "demo", "--port", str(port), "--annotators", "0")
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: httpx2.get(f"{url}/readyz", trust_env=False).is_success, what="the server")
    yield url
    end(process)


@contextmanager
def annotators(site: str, data: Path) -> Iterator[None]:
    """Simulated annotators who judge the demonstration in haste."""
    process = start_manage(data, "simulate_annotators", "--url", site, "--count", "6", "--speed", "8")
    yield
    end(process)


@pytest.fixture(scope="session")
def judged_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The demonstration campaign after some refits, still collecting."""
    data: Path = tmp_path_factory.mktemp("judged")
    port = free_port()
    process = start_manage(data, "demo", "--port", str(port), "--annotators", "0")
    url = f"http://127.0.0.1:{port}"

    def snapshots() -> int:
        board = httpx2.get(f"{url}/api/v1/boards/demonstration", trust_env=False).json()
        return int((board.get("snapshot") or {"number": 0})["number"])

    wait_for(lambda: httpx2.get(f"{url}/readyz", trust_env=False).is_success, what="the server")
    with annotators(url, data):
        wait_for(lambda: snapshots() >= 3, what="the third refit")
    yield url
    end(process)


class Watched:
    """A page with everything that went wrong on it: console errors, failed scripts, requests to other hosts."""

    def __init__(self, page: Page, site: str) -> None:
        self.page, self.site = page, site
        self.troubles: list[str] = []
        page.on("console", lambda message: self._note(message.type == "error", message.text))
        page.on("pageerror", lambda error: self._note(True, str(error)))
        page.on("request", lambda request: self._note(not request.url.startswith((site, "data:")), request.url))

    def _note(self, wrong: bool, what: str) -> None:
        if wrong:
            self.troubles.append(what)

    def open(self, path: str) -> None:
        self.page.goto(self.site + path)


@pytest.fixture(params=[(1280, 900), (375, 800)], ids=["desktop", "phone"])
def visitor(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, base_url=site)
    watched = Watched(context.new_page(), site)
    yield watched
    context.close()
    assert watched.troubles == []


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
