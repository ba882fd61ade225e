"""The first administrator without a shell: a link that works once, expires, and is gone afterwards."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client, override_settings
from django.utils import timezone

from evalsite.accounts.first_administrator import administrator_create, setup_link_issue
from evalsite.accounts.models import SetupLink, User
from evalsite.accounts.services import user_create
from evalsite.core.errors import Conflict, NotFound
from evalsite.core.models import AuditEntry, Job
from tests.evalsite.cast import run_jobs
from tests.evalsite.pages.reading import Page

pytestmark = pytest.mark.django_db

NEW = {"username": "root", "email": "root@example.org", "password": "correct horse battery"}


def create(client: Client, secret: str, **change: str) -> Page:
    return Page(client.post("/setup/", {**NEW, "secret": secret, **change}, follow=True))


@pytest.mark.database
def test_the_link_creates_one_administrator_and_is_gone_afterwards(stranger: Client) -> None:
    secret = setup_link_issue()
    assert secret not in str(list(SetupLink.objects.values()))
    assert "Create the first administrator" in Page(stranger.get(f"/setup/{secret}/")).words
    page = create(stranger, secret)
    assert "You are the administrator of this site now" in page.words
    root = User.objects.get()
    assert (root.is_staff, root.is_superuser, root.email) == (True, True, "root@example.org")
    assert AuditEntry.objects.get().act == "create_first_administrator"
    other = Client()
    assert other.get(f"/setup/{secret}/").status_code == 404
    assert create(other, secret, username="second", email="").response.status_code == 404
    assert User.objects.count() == 1


def test_the_new_administrator_is_logged_in_and_opens_the_administration(stranger: Client) -> None:
    create(stranger, setup_link_issue())
    assert stranger.get("/admin/").status_code == 200


@pytest.mark.parametrize(
    ("change", "said"),
    [({"password": "short"}, "too short"), ({"username": ""}, "required"), ({"email": "x"}, "valid email address")],
)
def test_a_faulty_form_leaves_the_link_usable(stranger: Client, change: dict[str, str], said: str) -> None:
    secret = setup_link_issue()
    page = create(stranger, secret, **change)
    assert page.response.status_code == 400
    assert said in page.words
    assert not User.objects.exists()
    assert create(stranger, secret).response.status_code == 200
    assert User.objects.get().is_superuser


@pytest.mark.parametrize("secret", ["", "x", "tss_" + "A" * 43, "\x00", "tss_é"])
def test_a_guessed_link_is_refused(stranger: Client, secret: str) -> None:
    setup_link_issue()
    assert create(stranger, secret).response.status_code == 404
    assert not User.objects.exists()


def test_guessing_is_limited(stranger: Client) -> None:
    setup_link_issue()
    codes = [stranger.get(f"/setup/{n}/").status_code for n in range(31)]
    assert codes == [404] * 30 + [429]


def test_an_expired_link_is_refused() -> None:
    secret = setup_link_issue()
    SetupLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(NotFound, match="too old"):
        administrator_create(secret=secret, username="root", password=NEW["password"])
    assert not User.objects.exists()


def test_a_new_link_replaces_the_earlier_one(stranger: Client) -> None:
    first, second = setup_link_issue(), setup_link_issue()
    assert stranger.get(f"/setup/{first}/").status_code == 404
    assert stranger.get(f"/setup/{second}/").status_code == 200


def test_the_link_ends_when_an_administrator_comes_by_another_way(stranger: Client) -> None:
    secret = setup_link_issue()
    user_create(username="other", password=None, staff=True)
    assert create(stranger, secret).response.status_code == 404
    assert User.objects.count() == 1
    with pytest.raises(Conflict, match="administrator already"):
        setup_link_issue()


def test_an_administrator_whose_account_is_closed_still_counts() -> None:
    user_create(username="other", password=None, staff=True)
    User.objects.update(is_active=False)
    with pytest.raises(Conflict):
        setup_link_issue()


def test_the_command_prints_the_link_for_the_given_site(stranger: Client) -> None:
    out = StringIO()
    call_command("setup_link", site="http://127.0.0.1:8123", stdout=out)
    found = re.search(r"http://127\.0\.0\.1:8123(/setup/tss_\S+/)", out.getvalue())
    assert found
    assert stranger.get(found.group(1)).status_code == 200


def test_the_command_refuses_or_is_silent_with_an_administrator() -> None:
    user_create(username="other", password=None, staff=True)
    out = StringIO()
    call_command("setup_link", if_needed=True, stdout=out)
    assert out.getvalue() == ""
    with pytest.raises(CommandError, match="administrator already"):
        call_command("setup_link", stdout=out)


def test_the_start_page_tells_how_while_there_is_none(stranger: Client) -> None:
    assert "This site has no administrator yet" in Page(stranger.get("/")).words
    assert "manage.py setup_link" in Page(stranger.get("/")).words
    user_create(username="other", password=None, staff=True)
    assert "no administrator" not in Page(stranger.get("/")).words


@override_settings(ADMIN_EMAIL="boss@example.org", SITE_URL="https://eval.example.org")
def test_the_start_page_sends_the_link_to_the_configured_address_only(stranger: Client) -> None:
    page = stranger.get("/")
    assert "boss@example.org" not in page.content.decode()
    assert "on its way" in Page(stranger.post("/setup/mail/", {"email": "eve@example.org"}, follow=True)).words
    run_jobs()
    (sent,) = mail.outbox
    assert sent.to == ["boss@example.org"]
    found = re.search(r"https://eval\.example\.org(/setup/tss_\S+/)", str(sent.body))
    assert found
    assert found.group(1) not in str(list(Job.objects.values()))
    assert stranger.get(found.group(1)).status_code == 200


@override_settings(ADMIN_EMAIL="boss@example.org", EMAIL_BACKEND="evalsite.core.mail.Unsent")
def test_a_site_without_a_mail_server_offers_no_mail(stranger: Client) -> None:
    assert "Send the setup link" not in Page(stranger.get("/")).words
    assert stranger.post("/setup/mail/").status_code == 409


def test_no_mail_goes_out_without_an_address_or_with_an_administrator(stranger: Client) -> None:
    assert stranger.post("/setup/mail/").status_code == 404
    user_create(username="other", password=None, staff=True)
    with override_settings(ADMIN_EMAIL="boss@example.org"):
        assert stranger.post("/setup/mail/").status_code == 404
    run_jobs()
    assert mail.outbox == []


@override_settings(ADMIN_EMAIL="boss@example.org")
def test_five_mails_an_hour_go_out(stranger: Client) -> None:
    assert [stranger.post("/setup/mail/").status_code for _ in range(6)] == [302] * 5 + [429]


def test_no_log_line_holds_the_secret_of_a_faulty_form(stranger: Client, caplog: pytest.LogCaptureFixture) -> None:
    secret = setup_link_issue()
    create(stranger, secret, password="short")
    assert "/setup/" in caplog.text
    assert secret not in caplog.text
