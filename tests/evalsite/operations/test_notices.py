"""Owners are told of stops, alarms, empty queues, spent budgets and targets out of reach: once, and if they want it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.conf import settings
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import timezone, translation

from evalsite.accounts.models import Membership, User
from evalsite.accounts.services import user_create, user_language_set
from evalsite.boards.models import Refit
from evalsite.campaigns.models import Campaign, CampaignRole
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import entrant_add
from evalsite.chatbots.services import chatbot_create, version_create
from evalsite.core import jobs
from evalsite.core.terminal import shown
from evalsite.judgments.models import Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.models import Notice
from evalsite.operations.notices import mail_choose, mail_wanted, notice_text
from evalsite.refits.services import alarm_clear, alarm_raise
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs, run_only
from tests.evalsite.pages.test_pages import words


@pytest.fixture
def alice_reads(alice: User) -> User:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    alice.refresh_from_db()
    return alice


@pytest.fixture
def owner(alice_reads: User) -> Client:
    client = Client()
    client.force_login(alice_reads)
    return client


def stop(campaign: Campaign, by: User) -> None:
    act_perform(key=campaign.slug, act=Act.STOP, user=by, given=ActionArguments(reason="the paper is due"))
    run_only("notice", "mail")


def test_a_stop_is_told_to_every_owner_once_and_to_nobody_else(
    campaign: Campaign, alice_reads: User, charlie: User, mailoutbox: list[EmailMessage]
) -> None:
    User.objects.filter(pk=charlie.pk).update(email="charlie@example.org")
    CampaignRole.objects.create(campaign=campaign, user=charlie, role="owner")
    for role in ("manager", "viewer"):
        member = user_create(username=role, password=None, email=f"{role}@example.org")
        Membership.objects.create(organisation=campaign.organisation, user=member, role=role)
    stop(campaign, alice_reads)
    assert sorted(mail.to[0] for mail in mailoutbox) == ["alice@example.org", "charlie@example.org"]
    assert mailoutbox[0].subject == "Trial: a campaign has stopped"
    assert "Trial has stopped: the paper is due." in mailoutbox[0].body
    assert f"{settings.SITE_URL}/console/{campaign.public_id}/" in mailoutbox[0].body
    assert settings.SITE_URL.startswith("http")


def test_a_mail_is_english_throughout_whoever_speaks_beside_it(
    campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    with translation.override("de"):
        stop(campaign, alice_reads)
    assert mailoutbox[0].subject == "Trial: a campaign has stopped"
    assert "Trial has stopped: the paper is due." in mailoutbox[0].body
    assert "Which mails you get is set at" in mailoutbox[0].body


def test_or_in_the_language_of_who_gets_it(
    campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    user_language_set(user=alice_reads, language="de")
    act_perform(key=campaign.slug, act=Act.STOP, user=alice_reads, given=ActionArguments())
    run_only("notice", "mail")
    assert mailoutbox[0].subject == "Trial: eine Kampagne wurde beendet"
    assert "Trial wurde beendet: die Inhaberin oder der Inhaber hat die Kampagne beendet." in mailoutbox[0].body
    assert "Die Seite der Kampagne:" in mailoutbox[0].body


@pytest.mark.parametrize("line", ["\n", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"])
def test_a_campaigns_name_begins_no_line_of_its_own_in_a_mail(
    line: str, campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name=f"Trial{line}Bcc: everybody")
    stop(campaign, alice_reads)
    subject = mailoutbox[0].subject
    assert subject == f"Trial{shown(line)}Bcc: everybody: a campaign has stopped"
    assert len(subject.splitlines()) == 1
    assert mailoutbox[0].message()["Bcc"] is None


@pytest.mark.parametrize(("language", "said"), [("en", "has stopped"), ("de", "wurde beendet")])
def test_the_banner_is_in_the_reader_s_language(
    campaign: Campaign, alice_reads: User, owner: Client, language: str, said: str
) -> None:
    stop(campaign, alice_reads)
    page = owner.get(f"/console/{campaign.slug}/", headers={"Accept-Language": language})
    assert f"Trial {said}: the paper is due." in words(page)


def test_a_notice_of_an_earlier_release_is_shown_as_it_was_written(campaign: Campaign) -> None:
    notice = Notice(campaign=campaign, event=Notice.Event.STOP, text="Trial has stopped.")
    with translation.override("de"):
        assert notice_text(notice) == "Trial has stopped."


def test_a_rules_stop_and_four_fifths_of_the_budget_are_told(
    make_campaign: CampaignMaker, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    design = replace(OPEN, budget=10, batch_size=4, block_size=4, target_se=None)
    campaign = make_campaign(design=design, chatbots=3, prompts=12)
    while judge(campaign, annotator_enrol(campaign=campaign)):
        run_jobs()
    Campaign.objects.update(batch_age_s=1)
    campaign.batches.filter(state="open").update(opened_at=timezone.now() - timedelta(hours=1))
    jobs.sweep()
    run_jobs()
    assert [mail.subject for mail in mailoutbox] == [
        "Trial: four fifths of its budget are spent",
        "Trial: a campaign has stopped",
    ]
    assert "8 of the 10 judgments" in mailoutbox[0].body


def test_an_alarm_is_told_when_it_is_raised_and_not_each_time_that_it_fails_again(
    campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    for _ in range(3):
        alarm_raise(campaign=campaign, message="EngineError: no")
    run_jobs()
    assert [mail.subject for mail in mailoutbox] == ["Trial: its board cannot be updated"]
    alarm_clear(campaign=campaign)
    alarm_raise(campaign=campaign, message="EngineError: again")
    run_jobs()
    assert len(mailoutbox) == 2, "another alarm is another event"


def long_ago(campaign: Campaign) -> None:
    before = timezone.now() - timedelta(minutes=10)
    Assignment.objects.filter(campaign=campaign, issued_at__isnull=False).update(issued_at=before)
    Refit.objects.update(finished_at=before)
    Campaign.objects.update(opened_at=before)


def test_an_empty_queue_is_told_when_it_lasts_and_told_again_only_when_it_is_another(
    campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    jobs.sweep()
    run_jobs()
    assert mailoutbox == [], "it may be about to be filled"
    long_ago(campaign)
    for _ in range(2):
        jobs.sweep()
        run_jobs()
    assert [mail.subject for mail in mailoutbox] == ["Trial: nothing waits to be judged"]
    act_perform(key="trial", act=Act.REFIT, user=alice_reads, given=ActionArguments())
    run_jobs()
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    long_ago(campaign)
    jobs.sweep()
    run_jobs()
    assert len(mailoutbox) == 2


def test_a_queue_that_is_full_paused_or_paid_up_is_no_event(campaign: Campaign, mailoutbox: list[EmailMessage]) -> None:
    long_ago(campaign)
    jobs.sweep()
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    Campaign.objects.update(state="paused")
    jobs.sweep()
    Campaign.objects.update(state="running")
    campaign.stopping.deadline = timezone.now() - timedelta(hours=1)
    campaign.stopping.save()
    jobs.sweep()
    assert not Notice.objects.filter(event="queue").exists()


def test_who_does_not_want_mail_about_an_event_gets_none(
    owner: Client, campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    page = owner.get("/console/notices/")
    assert "alice@example.org" in words(page)
    assert page.content.decode().count("checked") == 5, "everything is told unless a person says otherwise"
    owner.post("/console/notices/", {"wanted": ["alarm", "budget"]})
    assert mail_wanted(alice_reads) == ["alarm", "budget"]
    stop(campaign, alice_reads)
    assert mailoutbox == []
    assert "Trial has stopped" in words(owner.get("/console/trial/")), "the console tells it all the same"
    assert owner.post("/console/notices/", {"wanted": ["everything"]}).status_code == 400
    mail_choose(user=alice_reads, wanted=["stop", "alarm", "queue", "budget", "reach"])
    assert len(mail_wanted(alice_reads)) == 5


def test_board_that_opens_again_no_longer_says_that_it_stopped(
    owner: Client, campaign: Campaign, alice_reads: User
) -> None:
    stop(campaign, alice_reads)
    assert "Trial has stopped" in words(owner.get("/console/trial/"))
    Campaign.objects.update(standing=True)
    campaign.refresh_from_db()
    newcomer = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="Newcomer"))
    entrant_add(campaign=campaign, version=newcomer)
    assert "Trial has stopped" not in words(owner.get("/console/trial/"))


def test_each_person_dismisses_the_banner_for_themselves(
    owner: Client, campaign: Campaign, alice_reads: User, charlie: User
) -> None:
    CampaignRole.objects.create(campaign=campaign, user=charlie, role="viewer")
    other = Client()
    other.force_login(charlie)
    stop(campaign, alice_reads)
    assert "Dismiss" in words(owner.get("/console/trial/log/"))
    assert owner.get("/console/trial/notices/seen/").status_code == 405
    owner.post("/console/trial/notices/seen/")
    assert "Dismiss" not in words(owner.get("/console/trial/"))
    assert "Dismiss" in words(other.get("/console/trial/"))


def test_who_has_no_role_puts_nothing_away(campaign: Campaign, alice_reads: User, charlie: User) -> None:
    stop(campaign, alice_reads)
    other = Client()
    other.force_login(charlie)
    assert other.post("/console/trial/notices/seen/").status_code == 403
    assert not Notice.objects.get().seen_by.exists()


def test_a_name_cannot_add_lines_to_the_head_of_a_mail(
    campaign: Campaign, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    Campaign.objects.update(name="Trial\nBcc: all@example.org")
    stop(Campaign.objects.get(), alice_reads)
    assert mailoutbox[0].subject == r"Trial\nBcc: all@example.org: a campaign has stopped"
    assert mailoutbox[0].recipients() == ["alice@example.org"]
