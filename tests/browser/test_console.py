"""A new user in the console: from the login to a launched campaign by files; axe on every page on the way."""

import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched, sideways
from tests.browser.test_every_page import violations

pytestmark = pytest.mark.browser

MINUTES = 3
CHATBOTS, PROMPTS = 5, 60
PAGES = ["", "pairs/", "prompts/", "chatbots/", "annotators/", "judgments/", "fits/", "log/", "act/stop/", "act/share/"]


@pytest.fixture(scope="module")
def password(site: str, site_data: Path) -> str:
    """Of the administrator whom the demonstration makes."""
    return (site_data / "admin_password").read_text()[:20]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, list[Path]]:
    """A prompt file and a reply file for each chatbot."""
    prompts = tmp_path / "prompts.csv"
    ids = [f"q{n:02}" for n in range(PROMPTS)]
    prompts.write_text("prompt_id,text,category\n" + "".join(f"{key},What about {key}?,general\n" for key in ids))
    replies = []
    for n in range(CHATBOTS):
        path = tmp_path / f"Model_{n}.jsonl"
        path.write_text("".join(json.dumps({"prompt_id": key, "reply": f"Model {n} on {key}"}) + "\n" for key in ids))
        replies.append(path)
    return prompts, replies


@pytest.fixture(params=[(1280, 900, "light"), (375, 800, "dark")], ids=["wide-light", "narrow-dark"])
def owner(browser: Browser, site: str, password: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, base_url=site)
    watched = Watched(context.new_page(), site)
    watched.open("/console/")
    watched.page.get_by_label("Name").fill("admin")
    watched.page.get_by_label("Password").fill(password)
    watched.page.get_by_role("button", name="Log in").click()
    expect(watched.page.get_by_role("heading", name="Your campaigns")).to_be_visible()
    yield watched
    context.close()
    assert watched.troubles == []


def well(page: Page, name: str) -> None:
    """Nothing for axe to find, nothing wider than the window; a picture where one is wanted."""
    assert violations(page) == [], name
    assert sideways(page) <= 0, name
    if folder := os.environ.get("TOUCHSTONE_PICTURES"):
        width = page.viewport_size["width"] if page.viewport_size else 0
        page.screenshot(path=Path(folder) / f"{name}-{width}.png", full_page=True)


def go_on(page: Page, following: str) -> None:
    page.get_by_role("button", name=f"Save, and go on to {following}").click()


def set_up(page: Page, files: tuple[Path, list[Path]]) -> None:
    """By clicks alone, as the pages lead."""
    prompts, replies = files
    page.get_by_role("link", name="Set up a campaign").click()
    page.get_by_label("Name of the campaign").fill("Five models")
    well(page, "setup-goal")
    go_on(page, "Prompts")
    page.get_by_label("A prompt file").set_input_files(prompts)
    page.get_by_role("button", name="Look at it first").click()
    well(page, "setup-prompts")
    page.get_by_role("button", name=f"Add {PROMPTS} prompts").click()
    page.get_by_label("Reply files").set_input_files(replies)
    page.get_by_role("button", name="Look at them first").click()
    well(page, "setup-chatbots")
    page.get_by_role("button", name=f"Add {CHATBOTS} chatbots").click()
    page.get_by_role("link", name="Go on to Annotators").click()
    page.get_by_label("Pay for one judgment").fill("0.10")
    page.get_by_label("Judgments that you expect in a day").fill("300")
    well(page, "setup-annotators")
    go_on(page, "Quality")
    well(page, "setup-quality")
    go_on(page, "Stopping")
    expect(page.locator("#forecast table")).to_be_visible(timeout=90_000)
    well(page, "setup-stopping")
    before = page.locator("#forecast table").inner_text()
    page.get_by_label("Every chatbot's ability").fill("0.3")
    expect(page.locator("#forecast table")).not_to_have_text(re.compile(re.escape(before[:80])), timeout=90_000)
    go_on(page, "Review")
    well(page, "setup-review")
    page.get_by_role("link", name="Launch").click()
    well(page, "act-launch")
    page.get_by_role("button", name="Launch").click()


def test_from_the_login_to_a_launched_campaign_by_files(owner: Watched, files: tuple[Path, list[Path]]) -> None:
    began = time.monotonic()
    set_up(owner.page, files)
    expect(owner.page.locator(".state")).to_have_text("Running")
    assert time.monotonic() - began < MINUTES * 60
    owner.page.get_by_role("link", name="Pause").click()
    owner.page.get_by_role("button", name="Pause").click()
    expect(owner.page.locator(".state")).to_have_text("Paused")
    owner.page.get_by_role("link", name="Stop now").click()
    owner.page.get_by_role("button", name="Stop now").click()
    expect(owner.page.locator(".state")).to_have_text("Stopped")


def test_every_page_of_the_console_is_well(owner: Watched) -> None:
    for page in PAGES:
        owner.open(f"/console/demonstration/{page}")
        well(owner.page, f"console-{page.replace('/', '-') or 'overview'}")
    owner.open("/console/health/")
    well(owner.page, "console-health")
