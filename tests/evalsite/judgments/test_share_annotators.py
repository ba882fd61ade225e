"""Annotators in several campaigns: each campaign gets its share of their time, and none waits for another's work."""

from collections import Counter
from dataclasses import replace

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.judgments.sharing import campaigns_fair, work_claim
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs

WIDE = replace(OPEN, batch_size=100)


@pytest.fixture
def short(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="short", design=replace(WIDE, block_size=2), prompts=12)


@pytest.fixture
def long(make_campaign: CampaignMaker) -> Campaign:
    return make_campaign(slug="long", design=replace(WIDE, block_size=6), prompts=12)


@pytest.fixture
def bob(short: Campaign, long: Campaign) -> Annotator:
    annotator = annotator_enrol(campaign=short)
    return annotator_enrol(campaign=long, annotator=annotator)


def answer_next(annotator: Annotator) -> str | None:
    work = work_claim(annotator=annotator)
    if work is None:
        return None
    for assignment in work[1]:
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": "tie"})
    return work[0].slug


def test_campaigns_get_the_same_number_of_answers_however_long_their_blocks_are(bob: Annotator) -> None:
    blocks = Counter(answer_next(bob) for _ in range(16))
    assert blocks == {"short": 12, "long": 4}
    assert Assignment.objects.filter(annotator=bob, campaign__slug="short").count() == 24


def test_what_is_open_comes_first(bob: Annotator) -> None:
    first, again = work_claim(annotator=bob), work_claim(annotator=bob)
    assert first == again
    assert first is not None


def test_a_campaign_without_work_is_passed_over(bob: Annotator, short: Campaign, long: Campaign) -> None:
    Assignment.objects.filter(campaign=short, state="queued").update(state="withdrawn")
    assert [answer_next(bob) for _ in range(2)] == ["long", "long"]
    Campaign.objects.filter(pk=long.pk).update(state="paused")
    assert answer_next(bob) is None


def test_a_campaign_that_became_private_is_passed_over(bob: Annotator) -> None:
    Campaign.objects.filter(slug="short").update(visibility="private")
    assert answer_next(bob) == "long"


def test_who_was_there_long_before_is_not_owed_by_the_newcomer(
    make_campaign: CampaignMaker, bob: Annotator, long: Campaign
) -> None:
    given = judge(long, bob, blocks=4)
    run_jobs()
    assert given == 24
    late = make_campaign(slug="late", design=WIDE)
    annotator_enrol(campaign=late, annotator=bob)
    assert [campaign.slug for campaign in campaigns_fair(bob)][-1] == "long"
