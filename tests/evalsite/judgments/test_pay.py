"""What an annotator has earned, to the last digit."""

from dataclasses import replace
from decimal import Decimal

from evalsite.campaigns.models import Campaign
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.services import annotator_enrol
from tests.evalsite.cast import OPEN, CampaignMaker, judge


def test_many_small_amounts_add_up_exactly(make_campaign: CampaignMaker) -> None:
    """SQLite adds decimals as floats: from the seventy-fourth five cents on its sum was not the right one."""
    campaign = make_campaign(design=replace(OPEN, batch_size=200, block_size=30), chatbots=3, prompts=30)
    Campaign.objects.update(pay_rate="0.05", currency="EUR")
    bob = annotator_enrol(campaign=campaign)
    given = judge(campaign, bob, blocks=5)
    assert given > 80
    assert progress_get(campaign=campaign, annotator=bob).pay == {"EUR": given * Decimal("0.05")}
