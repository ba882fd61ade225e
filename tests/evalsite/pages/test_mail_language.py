"""Who has an account is written to in a language of their own."""

import pytest
from django.core.mail import EmailMessage
from django.test import Client

from evalsite.accounts.models import User
from tests.evalsite.cast import run_jobs


@pytest.fixture
def reader(alice: User) -> Client:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    client = Client()
    client.force_login(alice)
    return client


def test_it_is_that_of_the_sign_up(db: None) -> None:
    given = {"username": "hans", "password": "ein langes Wort"}
    Client(headers={"Accept-Language": "de"}).post("/account/sign-up/", given)
    assert User.objects.get(username="hans").mail_language == "de"


def test_and_is_chosen_on_the_own_page(reader: Client, alice: User) -> None:
    assert '<option value="en" lang="en" selected>' in reader.get("/me/").content.decode()
    answer = reader.post("/me/language/", {"language": "de"}, follow=True)
    assert '<option value="de" lang="de" selected>' in answer.content.decode()
    alice.refresh_from_db()
    assert alice.mail_language == "de"


def test_a_language_that_the_site_does_not_speak_is_refused(reader: Client, alice: User) -> None:
    assert reader.post("/me/language/", {"language": "tlh"}).status_code == 400
    alice.refresh_from_db()
    assert alice.mail_language == "en"


def test_who_is_not_logged_in_is_led_there(db: None) -> None:
    answer = Client().post("/me/language/", {"language": "de"})
    assert (answer.status_code, answer["Location"]) == (302, "/account/login/")


def test_the_way_to_a_new_password_is_in_it_whoever_asks(
    reader: Client, alice: User, mailoutbox: list[EmailMessage]
) -> None:
    reader.post("/me/language/", {"language": "de"})
    Client(headers={"Accept-Language": "en"}).post("/account/password/", {"email": "alice@example.org"})
    run_jobs()
    User.objects.update(language="en")
    Client(headers={"Accept-Language": "de"}).post("/account/password/", {"email": "alice@example.org"})
    run_jobs()
    german, english = mailoutbox
    assert "Passwort" in german.body
    assert "password" in english.body
    assert "Passwort" not in english.body
