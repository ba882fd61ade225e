"""Who may sign up: everybody, people with an invitation, or nobody; pages show the ways that are open."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client, override_settings

from evalsite.accounts.models import User
from evalsite.core import env
from tests.evalsite.pages.reading import Page

pytestmark = pytest.mark.django_db

NEW = {"username": "bob", "password": "correct horse battery"}


@pytest.mark.parametrize("page", ["/", "/me/"])
@pytest.mark.parametrize(("mode", "open_"), [("open", True), ("invitation", False), ("closed", False)])
def test_sign_up_is_linked_where_it_is_open_and_log_in_always(
    stranger: Client, page: str, mode: str, open_: bool
) -> None:
    with override_settings(SIGN_UP=mode):
        links = Page(stranger.get(page)).links
        assert ("/account/sign-up/" in links) == open_
        assert "/account/login/" in links
        assert ("/account/sign-up/" in Page(stranger.get("/account/login/")).links) == open_


def test_the_start_page_offers_no_log_in_to_people_who_are_logged_in(owner: Client) -> None:
    links = Page(owner.get("/")).links
    assert "/account/login/" not in links
    assert "/account/sign-up/" not in links


@pytest.mark.parametrize(
    ("mode", "said"), [("invitation", "A new account needs an invitation"), ("closed", "Nobody can sign up here")]
)
def test_sign_up_is_refused_unless_it_is_open(stranger: Client, mode: str, said: str) -> None:
    with override_settings(SIGN_UP=mode):
        for page in (stranger.get("/account/sign-up/"), stranger.post("/account/sign-up/", NEW)):
            assert page.status_code == 403
            assert said in Page(page).words
    assert not User.objects.exists()


def test_an_unknown_mode_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOUCHSTONE_SIGN_UP", "sometimes")
    with pytest.raises(ImproperlyConfigured, match="use one of open, invitation, closed"):
        env.choice("TOUCHSTONE_SIGN_UP", among=("open", "invitation", "closed"), default="open")
