"""Log-in by single sign-on, with a real OpenID Connect provider on this machine."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponseBase
from django.test import Client
from oidc_provider_mock import User as ProviderUser
from oidc_provider_mock import run_server_in_thread

from evalsite.accounts.models import SingleSignOnIdentity, User
from evalsite.accounts.services import user_create, user_erase
from evalsite.core import env

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning"),  # in the provider's thread
]

BEGIN, RETURN = "/account/single-sign-on/", "/account/single-sign-on/return/"


def claims(called: str, /, **more: object) -> ProviderUser:
    return ProviderUser(sub=f"id-of-{called}", claims={"preferred_username": called, **more})


PEOPLE = (
    claims("mary", email="mary@example.org", email_verified=True),
    claims("mallory", email="owner@example.org", email_verified=False),
    claims("Jo Ann/..", name="Jo"),
    claims("owen", email="owner@example.org", email_verified=True),
)


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with run_server_in_thread(user_claims=PEOPLE) as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def _configured(settings: Any, provider: str) -> Iterator[None]:
    cache.clear()
    settings.OIDC_ISSUER, settings.OIDC_NAME = provider, "Example"
    settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = "touchstone", "secret"
    yield
    cache.clear()


def answered(client: Client, subject: str, start: str = BEGIN) -> str:
    """Return where the provider sends the browser after this person has logged in there."""
    sent = client.get(start)
    assert sent.status_code == 302
    answer = httpx.post(sent.headers["Location"], data={"sub": subject})
    assert answer.status_code == 302
    back = urlsplit(answer.headers["Location"])
    return f"{back.path}?{back.query}"


def logged_in(client: Client, subject: str, start: str = BEGIN) -> HttpResponseBase:
    return client.get(answered(client, subject, start))


def who(client: Client) -> User | None:
    number = client.session.get("_auth_user_id")
    return User.objects.get(pk=number) if number else None


@pytest.mark.usefixtures("_configured")
class TestLogIn:
    def test_new_person_gets_an_account_with_an_organisation(self, stranger: Client) -> None:
        assert logged_in(stranger, "id-of-mary").status_code == 302
        user = who(stranger)
        assert user is not None
        assert (user.username, user.email, user.has_usable_password()) == ("mary", "mary@example.org", False)
        assert user.memberships.get().organisation.personal_of == user
        assert stranger.get("/me/").status_code == 200

    def test_known_person_gets_the_same_account_after_changing_the_name(self, stranger: Client) -> None:
        logged_in(stranger, "id-of-mary")
        User.objects.filter(username="mary").update(username="maria", email="")
        other = Client()
        logged_in(other, "id-of-mary")
        assert who(other) == who(stranger)
        assert SingleSignOnIdentity.objects.count() == 1

    def test_verified_address_links_the_account_that_has_it(self, stranger: Client) -> None:
        there = user_create(username="alf", password="correct horse battery", email="owner@example.org")
        logged_in(stranger, "id-of-owen")
        assert who(stranger) == there

    def test_address_that_is_not_verified_links_nothing(self, stranger: Client) -> None:
        there = user_create(username="alf", password="correct horse battery", email="owner@example.org")
        logged_in(stranger, "id-of-mallory")
        found = who(stranger)
        assert found is not None
        assert found != there
        assert found.email == ""

    def test_taken_or_unusable_name_is_changed(self, stranger: Client) -> None:
        user_create(username="Jo-Ann", password="correct horse battery")
        logged_in(stranger, "id-of-Jo Ann/..")
        found = who(stranger)
        assert found is not None
        assert found.username == "Jo"

    def test_page_that_was_asked_for_is_shown_and_other_sites_are_not(self, stranger: Client) -> None:
        assert logged_in(stranger, "id-of-mary", f"{BEGIN}?next=/console/").headers["Location"] == "/console/"
        away = logged_in(Client(), "id-of-mary", f"{BEGIN}?next=https://evil.example/")
        assert away.headers["Location"] == "/me/"

    def test_log_in_page_offers_it(self, stranger: Client) -> None:
        page = stranger.get("/account/login/").content.decode()
        assert "Log in with Example" in page
        assert BEGIN in page


@pytest.mark.usefixtures("_configured")
class TestRefused:
    def test_without_sign_up_a_new_person_gets_no_account(self, stranger: Client, settings: Any) -> None:
        settings.OIDC_SIGN_UP = False
        page = logged_in(stranger, "id-of-mary")
        assert page.status_code == 403
        assert not User.objects.filter(username="mary").exists()

    def test_closed_account_stays_closed(self, stranger: Client) -> None:
        logged_in(stranger, "id-of-mary")
        User.objects.update(is_active=False)
        other = Client()
        assert logged_in(other, "id-of-mary").status_code == 403
        assert who(other) is None

    def test_erased_person_is_new(self, stranger: Client) -> None:
        logged_in(stranger, "id-of-mary")
        first = who(stranger)
        assert first is not None
        user_erase(user=first)
        assert not SingleSignOnIdentity.objects.exists()
        other = Client()
        logged_in(other, "id-of-mary")
        assert who(other) not in (None, first)

    def test_return_counts_once_and_in_its_own_browser(self, stranger: Client) -> None:
        address = answered(stranger, "id-of-mary")
        assert Client().get(address).status_code == 403
        assert stranger.get(address).status_code == 302
        assert stranger.get(address).status_code == 403

    def test_code_of_another_log_in_is_refused(self, stranger: Client) -> None:
        other = Client()
        foreign = parse_qs(urlsplit(answered(other, "id-of-mallory")).query)["code"][0]
        state = parse_qs(urlsplit(stranger.get(BEGIN).headers["Location"]).query)["state"][0]
        assert stranger.get(RETURN, {"state": state, "code": foreign}).status_code == 403
        assert who(stranger) is None

    def test_refusal_of_the_provider_is_told(self, stranger: Client) -> None:
        state = parse_qs(urlsplit(stranger.get(BEGIN).headers["Location"]).query)["state"][0]
        page = stranger.get(RETURN, {"state": state, "error": "access_denied"})
        assert page.status_code == 403
        assert "did not log you in" in page.content.decode()

    def test_provider_that_does_not_answer_is_told(self, stranger: Client, settings: Any) -> None:
        settings.OIDC_ISSUER = "http://localhost:9"
        page = stranger.get(BEGIN)
        assert page.status_code == 503
        assert "does not answer" in page.content.decode()

    def test_provider_with_another_issuer_is_refused(self, stranger: Client, settings: Any, provider: str) -> None:
        settings.OIDC_ISSUER = provider.replace("localhost", "127.0.0.1") + "/"
        assert stranger.get(BEGIN).status_code == 503


@pytest.mark.parametrize("address", [BEGIN, RETURN])
def test_without_a_provider_there_is_no_single_sign_on(stranger: Client, address: str) -> None:
    assert stranger.get(address).status_code == 404
    assert BEGIN not in stranger.get("/account/login/").content.decode()


@pytest.mark.parametrize("value", ["login.example.org", "http://login.example.org", "https://", "https://a.example?b"])
def test_issuer_is_an_https_address(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TOUCHSTONE_OIDC_ISSUER", value)
    with pytest.raises(ImproperlyConfigured, match="TOUCHSTONE_OIDC_ISSUER"):
        env.issuer("TOUCHSTONE_OIDC_ISSUER")


def test_client_is_needed_beside_the_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOUCHSTONE_OIDC_CLIENT_ID", raising=False)
    with pytest.raises(ImproperlyConfigured, match="TOUCHSTONE_OIDC_CLIENT_ID is not"):
        env.needed("TOUCHSTONE_OIDC_CLIENT_ID", by="TOUCHSTONE_OIDC_ISSUER")
