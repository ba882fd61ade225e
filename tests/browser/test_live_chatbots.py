"""Two live chatbots: registered, tested and collected from in the console while the caller is killed, and launched."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.demo.chatbot_server import Behaviour, ChatbotServer, chatbots_served
from tests.browser.conftest import Site, Watched, window
from tests.browser.test_console import follow, go_on, owner, password, well
from tests.processes import children_of, wait_for

pytestmark = pytest.mark.browser
__all__ = ["owner", "password"]

KEY, PROMPTS, KILLS = "sk-only-for-tests-4711", 60, 3


@pytest.fixture
def server() -> Iterator[ChatbotServer]:
    with chatbots_served(api_key=KEY, usual=Behaviour(latency_s=0.05)) as running:
        yield running


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.csv"
    path.write_text("prompt_id,text\n" + "".join(f"q{n:02},What is {n} plus {n}?\n" for n in range(PROMPTS)))
    return path


def register(page: Page, server: ChatbotServer, name: str, model: str) -> None:
    follow(page, "link", "Add a live chatbot")
    page.get_by_label("Name of the chatbot").fill(name)
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Model").fill(model)
    page.get_by_label("Secret").fill(KEY)
    page.get_by_label("Price of a million input tokens").fill("1")
    page.get_by_label("Price of a million output tokens").fill("2")
    page.get_by_label("Cost in all, at most").fill("5")
    well(page, "endpoint-new")
    follow(page, "button", "Register the endpoint")
    well(page, "endpoint-untested")
    follow(page, "button", "Test endpoint")
    expect(page.locator("#live")).to_contain_text("The test passed.")
    expect(page.locator("#live")).to_contain_text("tokens in")
    well(page, "endpoint-tested")


def draft_begin(page: Page, prompts: Path) -> None:
    """Up to the step that has the chatbots."""
    follow(page, "link", "Set up a campaign")
    page.get_by_label("Name of the campaign").fill("Live models")
    follow(page, "button", "Save and go on")
    page.get_by_label("A prompt file").set_input_files(prompts)
    follow(page, "button", "Look at it first")
    follow(page, "button", f"Add {PROMPTS} prompts")


def caller_of(site: Site) -> int | None:
    """The process of the site that calls endpoints."""
    for child in children_of(site.pid):
        try:
            words = Path(f"/proc/{child}/cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        if "call_endpoints" in words:
            return child
    return None


def caller_killed(site: Site, server: ChatbotServer) -> None:
    """Kill the caller in the middle of its work; another one is started."""
    begun = server.calls.total()
    wait_for(lambda: server.calls.total() > begun, what="a call", every_s=0.01)
    found = wait_for(lambda: caller_of(site), what="the caller")
    os.kill(found, signal.SIGKILL)
    wait_for(lambda: caller_of(site) not in {None, found}, what="another caller")


def test_replies_are_collected_though_calls_fail_and_the_caller_is_killed(
    owner: Watched, served: Site, server: ChatbotServer, prompts: Path
) -> None:
    page = owner.page
    owner.open("/console/chatbots/")
    register(page, server, "Reliable", "concierge")
    owner.open("/console/chatbots/")
    register(page, server, "Unreliable", "parrot:failing")
    owner.open("/console/")
    draft_begin(page, prompts)
    for _ in range(2):
        with page.expect_navigation():
            page.get_by_role("button", name="Collect replies").first.click()
    well(page, "setup-collecting")
    for _ in range(KILLS):
        caller_killed(served, server)
    expect(page.locator("#live")).to_contain_text(f"{PROMPTS} of {PROMPTS} prompts have a reply")
    expect(page.locator("#live").get_by_text(f"{PROMPTS} of {PROMPTS} prompts have a reply")).to_have_count(2)
    for _ in range(2):
        page.reload()
        with page.expect_navigation():
            page.get_by_role("link", name="Add", exact=True).first.click()
        follow(page, "button", "Add a chatbot")
        page.go_back()
        page.go_back()
    page.reload()
    expect(page.locator("main")).to_contain_text("2 chatbots take part.")
    expect(page.locator("main")).to_contain_text("Every one of them has a reply to every prompt.")
    launch(page)
    expect(page.locator(".state").first).to_have_text("Running")


def launch(page: Page) -> None:
    """From the step that has the chatbots to the end of the set-up."""
    follow(page, "link", "Go on to Annotators")
    page.get_by_label("Who sees the board").select_option("public")
    page.get_by_label("Who judges").select_option("open")
    page.get_by_label("Votes that a new annotator").fill("0")
    page.get_by_label("Pay", exact=True).fill("0.10")
    for following in ("Quality", "Stopping", "Submissions", "Review"):
        go_on(page, following)
    follow(page, "link", "Launch")
    follow(page, "button", "Launch")


@pytest.fixture
def phone(browser: Browser, site: str, password: str) -> Iterator[Watched]:
    """A phone of which nothing but the keyboard is used."""
    with window(browser, base_url=site, viewport={"width": 375, "height": 800}) as context:
        watched = Watched(context.new_page(), site)
        watched.open("/console/")
        watched.page.get_by_label("Name").fill("admin")
        watched.page.get_by_label("Password").fill(password)
        watched.page.keyboard.press("Enter")
        expect(watched.page.get_by_role("heading", name="Your campaigns")).to_be_visible()
        yield watched
    assert watched.troubles == []


def reach(page: Page, field: str, *, most: int = 80) -> None:
    """Press Tab until this element has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == field:
            return
    raise AssertionError(f"no way to {field} by Tab")


def write(page: Page, **texts: str) -> None:
    """Fill in fields by keyboard, in their order on the page."""
    for field, text in texts.items():
        reach(page, f"id_{field}")
        page.keyboard.press("Control+a")
        page.keyboard.type(text)


def test_by_keyboard_on_a_phone_an_endpoint_is_registered_and_tested(phone: Watched, server: ChatbotServer) -> None:
    page = phone.page
    phone.open("/console/chatbots/new/")
    template = page.get_by_label("Body template")
    expect(template).to_be_hidden()
    well(page, "phone-endpoint-new")
    write(page, name="By keyboard")
    reach(page, "id_adapter")
    page.keyboard.type("Plain")
    expect(template).to_be_visible()
    well(page, "phone-endpoint-plain-json")
    write(page, url=f"{server.url}/chat", model="parrot", secret="sk-the-wrong-one", input_price="1", output_price="2")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("#figures")).to_contain_text("Calls so far")
    well(page, "phone-endpoint-untested")
    reach(page, "test-endpoint")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("The test failed.")
    expect(page.locator("#figures")).to_contain_text("secret refused: 1")
    expect(page.locator("#state")).to_have_text("failing: no new calls until a test succeeds")
    well(page, "phone-endpoint-failed")
    write(page, secret=KEY)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    reach(page, "test-endpoint")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    expect(page.locator("#live")).to_contain_text("The test passed.")
    expect(page.locator("#state")).to_have_text("healthy")
    expect(page.locator("#calls")).to_contain_text("reply")
    reach(page, "request-1")
    page.keyboard.press("Enter")
    expect(page.locator("#live pre").first).to_be_visible()
    well(page, "phone-endpoint-tested")
