"""`make screenshots`: every page and state at two widths, light and dark, to be looked at by people.

Writes `<page>-<width>-<scheme>.png` into a folder that git ignores (default var/screenshots).
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, StorageState, sync_playwright

from evalsite.demo.chatbot_server import chatbots_served
from tests import console_pages
from tests.browser.addresses import ARRIVAL, DRAFT, TALKS
from tests.browser.conftest import ARGUMENTS, annotators
from tests.environment import CHROMIUM, PATIENCE_S
from tests.processes import ROOT, end, free_port, start_manage, visit, wait_for, wait_until_ready

LOOKS = [(width, scheme) for width in (1280, 375) for scheme in ("light", "dark")]
BOARD, JUDGE = "/boards/demonstration/", "/judge/demonstration/"
NEARBY = "127.0.0.0/8"
State = Callable[[Page], None]


def nothing(page: Page) -> None:
    """The page as it opens."""


def loaded(page: Page) -> None:
    """With the matrices, which come by themselves."""
    page.locator("#counts table.matrix").wait_for()


def judging(page: Page) -> None:
    page.get_by_role("button", name="Start judging").click()
    page.locator("#stage[data-state=item]").wait_for()


def keys(page: Page) -> None:
    judging(page)
    page.keyboard.press("?")


def skipping(page: Page) -> None:
    judging(page)
    page.locator("#skip summary").click()


def chosen(page: Page) -> None:
    """The moment after an answer: the next item is held back."""
    judging(page)
    page.evaluate("XMLHttpRequest.prototype.send = () => {}")
    page.locator("button[value=A]").click()


def unreachable(page: Page) -> None:
    judging(page)
    page.route("**/answer/", lambda route: route.abort())
    page.locator("button[value=A]").click()
    page.locator("#trouble:visible").wait_for()


def begun(page: Page) -> None:
    page.get_by_role("button", name="Start judging").click()


def explained(page: Page) -> None:
    page.locator(".reading:not(.share) > summary").click()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.locator("#answer:not(.chosen) button:enabled").first.wait_for()
        before = page.locator("#stage-heading").inner_text()
        page.evaluate("scrollTo(0, document.body.scrollHeight)")  # An answer before a reply was in view is held back.
        page.wait_for_timeout(100)
        page.keyboard.press(key)
        page.wait_for_function("(was) => document.getElementById('stage-heading').innerText !== was", arg=before)


def saved(page: Page) -> None:
    judging(page)
    press(page, "a")


def changing(page: Page) -> None:
    saved(page)
    press(page, "u")


def round_over(page: Page) -> None:
    judging(page)
    press(page, "a", "b", "t", "n", "a")


def why(page: Page) -> None:
    judging(page)
    page.keyboard.press("w")
    page.get_by_label("clearer").check()


def consenting(page: Page) -> None:
    page.locator("input[name=consent]").check()
    page.get_by_role("button", name="Start judging").click()


def qualifying(page: Page, *keys: str) -> None:
    consenting(page)
    for key in keys:
        page.locator("#answer button:enabled").first.wait_for()
        page.keyboard.press(key)
        page.locator("#stage[data-state=explained]").wait_for()
        page.locator("#after button").click()
        page.locator("#stage:not([data-state=explained])").wait_for()


def explained_at_once(page: Page) -> None:
    qualifying(page)
    page.locator("#answer button:enabled").first.wait_for()
    page.keyboard.press("b")
    page.locator("#stage[data-state=explained]").wait_for()


def finished(page: Page) -> None:
    qualifying(page, "a", "b")
    page.get_by_role("button", name="Begin").click()
    press(page, "a", "a", "a")


def signed_up(page: Page) -> None:
    page.get_by_label("Name").fill("a")
    page.get_by_label("Password").fill("short")
    page.get_by_role("button", name="Sign up").click()


def chat_ready(page: Page) -> None:
    page.get_by_role("button", name="Go to the chat").click()
    page.locator("#stage[data-state=ready]").wait_for()


def chatting(page: Page) -> None:
    chat_ready(page)
    page.get_by_role("button", name="Start the conversation").click()
    page.locator("#stage[data-state=write]").wait_for()


def chat_waiting(page: Page) -> None:
    chatting(page)
    page.locator("#text").fill("Can I freeze cooked rice?")
    page.locator("#message button").click()
    page.locator("#stage[data-state=waiting]").wait_for()


def chat_choosing(page: Page) -> None:
    chat_waiting(page)
    page.locator("#stage[data-state=choose]").wait_for()


def chat_none(page: Page) -> None:
    chat_choosing(page)
    page.locator("#go-on").click()
    page.locator("#written").wait_for()


def chat_rating(page: Page) -> None:
    chat_choosing(page)
    page.locator(".pick input").first.check()
    page.locator("#go-on").click()
    page.get_by_role("button", name="End the conversation").click()
    page.locator("#stage[data-state=rate]").wait_for()


def chat_ended(page: Page) -> None:
    chat_rating(page)
    page.locator("#rating input").nth(5).check()
    page.get_by_role("button", name="Finish").click()
    page.locator("#stage[data-state=ended]").wait_for()


def own_page(page: Page) -> None:
    saved(page)
    page.goto("/me/")


def plain_json(page: Page) -> None:
    page.get_by_label("Kind of endpoint").select_option("http_json")


def registered(page: Page) -> None:
    page.get_by_label("Name of the chatbot").fill("Live chatbot")
    page.get_by_label("Address").fill("https://chat.invalid/v1")
    page.get_by_label("Model").fill("tiny")
    page.get_by_role("button", name="Register the endpoint").click()
    page.locator("#test-endpoint").wait_for()


def tested(page: Page) -> None:
    registered(page)
    page.locator("#test-endpoint").click()
    page.locator("#live .wrong").first.wait_for()


ARRIVING: list[tuple[str, str, State]] = [
    ("judge-rich", "/judge/showcase/", judging),
    ("judge-why", "/judge/showcase/", why),
    ("judge-saved", JUDGE, saved),
    ("judge-changing", JUDGE, changing),
    ("judge-round", JUDGE, round_over),
    ("arrive", ARRIVAL, nothing),
    ("arrive-lacking", ARRIVAL.split("&")[0], nothing),
    ("judge-qualification", ARRIVAL, lambda page: qualifying(page)),
    ("judge-second-attempt", ARRIVAL, lambda page: qualifying(page, "t", "t")),
    ("judge-explained", ARRIVAL, explained_at_once),
    ("judge-screened", ARRIVAL, lambda page: qualifying(page, "t", "t", "t", "t")),
    ("judge-ready", ARRIVAL, lambda page: qualifying(page, "a", "b")),
    ("judge-finished", ARRIVAL, finished),
    ("join-invalid", "/join/tsi_invented/", nothing),
    ("me", JUDGE, own_page),
    ("me-new", "/me/", nothing),
    ("sign-up", "/account/sign-up/", signed_up),
    ("login", "/account/login/", nothing),
    ("password", "/account/password/", nothing),
]
LIVE: list[tuple[str, str, State]] = [
    ("chat-welcome", f"/judge/{TALKS}/", nothing),
    ("chat-ready", f"/judge/{TALKS}/", chat_ready),
    ("chat-write", f"/judge/{TALKS}/", chatting),
    ("chat-waiting", f"/judge/{TALKS}/", chat_waiting),
    ("chat-choose", f"/judge/{TALKS}/", chat_choosing),
    ("chat-none", f"/judge/{TALKS}/", chat_none),
    ("chat-rate", f"/judge/{TALKS}/", chat_rating),
    ("chat-ended", f"/judge/{TALKS}/", chat_ended),
]
LIVE_CONSOLE: list[tuple[str, str, State]] = [
    ("console-live-conversations", f"/console/{TALKS}/conversations/", nothing),
    ("console-live-reports", f"/console/{TALKS}/reports/", nothing),
]
BEFORE: list[tuple[str, str, State]] = [
    ("board-empty", BOARD, nothing),
    ("charts-empty", f"{BOARD}charts/", nothing),
    ("method-empty", f"{BOARD}method/", nothing),
]
COLLECTING: list[tuple[str, str, State]] = [
    ("home", "/", nothing),
    ("board", BOARD, nothing),
    ("board-explained", BOARD, explained),
    ("board-by-name", f"{BOARD}?sort=name", nothing),
    ("board-search", f"{BOARD}?q=parrot", nothing),
    ("board-no-match", f"{BOARD}?q=zebra", nothing),
    ("board-german", BOARD, lambda page: page.get_by_role("button", name="Deutsch").click()),
    ("board-by-category", f"{BOARD}?category=facts", nothing),
    ("charts", f"{BOARD}charts/", loaded),
    ("chart", f"{BOARD}charts/wins/", nothing),
    ("home-search", "/?q=small", nothing),
    ("prompts", f"{BOARD}prompts/", nothing),
    ("prompt", f"{BOARD}prompts/", lambda page: page.locator("main table a").first.click()),
    ("embed", f"{BOARD}embed/", nothing),
    ("method", f"{BOARD}method/", nothing),
    ("judge-welcome", JUDGE, nothing),
    ("judge", JUDGE, judging),
    ("judge-keys", JUDGE, keys),
    ("judge-skip", JUDGE, skipping),
    ("judge-chosen", JUDGE, chosen),
    ("judge-unreachable", JUDGE, unreachable),
    ("not-found", "/nowhere/", nothing),
]
PAUSED: list[tuple[str, str, State]] = [("judge-closed", JUDGE, nothing), ("board-paused", BOARD, nothing)]
STOPPED: list[tuple[str, str, State]] = [("judge-over", JUDGE, nothing), ("board-stopped", BOARD, nothing)]
CONSOLE: list[tuple[str, str, State]] = [
    (f"console-{'-'.join(page.strip('/').split('/')) or 'home'}", f"/console/{page}", nothing)
    for page in (
        *console_pages.OWN,
        *(f"demonstration/{part}" for part in (*console_pages.CAMPAIGN, *console_pages.ACTS)),
        *(f"{DRAFT}/setup/{step}/" for step in console_pages.STEPS),
        f"{DRAFT}/gold/",
        f"{DRAFT}/act/pilot/",
    )
]  # fmt: skip
CONSOLE += [
    ("design", "/design/", nothing),
    ("console-endpoint-plain-json", "/console/chatbots/new/", plain_json),
    ("console-endpoint", "/console/chatbots/new/", registered),
    ("console-endpoint-failed", "/console/chatbots/new/", tested),
]


def started(data: Path, *arguments: str) -> subprocess.Popen[str]:
    """`manage.py <arguments>`, which may call endpoints on this machine."""
    return start_manage(data, *arguments, TOUCHSTONE_ENDPOINT_NETWORKS=NEARBY)


@contextmanager
def demonstration(data: Path) -> Iterator[str]:
    """The demonstration campaign, served, with nobody judging."""
    port = free_port()
    process = started(data, "demo", "--port", str(port), "--annotators", "0")
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_ready(url, process)
        yield url
    finally:
        end(process)


def snapshot(url: str) -> int:
    with visit(url) as reader:
        found = reader.get("/api/v1/boards/demonstration").json()["snapshot"]
    return int(found["number"]) if found else 0


def chatbot(url: str) -> str:
    with visit(url) as reader:
        rows = reader.get("/api/v1/boards/demonstration").json()["chatbots"]
    return f"{BOARD}chatbots/{rows[1]['chatbot']}/"


def shell(data: Path, code: str) -> None:
    process = started(data, "shell", "-v", "0", "-c", code)
    if process.wait(PATIENCE_S):
        raise subprocess.CalledProcessError(process.returncode, "manage.py shell")


def set_state(data: Path, state: str) -> None:
    words = "stop_reason='the budget of 6,000 judgments is spent'" if state == "stopped" else "stop_reason=''"
    change = f"state={state!r}, stopped_at='2026-01-01T00:00Z', {words}"
    code = f"from evalsite.campaigns.models import Campaign; Campaign.objects.update({change})"
    shell(data, code)


def logged_in(browser: Browser, url: str, data: Path) -> StorageState:
    """The cookies of the administrator whom the demonstration makes."""
    context = browser.new_context(base_url=url)
    page = context.new_page()
    page.goto("/console/")
    page.get_by_label("Name").fill("admin")
    page.get_by_label("Password").fill((data / "admin_password").read_text()[:20])
    with page.expect_navigation():
        page.get_by_role("button", name="Log in").click()
    return context.storage_state()


def take(
    browser: Browser,
    url: str,
    states: list[tuple[str, str, State]],
    folder: Path,
    who: StorageState | None = None,
) -> None:
    for width, scheme in LOOKS:
        for name, path, reach in states:
            size = {"width": width, "height": 900 if width > 600 else 812}
            context = browser.new_context(
                viewport=size,  # type: ignore[arg-type]
                color_scheme=scheme,  # type: ignore[arg-type]
                base_url=url,
                storage_state=who,
            )
            page = context.new_page()
            page.goto(path.replace("%s", f"{name}-{width}-{scheme}"))  # a worker of the platform for each picture
            reach(page)
            page.wait_for_timeout(150)
            whole = not re.match(
                r"chat-(write|waiting|choose|none)|judge($|-(keys|skip|chosen|unreachable|rich|why|saved|changing|qualification|explained|second-attempt))",
                name,
            )  # its bar stays at the window's end
            page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=whole)
            context.close()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        data = Path(temporary)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        with demonstration(data) as url:
            take(browser, url, BEFORE, folder)
            shell(data, "from tests.browser.showcase import make; make()")
            take(browser, url, ARRIVING, folder)
            with chatbots_served() as chatbots:
                code = f"from tests.browser.showcase import make_live; make_live({chatbots.url!r})"
                shell(data, code)
                take(browser, url, LIVE, folder)
            take(browser, url, LIVE_CONSOLE, folder, logged_in(browser, url, data))
            with annotators(url, data):
                wait_for(lambda: snapshot(url) >= 10, what="the tenth refit")
            take(browser, url, [*COLLECTING, ("chatbot", chatbot(url), nothing)], folder)
            take(browser, url, CONSOLE, folder, logged_in(browser, url, data))
            for state, states in (("paused", PAUSED), ("stopped", STOPPED)):
                set_state(data, state)
                take(browser, url, states, folder)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "var" / "screenshots")
