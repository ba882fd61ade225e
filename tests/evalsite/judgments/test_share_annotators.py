"""Annotators in several campaigns: each campaign gets its share of their time, and none waits for another's work."""

import threading
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_key
from evalsite.core.db import write_transaction
from evalsite.core.models import Job
from evalsite.judgments.annotators import campaign_leave
from evalsite.judgments.campaign_choice import OfferedBlock, campaigns_by_turn, work_claim
from evalsite.judgments.models import Annotator, Assignment, Enrolment
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.environment import PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_only_refits
from tests.shared import shared

pytestmark = pytest.mark.database

WIDE = replace(OPEN, batch_size=100)


@shared
def short(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="short", design=replace(WIDE, block_size=2), prompts=12)


@shared
def long(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="long", design=replace(WIDE, block_size=6), prompts=12)


@shared
def bob(short: Campaign, long: Campaign) -> Annotator:
    annotator = annotator_enrol(campaign=short)
    return annotator_enrol(campaign=long, annotator=annotator)


def answer_next(annotator: Annotator) -> str | None:
    work = work_claim(annotator=annotator)
    for assignment in work.block:
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": "tie"})
    return work.campaign.slug if work.campaign else None


def test_block_length_does_not_change_a_campaigns_share(bob: Annotator) -> None:
    blocks = Counter(answer_next(bob) for _ in range(16))
    assert blocks == {"short": 12, "long": 4}
    assert Assignment.objects.filter(annotator=bob, campaign__slug="short").count() == 24


def test_what_is_open_comes_first(bob: Annotator) -> None:
    first, again = work_claim(annotator=bob), work_claim(annotator=bob)
    assert first == again
    assert first.block


def test_expired_block_gives_its_campaign_no_extra_turn(bob: Annotator) -> None:
    begun, (turn, _) = work_claim(annotator=bob).campaign, campaigns_by_turn(bob)
    assert begun != turn
    with time_machine.travel(timezone.now() + timedelta(seconds=turn.lease_s + 1), tick=False):
        assert work_claim(annotator=bob).campaign == turn


def test_a_campaign_without_work_is_passed_over(bob: Annotator, short: Campaign, long: Campaign) -> None:
    Assignment.objects.filter(campaign=short, state="queued").update(state="withdrawn")
    assert [answer_next(bob) for _ in range(2)] == ["long", "long"]
    Campaign.objects.filter(pk=long.pk).update(state="paused")
    assert answer_next(bob) is None


def test_a_campaign_that_became_private_is_passed_over(bob: Annotator) -> None:
    Campaign.objects.filter(slug="short").update(visibility="private")
    assert answer_next(bob) == "long"


def test_left_campaign_has_no_turn_until_rejoined(bob: Annotator, short: Campaign) -> None:
    campaign_leave(enrolment=Enrolment.objects.get(campaign=short, annotator=bob))
    assert [answer_next(bob) for _ in range(2)] == ["long", "long"]
    annotator_enrol(campaign=short, annotator=bob)
    assert answer_next(bob) == "short"


def test_a_door_that_opens_some_campaigns_only_is_given_no_other(
    bob: Annotator, short: Campaign, long: Campaign
) -> None:
    assert work_claim(annotator=bob, among=[long.pk]).campaign == long
    assert work_claim(annotator=bob, among=[short.pk]).campaign == short, "what is open there comes first here only"
    assert not work_claim(annotator=bob, among=[]).block


def test_without_a_block_it_tells_what_to_expect(bob: Annotator, short: Campaign, long: Campaign) -> None:
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    said = [work_claim(annotator=bob).state]
    for campaign, state in ((short, "paused"), (long, "stopped"), (short, "stopped")):
        Campaign.objects.filter(pk=campaign.pk).update(state=state, stopped_at=timezone.now())
        said.append(work_claim(annotator=bob).state)
    assert said == ["running", "running", "paused", "stopped"]


@pytest.mark.django_db(transaction=True)
def test_a_campaign_that_is_passed_over_is_planned_all_the_same(
    bob: Annotator, short: Campaign, long: Campaign
) -> None:
    run_only_refits()
    Assignment.objects.filter(campaign=short, state="queued").update(state="withdrawn")
    assert work_claim(annotator=bob).campaign == long
    waiting = Job.objects.filter(state=Job.State.QUEUED).values_list("key", flat=True)
    assert refit_key(short) in waiting


@pytest.mark.skipif(connection.vendor == "sqlite", reason="who writes has SQLite alone")
@pytest.mark.django_db(transaction=True)
def test_campaigns_that_were_passed_over_are_locked_by_nobody(bob: Annotator, short: Campaign, long: Campaign) -> None:
    """Under an Idempotency-Key what a call tries is one transaction: two could wait for each other for ever."""
    erin = annotator_enrol(campaign=long, annotator=annotator_enrol(campaign=short))
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    run_only_refits()
    Assignment.objects.filter(state="queued").update(state="withdrawn")
    Job.objects.all().delete()
    found: list[OfferedBlock] = []

    def pass_over() -> None:
        with write_transaction():
            found.append(work_claim(annotator=erin))
        connection.close()

    with write_transaction():
        assert not work_claim(annotator=bob).block
        meanwhile = threading.Thread(target=pass_over)
        meanwhile.start()
        meanwhile.join(timeout=PATIENCE_S)
        waits = meanwhile.is_alive()
    meanwhile.join()
    assert not waits
    assert [one.state for one in found] == ["running"]
    assert Job.objects.filter(key__in=[refit_key(short), refit_key(long)]).count() == 2, "both are planned anew"


def test_who_was_there_long_before_is_not_owed_by_the_newcomer(
    make_campaign: CampaignMaker, bob: Annotator, long: Campaign
) -> None:
    given = judge(long, bob, blocks=4)
    run_only_refits()
    assert given == 24
    late = make_campaign(slug="late", design=WIDE)
    annotator_enrol(campaign=late, annotator=bob)
    assert [campaign.slug for campaign in campaigns_by_turn(bob)][-1] == "long"
