"""An annotator's own page and account: what was done and earned, leaving, erasing, signing up, a new password."""

import re
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest
import time_machine
from django.conf import settings
from django.core import mail
from django.test import Client, override_settings

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.models import Job
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Arrival,
    Assignment,
    Comment,
    Enrolment,
    Judgment,
    SkipNote,
)
from evalsite.judgments.selectors import tally
from evalsite.judgments.services import judgment_record
from tests.evalsite.cast import CampaignMaker, payment_record, run_jobs
from tests.evalsite.pages.reading import Page, Visitor

PASSWORD = "a long enough secret"


@pytest.fixture
def visitor(campaign: Campaign, stranger: Client) -> Visitor:
    Campaign.objects.update(pay_rate=Decimal("0.10"))
    visitor = Visitor(stranger, "/judge/trial/")
    visitor.begin()
    visitor.answer("A", client_ms="40000")
    return visitor


def sign_up(client: Client, name: str = "bob", email: str = "bob@example.org") -> None:
    form = {"username": name, "email": email, "password": PASSWORD}
    assert client.post("/account/sign-up/", form).status_code == 302


def link_of_the_mail() -> str:
    """The path of the link in the only mail, once the worker has sent it."""
    run_jobs()
    (sent,) = mail.outbox
    link = re.search(rf"{re.escape(settings.SITE_URL)}(/\S+)", str(sent.body))
    assert link
    return link.group(1)


def test_it_tells_what_is_open_with_time_pay_and_language(visitor: Visitor, campaign: Campaign) -> None:
    onboarding_set(campaign=campaign, language="Finnish")
    words = Page(Client().get("/me/")).words
    assert "3 comparisons a round, about 2 min 0.30 USD a round Finnish" in words


def test_pay_by_the_hour_is_told_by_the_hour(visitor: Visitor) -> None:
    Campaign.objects.update(pay_rate=Decimal(12), pay_per=Campaign.PayPer.HOUR)
    assert "12.00 USD an hour" in Page(Client().get("/me/")).words


@pytest.mark.database
def test_it_tells_what_was_done_and_what_is_owed_and_paid(visitor: Visitor, campaign: Campaign) -> None:
    visitor.answer("B")
    payment_record(campaign=campaign, annotator=Annotator.objects.get(), amount=Decimal("0.15"), currency="USD")
    words = Page(visitor.client.get("/me/")).words
    assert "2 judgments" in words
    assert "0.05 USD owed to you" in words
    assert "0.15 USD paid" in words


def test_leaving_gives_back_what_is_open_and_keeps_what_was_judged(visitor: Visitor, campaign: Campaign) -> None:
    visitor.client.post("/me/leave/", {"campaign": str(campaign.public_id)})
    assert not Assignment.objects.filter(state=Assignment.State.ISSUED).exists()
    assert Judgment.objects.count() == 1
    visitor.reload()
    assert "Start judging" in visitor.page.words
    visitor.begin()
    assert "1 of" in visitor.page.words
    assert Annotator.objects.count() == 1


def test_nobody_leaves_for_another(visitor: Visitor, campaign: Campaign) -> None:
    assert Client().post("/me/leave/", {"campaign": str(campaign.public_id)}).status_code == 404
    assert Client().post("/me/leave/", {"campaign": "x"}).status_code == 400
    assert Enrolment.objects.get().left_at is None


def test_erasing_removes_what_leads_to_the_person_and_no_judgment(visitor: Visitor, campaign: Campaign) -> None:
    onboarding_set(campaign=campaign, comments=True)
    annotator = Annotator.objects.get()
    shown = uuid.UUID(visitor.assignment)
    judgment_record(annotator=annotator, assignment_id=shown, choices={"overall": "A"}, comment="I am Bob.")
    visitor.reload()
    visitor.post("skip", {"assignment": visitor.assignment, "reason": "other", "note": "Bob again"})
    AnnotatorIdentity.objects.create(annotator=annotator, source="prolific", external_id="P1")
    Arrival.objects.create(enrolment=Enrolment.objects.get(), study="s", session="x")
    before = tally([campaign])
    assert visitor.client.post("/me/erase/").status_code == 400, "it asks once"
    visitor.client.post("/me/erase/", {"sure": "on"})
    for kind in (AnnotatorIdentity, Arrival, Comment, SkipNote):
        assert not kind.objects.exists(), kind
    assert tally([campaign]) == before
    assert "Your work so far" not in Page(visitor.client.get("/me/")).words


class TestWhatTheyReadAfterwards:
    """Who has asked to be erased is told what became of what they judged."""

    STAY, WENT, NONE = "Your judgments stay", "Your judgments were removed with you.", "You had judged nothing"

    def said(self, client: Client) -> str:
        return Page(client.post("/me/erase/", {"sure": "on"}, follow=True)).words

    def test_that_it_stays(self, visitor: Visitor) -> None:
        words = self.said(visitor.client)
        assert self.STAY in words
        assert self.WENT not in words

    def test_that_it_went(self, campaign: Campaign, stranger: Client) -> None:
        onboarding_set(campaign=campaign, erasure="remove")
        visitor = Visitor(stranger, "/judge/trial/")
        visitor.begin()
        visitor.answer("A")
        onboarding_set(campaign=campaign, erasure="keep")
        words = self.said(visitor.client)
        assert self.WENT in words
        assert self.STAY not in words

    def test_where_it_went_and_that_the_rest_stays(self, visitor: Visitor, make_campaign: CampaignMaker) -> None:
        onboarding_set(campaign=make_campaign(slug="other"), erasure="remove")
        visitor.client.post("/judge/other/begin/")
        elsewhere = Visitor(visitor.client, "/judge/other/")
        elsewhere.reload()
        elsewhere.answer("A")
        promised = "Your judgments in “Other” are removed with you, as was said when you began; the others stay"
        assert promised in Page(visitor.client.get("/me/")).words
        assert "Your judgments in “Other” were removed with you; the others stay" in self.said(visitor.client)
        assert Judgment.objects.get().batch.campaign.slug == "trial"

    def test_that_there_was_nothing(self, campaign: Campaign, stranger: Client) -> None:
        onboarding_set(campaign=campaign, erasure="remove")
        Visitor(stranger, "/judge/trial/").begin()
        assert self.NONE in self.said(stranger)


class TestAccounts:
    def test_who_signs_up_keeps_what_the_browser_did(self, visitor: Visitor) -> None:
        sign_up(visitor.client)
        assert Annotator.objects.get().user == User.objects.get(username="bob")
        words = Page(visitor.client.get("/me/")).words
        assert "1 judgment " in words
        visitor.reload()
        assert "2 of 3" in visitor.page.words

    def test_logged_in_elsewhere_it_is_the_same_annotator(self, visitor: Visitor) -> None:
        sign_up(visitor.client)
        other = Client()
        assert other.post("/account/login/", {"username": "bob", "password": PASSWORD}).status_code == 302
        assert "2 of 3" in Visitor(other, "/judge/trial/").page.words

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"username": "alice"}, "already an account called"),
            ({"password": "short"}, "too short"),
            ({"email": "nowhere"}, "valid email"),
        ],
    )
    def test_what_cannot_be_is_said_beside_its_field(
        self, alice: User, stranger: Client, changed: dict[str, str], said: str
    ) -> None:
        User.objects.update(email="alice@example.org")
        form = {"username": "bob", "email": "", "password": PASSWORD, **changed}
        response = stranger.post("/account/sign-up/", form)
        assert response.status_code == 400
        assert said in Page(response).words
        assert User.objects.count() == 1

    def test_an_address_counts_once_its_owner_has_confirmed_it(self, db: None, stranger: Client) -> None:
        sign_up(stranger)
        link = link_of_the_mail()
        assert User.objects.get().email == ""
        assert "Confirm" in Page(stranger.get(link)).words
        assert User.objects.get().email == ""
        assert stranger.post(link).status_code == 302
        assert User.objects.get().email == "bob@example.org"

    def test_a_confirmation_link_works_once_and_for_its_address(self, db: None, stranger: Client) -> None:
        sign_up(stranger)
        link = link_of_the_mail()
        assert Client().post(f"{link[:-3]}xx/").status_code == 404
        Client().post(link)
        User.objects.update(email="")
        User.objects.update(email="other@example.org")
        assert Client().post(link).status_code == 404
        assert User.objects.get().email == "other@example.org"

    def test_an_address_that_an_account_has_is_told_by_mail_only(self, alice: User, stranger: Client) -> None:
        User.objects.update(email="BOB@example.org")
        sign_up(stranger)
        run_jobs()
        (sent,) = mail.outbox
        assert "already belongs to an account" in sent.body
        assert "/account/address/" not in sent.body

    def test_a_sent_mail_leaves_no_address_in_the_jobs(self, db: None, stranger: Client) -> None:
        sign_up(stranger)
        stranger.post("/account/password/", {"email": "bob@example.org"})
        run_jobs()
        assert list(Job.objects.values_list("args", flat=True)) == [{}, {}]

    def test_a_new_password_by_mail(self, db: None, stranger: Client) -> None:
        sign_up(stranger)
        User.objects.update(email="bob@example.org")
        stranger.post("/account/logout/")
        stranger.post("/account/password/", {"email": "bob@example.org"})
        link = link_of_the_mail()
        form = stranger.get(link, follow=True)
        new = "another long secret"
        stranger.post(form.request["PATH_INFO"], {"new_password1": new, "new_password2": new})
        assert stranger.post("/account/login/", {"username": "bob", "password": new}).status_code == 302
        assert "has been used" in Page(Client().get(link)).words

    def test_a_new_password_is_set_on_this_site_whatever_host_its_asker_wrote(self, db: None, stranger: Client) -> None:
        """An asker who could choose the host would be sent the secret by whoever opens the link."""
        sign_up(stranger, email="")
        User.objects.update(email="bob@example.org")
        with override_settings(ALLOWED_HOSTS=["*"], SITE_URL="https://eval.example.org"):
            for host in ("evil.example", "testserver:8443"):
                asked = Client(headers={"Host": host, "X-Forwarded-Host": host})
                assert asked.post("/account/password/", {"email": "bob@example.org"}).status_code == 302
                run_jobs()
        assert len(mail.outbox) == 2
        for sent in mail.outbox:
            assert "https://eval.example.org/account/password/" in sent.body
            assert "evil.example" not in sent.body
            assert ":8443" not in sent.body

    def test_an_unknown_address_gets_the_same_answer_and_no_mail(self, db: None, stranger: Client) -> None:
        response = stranger.post("/account/password/", {"email": "nobody@example.org"}, follow=True)
        assert "If there is an account" in Page(response).words
        run_jobs()
        assert mail.outbox == []

    def test_guessing_is_stopped(self, charlie: User, stranger: Client) -> None:
        form = {"username": "charlie", "password": "guess"}
        with time_machine.travel(datetime.now(UTC), tick=False):  # within one window of the throttle
            codes = [stranger.post("/account/login/", form).status_code for _ in range(11)]
        assert codes == [200] * 10 + [429]

    def test_erasing_closes_the_account(self, visitor: Visitor) -> None:
        sign_up(visitor.client)
        visitor.client.post("/me/erase/", {"sure": "on"})
        gone = User.objects.get(is_active=False)
        assert (gone.email, gone.has_usable_password()) == ("", False)
        assert "bob" not in gone.username
        assert Annotator.objects.get().user is None
        assert Client().login(username="bob", password=PASSWORD) is False

    def test_after_logging_in_nobody_is_sent_to_another_site(self, alice: User, stranger: Client) -> None:
        form = {"username": "alice", "password": "correct horse battery", "next": "https://evil.example/"}
        assert stranger.post("/account/login/", form).headers["Location"] == "/me/"


def test_who_asks_to_be_erased_reads_what_was_promised_when_they_began(campaign: Campaign, stranger: Client) -> None:
    onboarding_set(campaign=campaign, erasure="remove")
    assert "your answers are then removed with you" in Page(stranger.get("/judge/trial/")).words
    stranger.post("/judge/trial/begin/")
    onboarding_set(campaign=campaign, erasure="keep")
    assert "your answers then stay, given by nobody in particular" in Page(Client().get("/judge/trial/")).words
    words = Page(stranger.get("/me/")).words
    assert "Your judgments are removed with you, as was said when you began." in words
    assert "The judgments stay" not in words
    other = Client()
    other.post("/judge/trial/begin/")
    words = Page(other.get("/me/")).words
    assert "The judgments stay, given by nobody in particular." in words
    assert "removed with you" not in words
