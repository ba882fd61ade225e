"""What heads of boards count: always the newest judgment, and cheap as long as there is none."""

from typing import Any

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Annotator
from evalsite.judgments.selectors import Tally, tally
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import CampaignMaker, judge


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


def test_nobody_counts_again_while_nothing_is_judged(
    campaign: Campaign, bob: Annotator, django_assert_num_queries: Any
) -> None:
    judge(campaign, bob)
    first = tally([campaign])
    with django_assert_num_queries(1):
        assert tally([campaign]) == first
