"""Accounts without a shell: setup link, API token, organisation, invitation; on a phone, by keyboard, clean for axe."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import GENEROUS, Site, Watched, sideways, window
from tests.browser.test_every_page import violations
from tests.processes import end, free_port, start_manage, wait_for, wait_until_ready
from tests.templates import seed

pytestmark = pytest.mark.browser

PASSWORD = "correct horse battery"
PHONE = {"viewport": {"width": 375, "height": 800}}


@pytest.fixture
def new_site(tmp_path: Path) -> Iterator[Site]:
    """A site at its first start, that takes new people by invitation only."""
    seed(tmp_path)
    site = Site(f"http://127.0.0.1:{(port := free_port())}", tmp_path)
    log = tmp_path / "log"
    with log.open("w") as output:
        process = start_manage(
            tmp_path, "serve", "--port", str(port), output=output, TOUCHSTONE_SIGN_UP="invitation", **GENEROUS
        )
    try:
        wait_until_ready(site.url, process)
        yield site
    finally:
        end(process)
        sys.stdout.write(log.read_text()[-6000:])  # shown where it failed


def found(site: Site, pattern: str) -> str:
    """What the site has printed."""
    log = site.data / "log"
    match = wait_for(lambda: re.search(pattern, log.read_text()), what=pattern)
    return str(match.group(1))


def well(page: Page) -> None:
    assert violations(page) == [], page.url
    assert sideways(page) <= 0, page.url


def sign_up(page: Page, name: str, button: str) -> None:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    well(page)
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_role("button", name=button)).to_have_count(0)


def token_made(page: Page) -> str:
    """Make a token by keyboard alone, and return it."""
    page.get_by_label("Purpose").fill("notebook")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Read campaigns, chatbots, prompts, and boards")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Make a token").focus()
    page.keyboard.press("Enter")
    return page.get_by_label("Your new token").input_value()


def test_first_administrator_token_organisation_and_invitation(browser: Browser, new_site: Site) -> None:
    link = found(new_site, r"(http://\S+/setup/tss_\S+/)")
    with window(browser, **PHONE) as context:
        watched = Watched(context.new_page(), new_site.url)
        page = watched.page
        watched.open("/")
        expect(page.get_by_role("heading", name="This site has no administrator yet")).to_be_visible()
        expect(page.get_by_role("link", name="Sign up")).to_have_count(0)
        well(page)
        page.goto(link)
        sign_up(page, "root", "Create the administrator")
        expect(page.get_by_text("You are the administrator of this site now")).to_be_visible()
        well(page)
        page.get_by_role("link", name="API tokens").click()
        secret = token_made(page)
        well(page)
        assert api(new_site, secret) == 404
        page.get_by_role("link", name="Revoke").click()
        well(page)
        page.get_by_role("button", name="Revoke").click()
        expect(page.get_by_text("The token is revoked")).to_be_visible()
        assert api(new_site, secret) == 401
        well(page)
        watched.open("/account/organisations/")
        page.get_by_label("Name of the organisation").fill("Acme Research and Development of Conversational Agents")
        page.get_by_role("button", name="Found the organisation").click()
        page.get_by_label("E-mail").fill("dana@example.org")
        page.get_by_label("Role:").select_option("manager")
        page.get_by_role("button", name="Send the invitation").click()
        invited = page.get_by_label("The invitation is on its way by mail").input_value()
        well(page)
        assert found(new_site, r"(http://\S+/account/invitations/\S+/)") == invited, "mails are printed here"
        guest_joins(browser, new_site, invited)
        page.goto(link)
        expect(page.get_by_text("This setup link has been used")).to_be_visible()
        watched.open("/")
        expect(page.get_by_text("no administrator")).to_have_count(0)
        well(page)
        assert [trouble for trouble in watched.troubles if "404" not in trouble] == []


def api(site: Site, secret: str) -> int:
    headers = {"Authorization": f"Bearer {secret}"}
    return int(httpx2.get(f"{site.url}/api/v1/boards/none", headers=headers, timeout=60).status_code)


def guest_joins(browser: Browser, site: Site, invited: str) -> None:
    """Somebody new opens the invitation, signs up, and finds that it does not work twice."""
    with window(browser, **PHONE) as context:
        page = context.new_page()
        page.goto(f"{site.url}/account/sign-up/")
        expect(page.get_by_text("A new account needs an invitation")).to_be_visible()
        page.goto(invited)
        sign_up(page, "dana", "Sign up and join")
        expect(page.get_by_text("You are a member of Acme Research")).to_be_visible()
        expect(page.get_by_role("listitem").filter(has_text="dana")).to_contain_text("Manager")
        well(page)
        page.goto(invited)
        expect(page.get_by_text("This invitation has been used")).to_be_visible()
        well(page)
