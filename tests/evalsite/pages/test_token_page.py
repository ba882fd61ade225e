"""The page of API tokens: issued and shown once, listed with scopes, expiry and last use, revoked after a question."""

import logging
import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import ApiToken, Membership, User
from evalsite.accounts.services import api_token_issue
from evalsite.campaigns.models import Campaign
from tests.evalsite.api.client import Api
from tests.evalsite.pages.reading import Page

NEW = {"name": "notebook", "scopes": ["campaigns:read"], "days": "30"}


def secret_in(page: Page) -> str:
    found = re.search(r'id="secret"[^>]*value="(tsp_[^"]+)"', page.html)
    return found.group(1) if found else ""


def test_a_token_made_on_the_page_works_and_is_shown_once(owner: Client, campaign: Campaign) -> None:
    secret = secret_in(Page(owner.post("/account/tokens/", NEW)))
    assert Api(secret).get("/api/v1/campaigns/trial").status_code == 200
    page = owner.get("/account/tokens/")
    assert secret not in page.content.decode()
    assert "no-store" in page["Cache-Control"]


def test_no_log_line_holds_the_token(owner: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        secret = secret_in(Page(owner.post("/account/tokens/", NEW)))
        owner.post("/account/tokens/", NEW)
    assert secret
    assert secret not in caplog.text


def test_the_list_tells_scopes_expiry_and_last_use(owner: Client, alice: User, campaign: Campaign) -> None:
    secret = api_token_issue(user=alice, name="ci", scopes=["judgments:read", "campaigns:read"], days=3)
    words = Page(owner.get("/account/tokens/")).words
    assert "Read single judgments, and files of them" in words
    assert "valid until" in words
    assert "not used yet" in words
    Api(secret).get("/api/v1/campaigns/trial")
    assert "last used about" in Page(owner.get("/account/tokens/")).words


def test_last_use_is_recorded_once_an_hour(alice: User, campaign: Campaign) -> None:
    api = Api(api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=3))
    times = []
    for before in (None, timedelta(minutes=59), timedelta(minutes=61)):
        if before:
            ApiToken.objects.update(last_used_at=timezone.now() - before)
        kept = ApiToken.objects.get().last_used_at
        api.get("/api/v1/campaigns/trial")
        times.append(ApiToken.objects.get().last_used_at != kept)
    assert times == [True, False, True]


def test_a_token_is_revoked_after_a_question(owner: Client, alice: User, campaign: Campaign) -> None:
    secret = api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=3)
    address = f"/account/tokens/{ApiToken.objects.get().pk}/revoke/"
    assert "Revoke an API token: ci" in Page(owner.get(address)).words
    assert Api(secret).get("/api/v1/campaigns/trial").status_code == 200, "asking revokes nothing"
    assert "The token is revoked" in Page(owner.post(address, follow=True)).words
    assert Api(secret).get("/api/v1/campaigns/trial").status_code == 401
    assert owner.post(address).status_code == 404, "once"


def test_an_expired_token_is_listed_as_expired_and_can_be_revoked(owner: Client, alice: User) -> None:
    api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=3)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert "expired on" in Page(owner.get("/account/tokens/")).words
    assert owner.post(f"/account/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 302


def test_nobody_sees_or_revokes_the_tokens_of_others(owner: Client, charlie: User) -> None:
    api_token_issue(user=charlie, name="charlies-own", scopes=["campaigns:read"], days=3)
    assert "charlies-own" not in Page(owner.get("/account/tokens/")).words
    assert owner.post(f"/account/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 404
    assert ApiToken.objects.get().revoked_at is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "x" * 101}, "at most 100 characters"),
        ({"scopes": []}, "This field is required"),
        ({"scopes": ["everything"]}, "not one of the available choices"),
        ({"days": "9999"}, "not one of the available choices"),
        ({"days": "-1"}, "not one of the available choices"),
    ],
)
def test_a_faulty_form_says_what_is_wrong_and_makes_no_token(
    owner: Client, change: dict[str, object], said: str
) -> None:
    page = owner.post("/account/tokens/", NEW | change)
    assert page.status_code == 400
    assert said in Page(page).words
    assert not ApiToken.objects.exists()


def test_a_name_in_use_is_refused_on_the_page(owner: Client) -> None:
    owner.post("/account/tokens/", NEW)
    assert "There is already a token called 'notebook'" in Page(owner.post("/account/tokens/", NEW)).words
    assert ApiToken.objects.count() == 1


def test_a_person_makes_30_tokens_an_hour(owner: Client) -> None:
    codes = [owner.post("/account/tokens/", NEW | {"name": f"t{n}"}).status_code for n in range(31)]
    assert codes == [200] * 30 + [429]


def test_a_post_without_a_csrf_token_makes_and_revokes_nothing(alice: User) -> None:
    api_token_issue(user=alice, name="ci", scopes=["campaigns:read"], days=3)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(alice)
    assert strict.post("/account/tokens/", NEW).status_code == 403
    assert strict.post(f"/account/tokens/{ApiToken.objects.get().pk}/revoke/").status_code == 403
    assert ApiToken.objects.get().revoked_at is None


def test_the_pages_ask_for_a_login_and_your_page_links_to_them(owner: Client, stranger: Client) -> None:
    assert stranger.get("/account/tokens/")["Location"] == "/account/login/?next=/account/tokens/"
    assert stranger.post("/account/tokens/1/revoke/").status_code == 302
    assert "/account/tokens/" in Page(owner.get("/me/")).links
    assert "/account/tokens/" not in Page(stranger.get("/me/")).links


def test_a_token_allows_no_more_than_its_owners_role(campaign: Campaign, charlie: User) -> None:
    membership = Membership.objects.create(organisation=campaign.organisation, user=charlie, role="viewer")
    api = Api(api_token_issue(user=charlie, name="all", scopes=ApiToken.Scope.values, days=1))
    assert api.post("/api/v1/campaigns/trial/acts/pause", {}).status_code == 403
    membership.role = "manager"
    membership.save()
    assert api.post("/api/v1/campaigns/trial/acts/pause", {}).status_code == 200


def test_the_token_of_the_command_is_on_the_page(owner: Client) -> None:
    call_command("api_token", "alice", name="from-a-shell", verbosity=0)
    assert "from-a-shell" in Page(owner.get("/account/tokens/")).words
