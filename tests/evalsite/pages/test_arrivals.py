"""How annotators come, and how it ends for them: invitations, Prolific, Mechanical Turk, consent, qualification."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from io import StringIO
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_set
from evalsite.campaigns.services import campaign_stop
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed
from evalsite.core.tokens import keyed_hashes
from evalsite.judgments.arrivals import MTURK_HOSTS, arrival_secret, invitation_issue
from evalsite.judgments.models import (
    Annotator,
    AnnotatorIdentity,
    Arrival,
    Assignment,
    Enrolment,
    Exclusion,
    Invitation,
    Judgment,
    PastWorker,
)
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.services import campaign_open
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, empty_queue, run_jobs
from tests.evalsite.pages.reading import Page, Visitor
from tests.shared import shared

CODES: dict[str, Any] = {"code_complete": "DONE-1", "code_screened_out": "OUT-1", "code_failed": "FAIL-1"}
FROM_PROLIFIC = {"PROLIFIC_PID": "5f1e", "STUDY_ID": "study-1", "SESSION_ID": "session-1"}
FROM_MTURK = {"workerId": "W1", "hitId": "H1", "assignmentId": "A1", "turkSubmitTo": MTURK_HOSTS[0]}


@shared
def private(campaign: Campaign) -> Campaign:
    Campaign.objects.update(visibility="private", admission="members")
    campaign.refresh_from_db()
    return campaign


@shared
def study(private: Campaign) -> Campaign:
    """A private campaign that Prolific sends people to, for three judgments each."""
    Campaign.objects.update(quota=3)
    onboarding_set(campaign=private, platform="prolific", **CODES)
    private.refresh_from_db()
    return private


StudyMaker = Callable[..., Campaign]


@pytest.fixture
def make_study(make_campaign: CampaignMaker) -> StudyMaker:
    """Further campaigns that Prolific sends people to, for three judgments each."""

    def make(slug: str, *, quota: int | None = 3, **fields: Any) -> Campaign:
        campaign = make_campaign(slug=slug, design=replace(OPEN, quota=quota))
        onboarding_set(campaign=campaign, platform="prolific", **CODES)
        private = {"visibility": "private", "admission": "members"}
        Campaign.objects.filter(pk=campaign.pk).update(**{**private, **fields})
        campaign.refresh_from_db()
        return campaign

    return make


def own_parts(client: Client) -> list[str]:
    """The campaigns that a visitor's own page says they take part in."""
    return re.findall(r'name="campaign" value="([0-9a-f-]{36})"', Page(client.get("/me/")).html)


def by_address(campaign: Campaign, ids: dict[str, str] = FROM_PROLIFIC) -> dict[str, str]:
    """What the platform sends who opens the address that it was given."""
    return {"key": arrival_secret(campaign), **ids}


def arrive(client: Client, campaign: Campaign, ids: dict[str, str] = FROM_PROLIFIC, **form: str) -> Visitor:
    """Come from the platform, begin, and stand on the judging page."""
    url, ids = f"/arrive/{campaign.public_id}/", by_address(campaign, ids)
    assert client.get(f"{url}?{urlencode(ids)}").status_code == 200
    assert client.post(url, {**ids, **form}).status_code == 302
    return Visitor(client, f"/judge/{campaign.public_id}/")


def judge_all(visitor: Visitor, count: int = 3) -> None:
    for _ in range(count):
        visitor.answer("A")


class TestInvitations:
    def test_its_link_shows_what_it_is_and_lets_a_stranger_judge_a_private_campaign(
        self, private: Campaign, stranger: Client
    ) -> None:
        assert stranger.get(f"/judge/{private.public_id}/").status_code == 404
        link = f"/join/{invitation_issue(campaign=private, name='pilot')}/"
        assert "Start judging" in Page(stranger.get(link)).words
        assert not Enrolment.objects.exists(), "looking admits nobody"
        page = Page(stranger.post(link, follow=True))
        assert "1 of 3" in page.words
        visitor = Visitor(stranger, f"/judge/{private.public_id}/")
        judge_all(visitor)
        visitor.go_on()
        assert "1 of 3" in visitor.page.words, "the next round too"

    def test_it_admits_no_more_than_it_may_and_nobody_twice(self, private: Campaign, stranger: Client) -> None:
        link = f"/join/{invitation_issue(campaign=private, name='one', at_most=1)}/"
        for _ in range(2):
            assert stranger.post(link).status_code == 302
        assert Client().post(link).status_code == 409
        assert Enrolment.objects.count() == 1

    def test_an_expired_a_revoked_and_an_invented_one_are_the_same_to_see(
        self, private: Campaign, stranger: Client
    ) -> None:
        links = [f"/join/{invitation_issue(campaign=private, name=str(n))}/" for n in range(2)]
        now = timezone.now()
        Invitation.objects.filter(name="0").update(expires_at=now - timedelta(seconds=1))
        Invitation.objects.filter(name="1").update(revoked_at=now)
        pages = {Page(stranger.get(link)).words for link in [*links, "/join/tsi_invented/"]}
        assert len(pages) == 1
        assert "This invitation is not valid" in pages.pop()

    @pytest.mark.parametrize(
        ("wrong", "field"),
        [
            *(({"name": name}, "name") for name in ("", " ", "x" * 101, "x" * 400, "a\0b")),
            *(({"name": "x", "at_most": most}, "at_most") for most in (-1, 0, 2**31, 10**30)),
        ],
    )
    def test_one_that_a_database_would_not_hold_is_refused(
        self, private: Campaign, wrong: dict[str, Any], field: str
    ) -> None:
        with pytest.raises(InvalidInput) as refused:
            invitation_issue(campaign=private, **wrong)
        assert refused.value.field == field
        with pytest.raises(CommandError, match="An invitation"):
            call_command("invite", "trial", **wrong)
        assert not Invitation.objects.exists()
        invitation_issue(campaign=private, name="x" * 100, at_most=1_000_000)

    def test_revoking_it_ends_what_it_admitted(self, private: Campaign, stranger: Client) -> None:
        out = StringIO()
        call_command("invite", "trial", "--name", "x", stdout=out)
        assert out.getvalue().startswith(f"{settings.SITE_URL}/join/")
        stranger.post(out.getvalue().strip())
        assert stranger.get(f"/judge/{private.public_id}/").status_code == 200
        call_command("invite", "trial", "--name", "x", "--revoke", stdout=out)
        with pytest.raises(CommandError, match="no invitation called"):
            call_command("invite", "trial", "--name", "x", "--revoke")
        assert stranger.get(f"/judge/{private.public_id}/").status_code == 404
        Assignment.objects.filter(state="issued").update(state="expired")
        with pytest.raises(NotAllowed):
            assignment_claim(campaign=private, annotator=Annotator.objects.get())


class TestProlific:
    def test_from_arrival_to_the_code_and_the_way_back(self, study: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, study)
        judge_all(visitor)
        assert "You have finished" in visitor.page.words
        assert "DONE-1" in visitor.page.words
        assert "https://app.prolific.com/submissions/complete?cc=DONE-1" in visitor.page.html
        assert AnnotatorIdentity.objects.get().external_id == "5f1e"
        assert Arrival.objects.get().session == "session-1"

    def test_the_code_is_nowhere_before_the_end(self, study: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, study)
        for _ in range(2):
            visitor.answer("A")
            assert "DONE-1" not in visitor.page.html

    def test_who_comes_again_goes_on_as_the_same_annotator(self, study: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, study)
        visitor.answer("A")
        again = arrive(Client(), study, {**FROM_PROLIFIC, "SESSION_ID": "session-2"})
        assert "2 of 3" in again.page.words
        assert Annotator.objects.count() == 1

    def test_what_an_arrival_opens_is_the_campaign_arrived_at_and_nothing_else(
        self, study: Campaign, make_study: StudyMaker, stranger: Client
    ) -> None:
        """Anybody who knows a worker's id can type the address: other campaigns must not open by it."""
        other = make_study("other", visibility="public", admission="open")
        judge_all(arrive(stranger, study))
        arrive(stranger, other)
        typed = Client()
        visitor = arrive(typed, other)
        assert len(own_parts(typed)) == 1
        assert typed.get(f"/judge/{study.public_id}/").status_code == 404
        assert typed.post("/me/leave/", {"campaign": str(study.public_id)}).status_code == 404
        typed.post("/me/erase/", {"sure": "on"})
        assert Enrolment.objects.get(campaign=study).left_at is None
        assert AnnotatorIdentity.objects.get().annotator == Enrolment.objects.get(campaign=study).annotator
        visitor.reload()
        assert "Start judging" in visitor.page.words, "and is erased there"
        assert len(own_parts(stranger)) == 1

    def test_what_is_begun_elsewhere_after_an_arrival_does_not_open_by_the_workers_id(
        self, study: Campaign, make_campaign: CampaignMaker, stranger: Client
    ) -> None:
        arrive(stranger, study)
        make_campaign(slug="open")
        Visitor(stranger, "/judge/open/").begin()
        assert len(own_parts(stranger)) == 2
        typed = Client()
        arrive(typed, study)
        assert len(own_parts(typed)) == 1
        assert "Start judging" in Visitor(typed, "/judge/open/").page.words

    def test_an_account_keeps_its_whole_view_beside_an_arrival(
        self, study: Campaign, make_campaign: CampaignMaker, charlie: User
    ) -> None:
        make_campaign(slug="open")
        client, elsewhere = Client(), Client()
        for one in (client, elsewhere):
            one.force_login(charlie)
        Visitor(client, "/judge/open/").begin()
        arrive(client, study)
        assert len(own_parts(client)) == 2
        assert len(own_parts(elsewhere)) == 1, "what a platform sent is not the account's"

    def test_two_organisations_see_the_same_worker_as_two_pseudonyms(
        self, study: Campaign, make_study: StudyMaker, alice: User, charlie: User, stranger: Client
    ) -> None:
        theirs = make_study("theirs", organisation=charlie.personal_organisation)
        for campaign in (study, theirs):
            judge_all(arrive(stranger, campaign))
        seen = []
        for owner, campaign in ((alice, study), (charlie, theirs)):
            client = Client()
            client.force_login(owner)
            page = client.get(f"/console/{campaign.public_id}/annotators/").content.decode()
            seen.append(set(re.findall(r"annotator=([0-9a-f-]{36})", page)))
        assert all(len(ids) == 1 for ids in seen)
        assert not seen[0] & seen[1]

    def test_who_comes_too_late_is_told_at_once(self, study: Campaign, stranger: Client) -> None:
        campaign_stop(campaign=study, reason="enough")
        page = Page(stranger.get(f"/arrive/{study.public_id}/?{urlencode(by_address(study))}"))
        assert "You came too late" in page.words
        assert "Start judging" not in page.words
        assert stranger.post(f"/arrive/{study.public_id}/", by_address(study)).status_code == 409
        assert not Annotator.objects.exists()

    def test_who_had_begun_when_it_ended_is_complete(self, study: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, study)
        visitor.answer("A")
        campaign_stop(campaign=study, reason="enough")
        Assignment.objects.filter(state="issued").update(state="expired")
        visitor.reload()
        assert "DONE-1" in visitor.page.words

    def test_who_failed_the_checks_gets_the_code_for_that_and_no_more_work(
        self, study: Campaign, stranger: Client
    ) -> None:
        visitor = arrive(stranger, study)
        Exclusion.objects.create(campaign=study, annotator=Annotator.objects.get(), reason="careless")
        visitor.reload()
        assert "You can judge no more here" in visitor.page.words
        assert "FAIL-1" in visitor.page.words
        assert "careless" not in visitor.page.html

    @pytest.mark.parametrize("missing", list(FROM_PROLIFIC))
    def test_an_address_without_the_platforms_ids_is_a_designed_error(
        self, study: Campaign, stranger: Client, missing: str
    ) -> None:
        ids = by_address(study, {name: value for name, value in FROM_PROLIFIC.items() if name != missing})
        response = stranger.get(f"/arrive/{study.public_id}/?{urlencode(ids)}")
        assert response.status_code == 400
        assert "Open the study from the platform again" in Page(response).words

    def test_a_campaign_without_a_platform_has_no_such_door(self, campaign: Campaign, stranger: Client) -> None:
        assert stranger.get(f"/arrive/{campaign.public_id}/?{urlencode(FROM_PROLIFIC)}").status_code == 404

    def test_a_platform_needs_a_code(self, campaign: Campaign) -> None:
        with pytest.raises(InvalidInput):
            onboarding_set(campaign=campaign, platform="prolific")


def erase(client: Client) -> None:
    client.post("/me/erase/", {"sure": "on"})
    assert not AnnotatorIdentity.objects.exists()


def knock(campaign: Campaign, **ids: str) -> Page:
    """What the same worker reads who begins once more, from another browser."""
    return Page(Client().post(f"/arrive/{campaign.public_id}/", by_address(campaign, {**FROM_PROLIFIC, **ids})))


TAKEN_PART = "You have taken part in this study already."


class TestFurtherVisits:
    """Another session of the same worker: it gets a code for what is judged in it, and for nothing else."""

    SECOND: ClassVar[dict[str, str]] = {**FROM_PROLIFIC, "SESSION_ID": "session-2"}

    def test_whose_quota_is_judged_gets_no_second_code(self, study: Campaign, stranger: Client) -> None:
        judge_all(arrive(stranger, study))
        page = knock(study, SESSION_ID="session-2")
        assert page.response.status_code == 409
        assert TAKEN_PART in page.words
        assert "DONE-1" not in page.html
        assert Arrival.objects.get().session == "session-1"

    def test_visit_shows_its_code_again_in_the_same_browser(self, study: Campaign, stranger: Client) -> None:
        judge_all(arrive(stranger, study))
        assert "DONE-1" in arrive(stranger, study).page.words

    def test_who_left_or_was_excluded_gets_no_second_code(self, study: Campaign, stranger: Client) -> None:
        judge_all(arrive(stranger, study))
        stranger.post("/me/leave/", {"campaign": str(study.public_id)})
        assert TAKEN_PART in knock(study, SESSION_ID="session-2").words
        Exclusion.objects.create(campaign=study, annotator=Annotator.objects.get(), reason="careless")
        page = knock(study, SESSION_ID="session-2")
        assert TAKEN_PART in page.words
        assert "FAIL-1" not in page.html

    def test_without_a_quota_a_further_code_costs_a_further_round(self, make_study: StudyMaker) -> None:
        campaign = make_study("rounds", quota=None)
        judge_all(arrive(Client(), campaign))
        second = arrive(Client(), campaign, self.SECOND)
        for _ in range(3):
            assert "DONE-1" not in second.page.html
            second.answer("A")
        assert "DONE-1" in second.page.words
        annotator = Annotator.objects.get()
        assert Judgment.objects.filter(annotator=annotator).count() == 6
        assert Assignment.objects.filter(annotator=annotator).values("item").distinct().count() == 6

    @pytest.mark.parametrize("quota", [None, 3])
    def test_what_was_begun_in_one_visit_and_finished_in_the_next_is_one_code(
        self, make_study: StudyMaker, quota: int | None
    ) -> None:
        campaign = make_study("resumed", quota=quota)
        arrive(Client(), campaign).answer("A")
        second = arrive(Client(), campaign, self.SECOND)
        judge_all(second, 2)
        assert "DONE-1" in second.page.words
        assert Judgment.objects.count() == 3

    def test_when_the_campaign_has_ended_only_what_was_begun_is_complete(self, make_study: StudyMaker) -> None:
        campaign = make_study("ended", quota=None)
        judge_all(arrive(Client(), campaign))
        empty_queue(campaign)
        second = arrive(Client(), campaign, self.SECOND)
        campaign_stop(campaign=campaign, reason="enough")
        second.reload()
        assert "You came too late" in second.page.words
        assert "DONE-1" not in second.page.html

    def test_who_comes_again_after_the_end_gets_no_second_code(self, study: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, study)
        visitor.answer("A")
        campaign_stop(campaign=study, reason="enough")
        Assignment.objects.filter(state="issued").update(state="expired")
        visitor.reload()
        assert "DONE-1" in visitor.page.words
        assert TAKEN_PART in knock(study, SESSION_ID="session-2").words

    def test_every_judgment_is_paid_once_however_many_visits_it_took(self, make_study: StudyMaker) -> None:
        campaign = make_study("paid", quota=None, pay_rate=Decimal("0.10"))
        judge_all(arrive(Client(), campaign))
        judge_all(arrive(Client(), campaign, self.SECOND))
        arrive(Client(), campaign, {**FROM_PROLIFIC, "SESSION_ID": "session-3"})
        pay = progress_get(campaign=campaign, annotator=Annotator.objects.get()).pay
        assert list(pay.values()) == [Decimal("0.60")]


class TestErasedWorkers:
    def test_who_has_finished_does_not_begin_again(self, study: Campaign, stranger: Client) -> None:
        judge_all(arrive(stranger, study))
        assert "a keyed code made of your identifier is kept" in Page(stranger.get("/me/")).words
        erase(stranger)
        page = knock(study, SESSION_ID="session-2")
        assert page.response.status_code == 409
        assert TAKEN_PART in page.words
        assert (Annotator.objects.count(), AnnotatorIdentity.objects.count()) == (1, 0)

    def test_who_was_excluded_does_not_begin_again(self, study: Campaign, stranger: Client) -> None:
        arrive(stranger, study).answer("A")
        Exclusion.objects.create(campaign=study, annotator=Annotator.objects.get(), reason="careless")
        erase(stranger)
        assert TAKEN_PART in knock(study).words

    def test_who_had_finished_once_and_begun_anew_does_not_begin_again(self, make_study: StudyMaker) -> None:
        campaign, client = make_study("rounds", quota=None), Client()
        judge_all(arrive(client, campaign))
        arrive(client, campaign, {**FROM_PROLIFIC, "SESSION_ID": "session-2"})
        erase(client)
        assert TAKEN_PART in knock(campaign, SESSION_ID="session-3").words

    def test_who_had_only_begun_may_begin_again(self, study: Campaign, stranger: Client) -> None:
        arrive(stranger, study).answer("A")
        erase(stranger)
        assert not PastWorker.objects.exists()
        assert "1 of 3" in arrive(Client(), study).page.words

    def test_somebody_else_and_another_study_take_no_notice(
        self, study: Campaign, make_study: StudyMaker, stranger: Client
    ) -> None:
        judge_all(arrive(stranger, study))
        erase(stranger)
        assert "1 of 3" in arrive(Client(), study, {**FROM_PROLIFIC, "PROLIFIC_PID": "other"}).page.words
        assert "1 of 3" in arrive(Client(), make_study("other")).page.words

    def test_what_is_kept_tells_nothing_without_the_key_and_is_found_by_an_earlier_key(
        self, study: Campaign, stranger: Client, settings: Any
    ) -> None:
        judge_all(arrive(stranger, study))
        erase(stranger)
        kept = PastWorker.objects.get().hmac
        worker = f"prolific/{study.public_id}:5f1e"
        assert kept not in {sha256(one.encode()).hexdigest() for one in (worker, "5f1e")}
        former, settings.SECRET_KEY = settings.SECRET_KEY, "another-key-of-this-site-0123456789-abcdefghijklmnop"
        assert kept not in keyed_hashes(worker, purpose="evalsite.judgments.PastWorker")
        settings.SECRET_KEY_FALLBACKS = [former]
        assert TAKEN_PART in knock(study).words


class TestMechanicalTurk:
    @pytest.fixture
    def hit(self, study: Campaign) -> Campaign:
        onboarding_set(campaign=study, platform=Onboarding.Platform.MTURK)
        return study

    def test_the_preview_may_be_framed_and_begins_nothing(self, hit: Campaign, stranger: Client) -> None:
        ids = by_address(hit, {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "H1"})
        response = stranger.get(f"/arrive/{hit.public_id}/mturk/?{urlencode(ids)}")
        assert "Accept the HIT to begin" in Page(response).words
        assert "X-Frame-Options" not in response
        assert f"frame-ancestors {MTURK_HOSTS[0]}" in response["Content-Security-Policy"]
        assert "default-src 'none'" in response["Content-Security-Policy"]

    def test_accepted_it_opens_in_a_window_and_hands_itself_in(self, hit: Campaign, stranger: Client) -> None:
        frame = Page(stranger.get(f"/arrive/{hit.public_id}/mturk/?{urlencode(by_address(hit, FROM_MTURK))}"))
        link = next(one for one in frame.links if "/arrive/" in one)
        assert stranger.get(link)["X-Frame-Options"] == "DENY"
        visitor = arrive(stranger, hit, FROM_MTURK)
        assert stranger.get(f"{visitor.url}submit/").status_code == 302, "not before the end"
        judge_all(visitor)
        response = stranger.get(f"{visitor.url}submit/")
        assert f'action="{MTURK_HOSTS[0]}/mturk/externalSubmit"' in response.content.decode()
        assert f"form-action 'self' {MTURK_HOSTS[0]}" in response["Content-Security-Policy"]
        page = Page(response)
        assert (page.field("assignmentId"), page.field("code")) == ("A1", "DONE-1")

    def test_it_hands_in_to_mechanical_turk_only(self, hit: Campaign, stranger: Client) -> None:
        ids = by_address(hit, {**FROM_MTURK, "turkSubmitTo": "https://evil.example"})
        assert stranger.post(f"/arrive/{hit.public_id}/", ids).status_code == 400
        assert not Annotator.objects.exists()


class TestConsent:
    def test_where_it_is_required_nobody_begins_without(self, campaign: Campaign, stranger: Client) -> None:
        onboarding_set(campaign=campaign, consent_required=True, notice="Kept for **five years**.")
        page = Page(stranger.get("/judge/trial/"))
        assert "Kept for five years" in page.words
        assert stranger.post("/judge/trial/begin/").status_code == 400
        assert not Annotator.objects.exists()
        stranger.post("/judge/trial/begin/", {"consent": "on"})
        assert Enrolment.objects.get().consented_at is not None


class TestQualification:
    @pytest.fixture
    def strict(self, make_campaign: CampaignMaker) -> Campaign:
        campaign = make_campaign(start=False, design=replace(OPEN, quota=3))
        turns = [{"speaker": "user", "text": "2 + 2?"}]
        items = [
            NewQualificationItem(turns, "4", "5", "A", "Four is right."),
            NewQualificationItem(turns, "5", "4", "B", "Four."),
        ]
        qualification_set(campaign=campaign, items=items, pass_mark=2)
        onboarding_set(campaign=campaign, platform="prolific", **CODES)
        campaign_open(campaign=campaign)
        run_jobs()
        campaign.refresh_from_db()
        return campaign

    def qualify(self, visitor: Visitor, choice: str) -> None:
        form = {name: visitor.page.field(name) for name in ("item", "attempt")}
        visitor.post("qualify", {**form, "choice": choice})

    def attempt(self, visitor: Visitor, *choices: str) -> None:
        for choice in choices:
            self.qualify(visitor, choice)
            visitor.reload()

    def test_each_answer_is_explained_at_once_and_enough_right_ones_admit(
        self, strict: Campaign, stranger: Client
    ) -> None:
        visitor = arrive(stranger, strict)
        assert "Qualification: 1 of 2" in visitor.page.words
        self.qualify(visitor, "A")
        assert "Right: A is better. Four is right." in visitor.page.words
        visitor.reload()
        self.qualify(visitor, "B")
        visitor.reload()
        assert "You are in" in visitor.page.words
        visitor.go_on()
        assert "1 of 3" in visitor.page.words

    def test_a_first_failure_is_told_with_its_count_and_a_second_screens_out(
        self, strict: Campaign, stranger: Client
    ) -> None:
        visitor = arrive(stranger, strict)
        self.qualify(visitor, "tie")
        assert "You answered “Tie”. Right is: A is better." in visitor.page.words
        visitor.reload()
        self.attempt(visitor, "B")
        assert "You had 1 of 2 right; 2 are needed. This is the second and last attempt." in visitor.page.words
        self.attempt(visitor, "B", "B")
        assert "This task does not fit" in visitor.page.words
        assert "OUT-1" in visitor.page.words

    def test_who_was_screened_out_gets_no_second_code(self, strict: Campaign, stranger: Client) -> None:
        self.attempt(arrive(stranger, strict), "B", "B", "B", "B")
        page = knock(strict, SESSION_ID="session-2")
        assert TAKEN_PART in page.words
        assert "OUT-1" not in page.html

    def test_nobody_gets_further_attempts_by_being_erased(self, strict: Campaign, stranger: Client) -> None:
        """The answers of the first attempt are known by then."""
        visitor = arrive(stranger, strict)
        self.attempt(visitor, "B")
        erase(stranger)
        assert TAKEN_PART in knock(strict).words

    def test_nothing_is_issued_to_whom_has_not_passed(self, strict: Campaign) -> None:
        annotator = annotator_enrol(campaign=strict)
        assert assignment_claim(campaign=strict, annotator=annotator) == []

    def test_an_answer_sent_twice_is_one_and_another_item_is_refused(self, strict: Campaign, stranger: Client) -> None:
        visitor = arrive(stranger, strict)
        form = {"item": visitor.page.field("item"), "attempt": "1", "choice": "A"}
        for _ in range(2):
            visitor.post("qualify", form)
        assert Enrolment.objects.get().qualification_answers.count() == 1
        visitor.post("qualify", {**form, "attempt": "2"})
        assert visitor.page.response.status_code == 409
        assert not Judgment.objects.exists()

    def test_items_are_fixed_once_it_collects_and_are_answered_by_its_verdicts(self, strict: Campaign) -> None:
        with pytest.raises(Conflict):
            qualification_set(campaign=strict, items=[], pass_mark=0)
        with pytest.raises(InvalidInput):
            qualification_set(campaign=strict, items=[], pass_mark=1)


@pytest.mark.parametrize(
    ("visibility", "released", "said"),
    [
        (Campaign.Visibility.LINK, False, "The board shows totals only"),
        (Campaign.Visibility.PUBLIC, False, "Its public log lists judgments"),
        (Campaign.Visibility.PUBLIC, True, "The owner publishes the judgments"),
    ],
)
def test_notice_says_what_others_see_of_answers(
    campaign: Campaign, stranger: Client, visibility: str, released: bool, said: str
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(visibility=visibility, releases_data=released)
    address = "trial" if visibility == Campaign.Visibility.PUBLIC else campaign.public_id
    page = " ".join(stranger.get(f"/judge/{address}/").content.decode().split())
    assert [text in page for text in ("shows totals only", "public log lists", "owner publishes")] == [
        text in said for text in ("shows totals only", "public log lists", "owner publishes")
    ]
