"""A new user submits a chatbot to a standing board: faults, approval, place, report, version 2; and an endpoint."""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.demo.bots import BOTS
from evalsite.demo.chatbot_server import ChatbotServer, chatbots_served
from evalsite.demo.truth import load_prompts
from tests.browser.addresses import STANDING
from tests.browser.conftest import GENEROUS, Site, Watched, window
from tests.browser.test_accounts import PASSWORD
from tests.browser.test_console import follow, well
from tests.processes import end, free_port, start_manage, wait_for, wait_until_ready
from tests.templates import seed

pytestmark = pytest.mark.browser

KEY = "sk-only-for-tests-4711"


@pytest.fixture
def standing_site(tmp_path: Path) -> Iterator[Site]:
    """A site with nothing but the standing board, whose administrator moderates it."""
    seed(tmp_path)
    site = Site(f"http://127.0.0.1:{(port := free_port())}", tmp_path)
    site.run("standing")
    log = tmp_path / "log"
    with log.open("w") as output:
        process = start_manage(tmp_path, "serve", "--port", str(port), output=output, **GENEROUS)
    try:
        wait_until_ready(site.url, process)
        yield site
    finally:
        end(process)
        sys.stdout.write(log.read_text()[-6000:])  # shown where it failed


@pytest.fixture
def moderator(browser: Browser, standing_site: Site) -> Iterator[Watched]:
    """The administrator, logged in, in a window of their own."""
    with window(browser, base_url=standing_site.url) as context:
        watched = Watched(context.new_page(), standing_site.url)
        watched.open("/console/")
        watched.page.get_by_label("Name").fill("admin")
        watched.page.get_by_label("Password").fill(PASSWORD)
        follow(watched.page, "button", "Log in")
        yield watched
    assert watched.troubles == []


@pytest.fixture
def server() -> Iterator[ChatbotServer]:
    with chatbots_served(api_key=KEY) as running:
        yield running


@contextmanager
def judging(site: Site) -> Iterator[None]:
    process = start_manage(
        site.data, "simulate_annotators", "--url", site.url, "--campaign", STANDING, "--count", "4", "--speed", "20"
    )
    yield
    end(process)


def file_of(prompts: str, key: str, faults: bool = False) -> bytes:
    """The replies of one of the demonstration's chatbots; with an unknown, a repeated and an empty row if wanted."""
    bot = next(one for one in BOTS if one.key == key)
    turns = {one.prompt_id: one.turns for one in load_prompts()}
    table = io.StringIO()
    rows = csv.writer(table)
    rows.writerow(["prompt_id", "reply"])
    asked = [row["prompt_id"] for row in csv.DictReader(io.StringIO(prompts))]
    rows.writerows([one, bot.reply(turns[one])] for one in asked[2 if faults else 0 :])
    if faults:
        rows.writerows([["nowhere", "Yes."], [asked[2], "Again."], [asked[0], ""]])
    return table.getvalue().encode()


def send(page: Page, content: bytes, *, name: str = "") -> None:
    if name:
        page.get_by_label("Name of the chatbot").fill(name)
    sent = {"name": "replies.csv", "mimeType": "text/csv", "buffer": content}
    page.get_by_label("File of replies").set_input_files(sent)  # type: ignore[arg-type]
    page.get_by_label("I accept the terms").check()
    follow(page, "button", "Submit")


def well_on_a_phone(page: Page, name: str) -> None:
    """The same as `well`, at the width of a phone as well as at the page's own."""
    own = page.viewport_size
    assert own is not None
    well(page, name)
    page.set_viewport_size({"width": 375, "height": 800})
    well(page, name)
    page.set_viewport_size(own)


def approved(moderator: Watched, name: str) -> None:
    moderator.open(f"/console/{STANDING}/submissions/")
    well_on_a_phone(moderator.page, "submissions-queue")
    moderator.page.get_by_role("link", name=name).first.click()
    well_on_a_phone(moderator.page, "submission-review")
    follow(moderator.page, "button", "Approve")
    expect(moderator.page.get_by_text("It has joined.")).to_be_visible()


def reaches(page: Page, state: str) -> None:
    """Ask for the page until the submission has this state, and then show it: to draw it each time would be dear."""
    wait_for(lambda: f">{state}<" in page.request.get(page.url).text(), what=state, every_s=0.5)
    page.reload()
    expect(page.locator(".lead .state")).to_have_text(state)


def test_new_user_submits_a_file_and_an_endpoint(
    browser: Browser, standing_site: Site, moderator: Watched, server: ChatbotServer
) -> None:
    with window(browser, base_url=standing_site.url, viewport={"width": 1280, "height": 900}) as context:
        watched = Watched(context.new_page(), standing_site.url)
        page = watched.page
        watched.open("/")
        well(page, "home-with-submissions")
        page.get_by_role("link", name="Sign up").click()
        page.get_by_label("Name").fill("sam")
        page.get_by_label("Password").fill(PASSWORD)
        follow(page, "button", "Sign up")
        watched.open(f"/boards/{STANDING}/")
        follow(page, "link", "Submit a chatbot")
        well_on_a_phone(page, "submit")
        with page.expect_download() as started:
            page.get_by_role("link", name="CSV").click()
        prompts = Path(started.value.path()).read_text()
        send(page, file_of(prompts, "concierge", faults=True), name="Newcomer")
        expect(page.locator(".lead .state")).to_have_text("Refused")
        expect(page.locator("main")).to_contain_text("3 rows of its file are refused")
        expect(page.locator("main")).to_contain_text("no prompt has the id 'nowhere'")
        well_on_a_phone(page, "submission-refused")
        follow(page, "link", "Submit again")
        send(page, file_of(prompts, "concierge"))
        expect(page.locator(".lead .state")).to_have_text("Waiting for approval")
        first = page.url
        approved(moderator, "Newcomer")
        page.reload()
        expect(page.locator(".lead .state")).to_have_text("Joined")
        board = context.new_page()
        board.goto(f"/boards/{STANDING}/")
        well_on_a_phone(board, "board-with-newcomer")
        with judging(standing_site):  # until the budget is spent: the board then waits for new chatbots
            reaches(page, "Placed")
        expect(page.get_by_role("heading", name="Prompt by prompt")).to_be_visible()
        page.locator("details.result summary").first.click()
        well_on_a_phone(page, "submission-placed")
        follow(page, "link", "Submit a new version")
        send(page, file_of(prompts, "bookmark"))
        expect(page.locator("h1")).to_have_text("Newcomer 2")
        approved(moderator, "Newcomer")
        page.goto(first)
        follow(page, "link", "Withdraw")
        well(page, "submission-withdraw")
        page.get_by_label("Reason").fill("Version 2 replaces it.")
        follow(page, "button", "Withdraw")
        expect(page.locator(".lead .state")).to_have_text("Withdrawn")
        board.goto(f"/boards/{STANDING}/method/")
        well_on_a_phone(board, "method-with-shares")
        watched.open(f"/boards/{STANDING}/submit/")
        page.get_by_label("Name of the chatbot").fill("Live newcomer")
        page.get_by_label("Address").fill(server.url)
        page.locator("[name=model]").fill("diplomat")
        page.get_by_label("Secret").fill(KEY)
        page.get_by_label("I accept the terms").check()
        follow(page, "button", "Submit")
        reaches(page, "Waiting for approval")
        approved(moderator, "Live newcomer")
        with judging(standing_site):
            reaches(page, "Placed")
        watched.open("/submissions/")
        well_on_a_phone(page, "submissions")
    assert watched.troubles == []
