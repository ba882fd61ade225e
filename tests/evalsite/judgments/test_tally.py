"""What heads of boards count: always the newest judgment, and no closed batch is counted twice."""

from typing import Any

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator, Batch
from evalsite.judgments.selectors import Tally, tally
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.evalsite.cast import CampaignMaker, assignment_claim, judge


def test_every_judgment_is_counted_at_once(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    assert tally([campaign]) == Tally(0, 0)
    given = judge(campaign, bob)
    assert tally([campaign]) == Tally(given, 1)
    given += judge(campaign, dora)
    assert tally([campaign]) == Tally(given, 2)


def test_the_judgments_of_another_campaign_are_not_counted(
    campaign: Campaign, bob: Annotator, make_campaign: CampaignMaker
) -> None:
    given = judge(campaign, bob)
    other = make_campaign(slug="other")
    judge(other, annotator_enrol(campaign=other))
    assert tally([campaign]) == Tally(given, 1)
    assert tally([campaign, other]).annotators == 2


@pytest.mark.database
def test_closed_batches_are_counted_once(campaign: Campaign, bob: Annotator, django_assert_num_queries: Any) -> None:
    given = judge(campaign, bob, blocks=3)
    assert Batch.objects.filter(campaign=campaign, state=Batch.State.CLOSED).exists()
    first = tally([campaign])
    assert first == Tally(given, 1)
    with django_assert_num_queries(3):  # how many are closed and removed, and what the open one holds
        assert tally([campaign]) == first


def test_who_changes_an_answer_of_a_closed_batch_is_counted_once(campaign: Campaign, bob: Annotator) -> None:
    assignments = assignment_claim(campaign=campaign, annotator=bob)
    given = [
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}) for one in assignments
    ]
    Batch.objects.update(state=Batch.State.CLOSED, closed_at=timezone.now())
    before = tally([campaign])
    judgment_record(
        annotator=bob,
        assignment_id=assignments[0].public_id,
        choices={"overall": "B"},
        supersedes=given[0].judgment.public_id,
    )
    assert tally([campaign]) == before == Tally(len(assignments), 1)
    Batch.objects.filter(state=Batch.State.OPEN).update(state=Batch.State.CLOSED, closed_at=timezone.now())
    assert tally([campaign]) == before


def test_tally_counts_an_older_batch_that_closes_later(
    campaign: Campaign, bob: Annotator, make_campaign: CampaignMaker
) -> None:
    other = make_campaign(slug="other")
    given = judge(campaign, bob)
    given += judge(other, annotator_enrol(campaign=other))
    for one in (other, campaign):
        Batch.objects.filter(campaign=one).update(state=Batch.State.CLOSED, closed_at=timezone.now())
        assert tally([campaign, other]) == Tally(given, 2)
