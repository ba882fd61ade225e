"""A new user in the console: from the login to a launched campaign by files, and on to its end; axe on every page."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests import console_pages
from tests.browser.conftest import Site, Watched, sideways, window
from tests.browser.test_every_page import LOOKS, violations
from tests.processes import visit, wait_for

pytestmark = pytest.mark.browser

CHATBOTS, PROMPTS = 5, 60
CLICKS_AT_MOST = 40
PAGES = (*console_pages.CAMPAIGN, *console_pages.ACTS, "act/refit/")

# What a person does: each press of a button, each link, each field that is filled in or chosen.
COUNT_CLICKS = """
for (const kind of ["click", "change"]) addEventListener(kind, event => {
  const field = event.target.closest("input, select, textarea"), acted = event.target.closest("a, button");
  if (kind === "change" ? field : acted) {
    sessionStorage.setItem("clicks", Number(sessionStorage.getItem("clicks")) + 1);
  }
}, true)
"""

# A row of numbers is there, and it is another one.
OTHER_FORECAST = """
before => { const row = document.querySelector('#forecast tbody tr'); return row && row.innerText !== before; }
"""


@pytest.fixture
def password(served: Site) -> str:
    """Of the administrator whom the demonstration makes."""
    return (served.data / "admin_password").read_text()[:20]


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


@pytest.fixture(params=LOOKS)
def owner(browser: Browser, site: str, password: str, request: pytest.FixtureRequest) -> Iterator[Watched]:
    width, height, scheme = request.param
    look = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    with window(browser, base_url=site, **look) as context:
        watched = Watched(context.new_page(), site)
        watched.open("/console/")
        watched.page.get_by_label("Name").fill("admin")
        watched.page.get_by_label("Password").fill(password)
        watched.page.get_by_role("button", name="Log in").click()
        expect(watched.page.get_by_role("heading", name="Your campaigns")).to_be_visible()
        yield watched
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
    follow(page, "button", "Save and go on")
    page.get_by_label("A prompt file").set_input_files(prompts)
    follow(page, "button", "Look at it first")
    well(page, "setup-prompts")
    follow(page, "button", f"Add {PROMPTS} prompts")
    page.get_by_label("Reply files").set_input_files(replies)
    follow(page, "button", "Look at them first")
    well(page, "setup-chatbots")
    follow(page, "button", f"Add {CHATBOTS} chatbots")
    follow(page, "link", "Go on to Annotators")
    page.get_by_label("Who sees the board").select_option("public")
    page.get_by_label("Who judges").select_option("open")
    page.get_by_label("Votes that a new annotator").fill("0")
    page.get_by_label("Pay", exact=True).fill("0.10")
    page.get_by_label("Judgments that you expect in a day").fill("300")
    well(page, "setup-annotators")
    go_on(page, "Quality")
    page.get_by_label("Share, in percent").fill("20")
    page.get_by_label("Judgments between two updates of the board").fill("40")
    well(page, "setup-quality")
    go_on(page, "Stopping")
    expect(page.locator("#forecast table")).to_be_visible(timeout=90_000)
    well(page, "setup-stopping")
    before = page.locator("#forecast tbody tr").first.inner_text()
    page.get_by_label("Every chatbot's ability is").fill("0.3")
    page.keyboard.press("Tab")
    page.wait_for_function(OTHER_FORECAST, arg=before)
    expect(page.get_by_label("How many are the best")).to_be_hidden()
    page.get_by_label("Which are the best").check()
    page.get_by_label("How many are the best").fill(str(CHATBOTS))
    page.keyboard.press("Tab")
    expect(page.locator("#forecast")).to_contain_text("chatbots are all of them")
    page.get_by_label("How many are the best").fill("2")
    page.keyboard.press("Tab")
    expect(page.locator("#forecast table")).to_be_visible(timeout=90_000)
    well(page, "setup-stopping-best")
    go_on(page, "Submissions")
    page.get_by_label("Who submits chatbots").select_option("moderated")
    well(page, "setup-submissions")
    go_on(page, "Review")
    well(page, "setup-review")
    follow(page, "link", "Launch")
    well(page, "act-launch")
    follow(page, "button", "Launch")


def claim(client: httpx2.Client, slug: str) -> list[dict[str, Any]]:
    """What there is to be judged now."""
    found: list[dict[str, Any]] = client.post(f"/campaigns/{slug}/claims", json={}).json()["assignments"]
    return found


def judge(site: str, slug: str, answers: Callable[[int, int], str], count: int) -> str:
    """One annotator's `count` judgments by the API, after their opinion of two models by number; who it was."""
    with visit(f"{site}/api/v1") as client:
        joined = client.post("/annotators", json={"campaign": slug, "kind": "simulated"}).json()
        client.headers["Authorization"] = f"Bearer {joined['token']}"
        given = 0
        while given < count:
            block = wait_for(lambda: claim(client, slug), what="the next plan")
            for one in block:
                first, second = (int(each["text"].split()[1]) for each in one["candidates"])
                answer = {"answers": [{"aspect": "overall", "choice": answers(first, second)}], "client_ms": 4000}
                assert client.post(f"/assignments/{one['id']}/judgment", json=answer).status_code == 201
                given += 1
    return str(joined["annotator"])


def abilities(site: str, slug: str) -> dict[str, float]:
    """The board as anybody reads it, to the last digit."""
    return {row["name"]: row["ability"] for row in board_of(site, slug)["chatbots"]}


def board_of(site: str, slug: str) -> dict[str, Any]:
    with visit(site) as reader:
        found: dict[str, Any] = reader.get(f"/api/v1/boards/{slug}").json()
    return found


def settled(site: str, slug: str, judgments: int) -> dict[str, float]:
    """The board when it rests on so many judgments."""

    def there() -> bool:
        snapshot = board_of(site, slug)["snapshot"]
        return bool(snapshot) and snapshot["judgments"] == judgments

    wait_for(there, what=f"a board of {judgments} judgments")
    return abilities(site, slug)


def act(page: Page, name: str) -> None:
    """Of the whole campaign: the page asks once."""
    follow(page, "link", name)
    follow(page, "button", name)


def test_from_the_login_to_a_launched_campaign_by_files_and_on_to_its_end(
    owner: Watched, files: tuple[Path, list[Path]]
) -> None:
    """By no more than forty clicks; then somebody who judges against the others is excluded and comes back."""
    page = owner.page
    page.add_init_script(COUNT_CLICKS)
    set_up(page, files)
    assert int(page.evaluate("sessionStorage.getItem('clicks')")) <= CLICKS_AT_MOST
    expect(page.locator(".state")).to_have_text("Running")
    board = page.get_by_role("link", name="Board", exact=True).get_attribute("href") or ""
    slug = board.strip("/").split("/")[-1]
    for _ in range(2):
        judge(owner.site, slug, lambda first, second: "A" if first > second else "B", 40)
    against = judge(owner.site, slug, lambda first, second: "B" if first > second else "A", 40)
    act(page, "Pause")
    expect(page.locator(".state")).to_have_text("Paused")
    before = settled(owner.site, slug, 120)
    best = f"Model {CHATBOTS - 1}"
    follow(page, "link", "Annotators")
    row = page.get_by_role("row").filter(has_text=against[:8])
    well(page, "annotators-judged")
    with page.expect_navigation():
        row.get_by_role("link", name="Exclude").click()
    expect(page.locator("#preview")).to_contain_text("80 judgments instead of 120")
    well(page, "act-exclude")
    previewed = page.locator("#preview").get_by_role("row").filter(has_text=best).inner_text()
    page.get_by_label("Reason (it stands in the log)").fill("says the opposite")
    follow(page, "button", "Exclude")
    without = settled(owner.site, slug, 80)
    assert without[best] != before[best]
    assert f"{without[best]:+.2f}".replace("-", "\N{MINUS SIGN}") in previewed, "as the preview had said"
    owner.open(board)
    expect(page.locator("main")).to_contain_text(best)
    owner.open(f"/console/{slug}/annotators/")
    with page.expect_navigation():
        page.get_by_role("row").filter(has_text=against[:8]).get_by_role("link", name="Re-admit").click()
    page.get_by_label("Reason (it stands in the log)").fill("by mistake")
    follow(page, "button", "Re-admit")
    assert settled(owner.site, slug, 120) == before, "to the bit"
    act(page, "Stop now")
    expect(page.locator(".state")).to_have_text("Stopped")
    follow(page, "link", "Log")
    well(page, "log-acted")
    for told in ("says the opposite", "Stop now", "Launch"):
        expect(page.locator("main")).to_contain_text(told)


def test_every_page_of_the_console_is_well(owner: Watched) -> None:
    for page in PAGES:
        owner.open(f"/console/demonstration/{page}")
        well(owner.page, f"console-{page.replace('/', '-') or 'overview'}")
    for page in console_pages.OWN:
        owner.open(f"/console/{page}")
        well(owner.page, f"console-own-{page.strip('/') or 'home'}")
    for one in ("chatbots", "prompt-sets"):
        owner.open(f"/console/{one}/")
        with owner.page.expect_navigation():
            owner.page.locator("main table a").first.click()
        well(owner.page, f"console-one-of-{one}")
