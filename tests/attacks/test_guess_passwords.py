"""Attack: guess passwords at every door, under every spelling of a name, from one address and from many."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from evalsite.accounts.models import User
from tests.evalsite.cast import run_jobs

pytestmark = pytest.mark.database  # counts in Redis, locks

PASSWORD = "correct horse battery"
SPELLINGS = ("charlie", "Charlie", "CHARLIE", "\uff43harlie", "\uff43\uff48arlie", " charlie ", "\U0001d41charlie")


@pytest.fixture(autouse=True)
def one_window() -> Iterator[None]:
    with time_machine.travel(datetime(2026, 5, 1, 12, tzinfo=UTC), tick=False):
        yield


def guess(name: str, *, address: str = "203.0.113.1", path: str = "/account/login/", password: str = "guess") -> int:
    return Client(REMOTE_ADDR=address).post(path, {"username": name, "password": password}).status_code


def test_admin_checks_no_password(charlie: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    visitor = Client()
    answer = visitor.post("/admin/login/?next=/admin/", {"username": "charlie", "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/account/login/?next=/admin/")
    assert "_auth_user_id" not in visitor.session
    assert visitor.post(answer["Location"], {"username": "charlie", "password": PASSWORD})["Location"] == "/admin/"
    assert visitor.get("/admin/").status_code == 200


def test_admin_log_in_does_not_loop_for_members(charlie: User) -> None:
    visitor = Client()
    visitor.force_login(charlie)
    assert visitor.get("/admin/", follow=True).status_code == 403


def test_spellings_of_a_name_share_one_limit(charlie: User) -> None:
    codes = [guess(SPELLINGS[number % len(SPELLINGS)]) for number in range(30)]
    assert codes == [200] * 10 + [429] * 20


def test_many_addresses_share_an_accounts_limit(charlie: User) -> None:
    codes = [guess("charlie", address=f"203.0.113.{number}") for number in range(60)]
    assert codes == [200] * 50 + [429] * 10


def test_one_address_has_one_limit_for_all_accounts(charlie: User) -> None:
    codes = [guess(f"user{number}") for number in range(35)]
    assert codes == [200] * 30 + [429] * 5


def test_ipv6_addresses_of_one_subscriber_count_as_one(charlie: User) -> None:
    codes = [guess("charlie", address=f"2001:db8::{number:x}") for number in range(12)]
    assert codes == [200] * 10 + [429] * 2


@override_settings(FAILED_LOG_INS_PER_HOUR=40)
def test_the_whole_site_has_a_limit(charlie: User) -> None:
    codes = [guess(f"user{number}", address=f"10.0.{number}.1") for number in range(45)]
    assert codes == [200] * 40 + [429] * 5


def test_successful_log_ins_use_up_nothing(charlie: User) -> None:
    assert {guess("charlie", password=PASSWORD) for _ in range(40)} == {302}


def test_guessing_does_not_lock_out_a_known_browser(charlie: User) -> None:
    own = Client(REMOTE_ADDR="198.51.100.7")
    own.post("/account/login/", {"username": "charlie", "password": PASSWORD})
    own.post("/account/logout/")
    for number in range(60):
        guess("charlie", address=f"203.0.113.{number}")
    assert guess("charlie", address="198.51.100.8", password=PASSWORD) == 429
    assert own.post("/account/login/", {"username": "charlie", "password": PASSWORD}).status_code == 302


def test_a_stolen_device_cookie_is_limited_too(charlie: User) -> None:
    thief = Client()
    thief.post("/account/login/", {"username": "charlie", "password": PASSWORD})
    thief.post("/account/logout/")
    codes = [thief.post("/account/login/", {"username": "charlie", "password": "x"}).status_code for _ in range(12)]
    assert codes == [200] * 10 + [429] * 2


def test_a_clock_set_back_gives_no_new_attempts(charlie: User) -> None:
    now = datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
    with time_machine.travel(now, tick=False):
        assert [guess("charlie") for _ in range(11)][-1] == 429
    with time_machine.travel(now - timedelta(seconds=200), tick=False):
        codes = [guess("charlie") for _ in range(11)]
    with time_machine.travel(now, tick=False):
        assert guess("charlie") == 429
    assert codes[-1] == 429


def test_a_reset_does_the_same_work_for_unknown_addresses(charlie: User) -> None:
    User.objects.update(email="charlie@example.org")
    statements = []
    for email in ("charlie@example.org", "nobody@example.org"):
        with CaptureQueriesContext(connection) as seen:
            assert Client().post("/account/password/", {"email": email}).status_code == 302
        statements.append([query["sql"].split(" ")[0] for query in seen.captured_queries])
    assert statements[0] == statements[1]
    assert mail.outbox == []
    run_jobs()
    assert [sent.to for sent in mail.outbox] == [["charlie@example.org"]]


def test_sign_up_does_not_tell_who_has_an_address(charlie: User) -> None:
    User.objects.update(email="charlie@example.org")
    answers = []
    for name, email in (("eve", "charlie@example.org"), ("eva", "free@example.org")):
        visitor = Client()
        form = {"username": name, "email": email, "password": PASSWORD}
        answer = visitor.post("/account/sign-up/", form)
        answers.append((answer.status_code, answer["Location"]))
    assert answers[0] == answers[1]


def test_names_that_are_taken_are_told_ten_times_an_hour(charlie: User) -> None:
    form = {"username": "charlie", "password": PASSWORD}
    codes = [Client().post("/account/sign-up/", form).status_code for _ in range(12)]
    assert codes == [400] * 10 + [429] * 2


@pytest.mark.full
def test_ten_thousand_guesses_reach_the_password_check_fifty_times(charlie: User) -> None:
    codes = [guess(SPELLINGS[n % len(SPELLINGS)], address=f"10.{n % 200}.{n // 200}.1") for n in range(10_000)]
    assert codes.count(200) == 50
