"""A new user in the console: from the login to a launched campaign by files; axe on every page on the way."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watched, sideways
from tests.browser.test_every_page import violations

pytestmark = pytest.mark.browser

CHATBOTS, PROMPTS = 5, 60
PAGES = [
    "",
    "pairs/",
    "prompts/",
    "chatbots/",
    "annotators/",
    "gold/",
    "payments/",
    "judgments/",
    "fits/",
    "log/",
    "act/stop/",
    "act/share/",
]

# A row of numbers is there, and it is another one.
OTHER_FORECAST = """
before => { const row = document.querySelector('#forecast tbody tr'); return row && row.innerText !== before; }
"""


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


def follow(page: Page, role: Literal["button", "link"], name: str) -> None:
    """What leads to another page; from here on that one is looked at."""
    with page.expect_navigation():
        page.get_by_role(role, name=name).click()


def go_on(page: Page, following: str) -> None:
    follow(page, "button", f"Save, and go on to {following}")


def set_up(page: Page, files: tuple[Path, list[Path]]) -> None:
    """By clicks alone, as the pages lead."""
    prompts, replies = files
    follow(page, "link", "Set up a campaign")
    page.get_by_label("Name of the campaign").fill("Five models")
    well(page, "setup-goal")
    go_on(page, "Prompts")
    page.get_by_label("A prompt file").set_input_files(prompts)
    follow(page, "button", "Look at it first")
    well(page, "setup-prompts")
    follow(page, "button", f"Add {PROMPTS} prompts")
    page.get_by_label("Reply files").set_input_files(replies)
    follow(page, "button", "Look at them first")
    well(page, "setup-chatbots")
    follow(page, "button", f"Add {CHATBOTS} chatbots")
    follow(page, "link", "Go on to Annotators")
    page.get_by_label("Pay", exact=True).fill("0.10")
    page.get_by_label("Judgments that you expect in a day").fill("300")
    well(page, "setup-annotators")
    go_on(page, "Quality")
    page.get_by_label("Share, in percent").fill("20")
    page.get_by_label("Exclude them by the rule").check()
    well(page, "setup-quality")
    go_on(page, "Stopping")
    expect(page.locator("#forecast table")).to_be_visible(timeout=90_000)
    well(page, "setup-stopping")
    before = page.locator("#forecast tbody tr").first.inner_text()
    page.get_by_label("Every chatbot's ability is").fill("0.3")
    page.keyboard.press("Tab")
    page.wait_for_function(OTHER_FORECAST, arg=before, timeout=90_000)
    expect(page.get_by_label("How many are the best")).to_be_hidden()
    page.get_by_label("Which are the best").check()
    page.get_by_label("How many are the best").fill(str(CHATBOTS))
    page.keyboard.press("Tab")
    expect(page.locator("#forecast")).to_contain_text("chatbots are all of them")
    page.get_by_label("How many are the best").fill("2")
    page.keyboard.press("Tab")
    expect(page.locator("#forecast table")).to_be_visible(timeout=90_000)
    well(page, "setup-stopping-best")
    go_on(page, "Review")
    well(page, "setup-review")
    follow(page, "link", "Launch")
    well(page, "act-launch")
    follow(page, "button", "Launch")


def test_from_the_login_to_a_launched_campaign_by_files(owner: Watched, files: tuple[Path, list[Path]]) -> None:
    set_up(owner.page, files)
    expect(owner.page.locator(".state")).to_have_text("Running")
    follow(owner.page, "link", "Pause")
    follow(owner.page, "button", "Pause")
    expect(owner.page.locator(".state")).to_have_text("Paused")
    follow(owner.page, "link", "Stop now")
    follow(owner.page, "button", "Stop now")
    expect(owner.page.locator(".state")).to_have_text("Stopped")


def test_every_page_of_the_console_is_well(owner: Watched) -> None:
    for page in PAGES:
        owner.open(f"/console/demonstration/{page}")
        well(owner.page, f"console-{page.replace('/', '-') or 'overview'}")
    owner.open("/console/health/")
    well(owner.page, "console-health")
