"""A live campaign from its set-up to its board: ten turns by keyboard alone, and a conversation by touch on a phone."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from evalsite.demo.chatbot_server import Behaviour, ChatbotServer, chatbots_served
from tests.browser.conftest import Site, Watched, sideways, window
from tests.browser.test_console import follow, go_on, owner, password, well
from tests.browser.test_every_page import violations
from tests.processes import visit, wait_for

pytestmark = pytest.mark.browser
__all__ = ["owner", "password"]

TURNS = 10
PHONE = {"viewport": {"width": 375, "height": 800}, "has_touch": True, "is_mobile": True, "color_scheme": "dark"}


@pytest.fixture
def servers() -> Iterator[list[ChatbotServer]]:
    """Two servers, so that one can end alone."""
    with chatbots_served(usual=Behaviour(latency_s=0.1)) as first, chatbots_served() as second:
        yield [first, second]


def register(owner: Watched, server: ChatbotServer, name: str, model: str) -> None:
    page = owner.page
    owner.open("/console/chatbots/")
    follow(page, "link", "Add a live chatbot")
    page.get_by_label("Name of the chatbot").fill(name)
    page.get_by_label("Address").fill(server.url)
    page.get_by_label("Model").fill(model)
    follow(page, "button", "Register the endpoint")


def launch(owner: Watched, names: list[str]) -> None:
    """Set a live campaign up and launch it."""
    page = owner.page
    owner.open("/console/")
    follow(page, "link", "Set up a campaign")
    page.get_by_label("Live conversations").check()
    page.get_by_label("Name of the campaign").fill("Live talks")
    well(page, "setup-live-goal")
    follow(page, "button", "Save and go on")
    page.get_by_label("Conversations of one annotator").fill("3")
    page.get_by_label("Seconds until a turn goes on").fill("20")
    well(page, "setup-conversation")
    go_on(page, "Chatbots")
    for name in names:
        follow(page, "link", f"Add {name} 1")
        follow(page, "button", "Add a chatbot")
        page.go_back()
        page.go_back()
        page.reload()
    well(page, "setup-live-chatbots")
    follow(page, "link", "Go on to Annotators")
    page.get_by_label("Who sees the board").select_option("public")
    page.get_by_label("Who judges").select_option("open")
    page.get_by_label("Votes that a new annotator").fill("0")
    page.get_by_label("Pay", exact=True).fill("0.10")
    for following in ("Stopping", "Review"):
        go_on(page, following)
    well(page, "setup-live-review")
    follow(page, "link", "Launch")
    follow(page, "button", "Launch")
    expect(page.locator(".state").first).to_have_text("Running")


def turn_by_keys(page: Page, number: int) -> None:
    """Write a message, select the first reply, and go on: no mouse."""
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type(f"What is {number} plus {number}?")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#stage[data-state=choose]")).to_be_visible()
    expect(page.locator("#said")).to_contain_text("2 replies are here.")
    page.keyboard.press("1")
    expect(page.locator(".pick input").first).to_be_checked()
    page.keyboard.press("Enter")
    expect(page.locator("#stage[data-state=write]")).to_be_visible()


def judgments(site: str) -> int:
    with visit(site) as reader:
        board = reader.get("/api/v1/boards/live-talks").json()
    return int((board.get("snapshot") or {"judgments": 0})["judgments"])


def test_chat_by_keyboard_and_by_touch_while_an_endpoint_is_killed(
    owner: Watched, browser: Browser, served: Site, servers: list[ChatbotServer]
) -> None:
    names = ["Concise", "Chatty"]
    for server, name, model in zip(servers, names, ("concierge", "parrot"), strict=True):
        register(owner, server, name, model)
    launch(owner, names)
    with window(browser, base_url=served.url) as context:
        guest = Watched(context.new_page(), served.url)
        by_keyboard(guest, servers)
    assert guest.troubles == []
    with window(browser, base_url=served.url, **PHONE) as context:
        guest = Watched(context.new_page(), served.url)
        by_touch(guest, servers[1])
    assert guest.troubles == []
    wait_for(lambda: judgments(served.url) > 0, what="the board with live turns")
    owner.open("/console/live-talks/conversations/")
    expect(owner.page.locator(".answer")).to_contain_text("2 conversations")
    well(owner.page, "console-conversations")
    owner.open("/console/live-talks/reports/")
    expect(owner.page.locator(".answer")).to_contain_text("1 report waits for you.")
    well(owner.page, "console-reports")


def by_keyboard(guest: Watched, servers: list[ChatbotServer]) -> None:
    page = guest.page
    guest.open("/judge/live-talks/")
    assert violations(page) == []
    page.get_by_role("button", name="Go to the chat").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#stage[data-state=ready]")).to_be_visible()
    page.keyboard.press("Enter")
    for number in range(1, TURNS + 1):
        expect(page.locator("#stage-heading")).to_contain_text(f"Turn {number} of at least {TURNS}")
        if number == TURNS // 2:
            page.keyboard.type("A draft that")
            page.reload()
            expect(page.locator("#text")).to_have_value("A draft that")
            page.locator("#text").fill("")
        turn_by_keys(page, number)
    assert violations(page) == []
    expect(page.locator("#stage-heading")).to_contain_text("you may end now")
    page.get_by_role("button", name="End the conversation").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#stage[data-state=rate]")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.locator("#stage-heading")).to_have_text("Thank you")
    assert violations(page) == []


def by_touch(guest: Watched, mortal: ChatbotServer) -> None:
    """Chat on a phone; one endpoint ends before the third message."""
    page = guest.page
    guest.open("/judge/live-talks/")
    page.get_by_role("button", name="Go to the chat").tap()
    page.get_by_role("button", name="Start the conversation").tap()
    for number in range(1, 3):
        page.locator("#text").fill(f"Do you like the number {number}?")
        page.get_by_role("button", name="Send").tap()
        expect(page.locator("#stage[data-state=choose]")).to_be_visible()
        if number == 1:
            page.locator("#report summary").tap()
            page.get_by_role("radio", name="Reply B", exact=True).check()
            page.locator("#report input[value=other]").check()
            page.get_by_role("button", name="Report", exact=True).tap()
            expect(page.locator(".notice")).to_contain_text("Reported.")
        page.locator(".candidate").nth(1).tap()
        expect(page.locator(".pick input").nth(1)).to_be_checked()
        assert violations(page) == []
        assert sideways(page) <= 0
        page.get_by_role("button", name="Continue").tap()
        expect(page.locator("#stage[data-state=write]")).to_be_visible()
    mortal.shutdown()
    mortal.server_close()
    page.locator("#text").fill("And now?")
    page.get_by_role("button", name="Send").tap()
    expect(page.locator("#stage[data-state=waiting]")).to_be_visible()
    expect(page.locator(".writing")).to_contain_text("Replies are being written")
    expect(page.locator(".notice")).to_contain_text("A chatbot did not reply.")
    expect(page.locator(".bubble").last).to_have_attribute("data-speaker", "chatbot")
    assert violations(page) == []
    if folder := os.environ.get("TOUCHSTONE_PICTURES"):
        page.screenshot(path=f"{folder}/chat-void-375.png")
    page.get_by_text("Leave", exact=True).tap()
    page.get_by_role("button", name="Leave the conversation for good").tap()
    expect(page.locator("#stage-heading")).to_have_text("The conversation is over")
