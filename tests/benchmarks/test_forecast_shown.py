"""The benchmark of the forecast shown, at toy size: whole campaigns of the service, and checks that can fail."""

from dataclasses import replace
from pathlib import Path

import pytest

from evalsite.campaigns.models import Campaign
from evalsite.judgments.models import Judgment
from tests.benchmarks import forecast_shown as shown
from tests.benchmarks.forecast_shown import Outcome, Setting

TOY = Setting("toy", 3, 12, {"target_se": 0.7, "batch_size": 6, "block_size": 2}, {"overlap_share": 0.2})


@pytest.mark.full
@pytest.mark.django_db
def test_a_campaign_is_forecast_launched_and_judged_until_the_service_stops_it(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    (found,) = shown.outcomes(TOY, 1, runs)
    campaign = Campaign.objects.get()
    assert (campaign.state, found.reason) == ("stopped", campaign.stop_reason)
    assert found.took == Judgment.objects.count() > 0
    assert 0 < found.low <= found.middle <= found.high
    assert list(shown.outcomes(TOY, 1, runs)) == [found]
    assert Campaign.objects.count() == 1, "a campaign that has a line is not run again"


@pytest.mark.parametrize(("held", "passes"), [(12, False), (13, True), (19, True), (20, False)])
def test_a_range_that_holds_too_few_fails_and_so_does_one_that_holds_all(held: int, passes: bool) -> None:
    inside = Outcome("toy", 0, 100.0, 200.0, 300.0, 250, "", 0.0)
    found = [inside] * held + [replace(inside, took=301)] * (20 - held)
    assert shown.check(TOY, found).passed is passes
