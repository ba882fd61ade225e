"""A real browser before a real server: Debian's Chromium, driven by Playwright."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.environment import CHROMIUM, PATIENCE_S
from tests.processes import end, free_port, start_manage, visit, wait_for, wait_until_ready
from tests.templates import seed

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

# All tests come from one address.
GENEROUS = {
    "TOUCHSTONE_ENROLMENTS_PER_HOUR": "100000",
    "TOUCHSTONE_READS_PER_MINUTE": "100000",
    "TOUCHSTONE_ENDPOINT_NETWORKS": "127.0.0.0/8",
}
PATIENCE_MS = PATIENCE_S * 1000  # no test is timed: a page may wait for a machine that compiles or fits beside it
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield chromium
        chromium.close()


@contextmanager
def window(browser: Browser, **look: Any) -> Iterator[BrowserContext]:
    """Yield a window of its own, in which everything is waited for as long as any test waits."""
    context = browser.new_context(**look)
    context.set_default_timeout(PATIENCE_MS)
    yield context
    context.close()


class Site:
    """A served site, its data directory and its supervisor."""

    def __init__(self, url: str, data: Path) -> None:
        self.url, self.data, self.pid = url, data, 0

    def run(self, call: str) -> None:
        """Call a function of tests.browser.showcase in the site's own database."""
        process = start_manage(
            self.data, "shell", "-v", "0", "-c", f"from tests.browser import showcase; showcase.{call}()"
        )
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, output

    def snapshots(self) -> int:
        """How many refits the demonstration's board has seen."""
        with visit(self.url) as reader:
            board = reader.get("/api/v1/boards/demonstration").json()
        return int((board.get("snapshot") or {"number": 0})["number"])


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The demonstration campaign, served, with nobody judging but the tests: one site for all of them."""
    data: Path = tmp_path_factory.mktemp("site")
    seed(data)
    site = Site(f"http://127.0.0.1:{(port := free_port())}", data)
    log = data / "log"  # and no pipe, which is full when nobody reads it
    with log.open("w") as output:
        process = start_manage(data, "demo", "--port", str(port), "--annotators", "0", output=output, **GENEROUS)
    site.pid = process.pid
    try:
        wait_until_ready(site.url, process)
        yield site
    finally:
        end(process)
        sys.stdout.write(log.read_text()[-6000:])  # shown where it failed


@pytest.fixture
def site(served: Site) -> str:
    return served.url


@contextmanager
def annotators(site: str, data: Path) -> Iterator[None]:
    """Simulated annotators, quick at first, and later too slow to finish the campaign on a busy machine."""
    quick = ("--speed", "4", "--fast-start", "40")
    process = start_manage(data, "simulate_annotators", "--url", site, "--count", "6", *quick)
    yield
    end(process)


@pytest.fixture(scope="package")
def judged_site(served: Site) -> str:
    """The demonstration campaign after some refits, still collecting."""
    with annotators(served.url, served.data):
        wait_for(lambda: served.snapshots() >= 3, what="the third refit")
    return served.url


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


@pytest.fixture(scope="package")
def place(served: Site) -> Site:
    """The same site, with the campaigns of tests.browser.showcase."""
    served.run("make")
    served.run("wait_for_queues")
    return served


@pytest.fixture(params=[(1280, 900), pytest.param((375, 800), marks=pytest.mark.full)], ids=["desktop", "phone"])
def visitor(browser: Browser, site: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height = request.param
    with window(browser, viewport={"width": width, "height": height}, base_url=site) as context:
        watched = Watched(context.new_page(), site)
        yield watched
    assert watched.troubles == []


def sideways(page: Page) -> int:
    """By how many pixels the page is wider than the window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))
