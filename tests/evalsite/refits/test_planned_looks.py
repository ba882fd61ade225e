"""Looks of a stopped board: the larger of planned and taken ones, stored in its snapshot."""

from dataclasses import replace

import pytest

from evalsite.boards.chart_data import Pair
from evalsite.boards.models import Refit, Snapshot
from evalsite.boards.selectors import chart_data_get, snapshot_current
from evalsite.campaigns.models import Campaign, StoppingSpec
from evalsite.judgments.services import annotator_enrol
from evalsite.refits.planned_looks import looks_at_stop, looks_planned
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_only_refits


def stopped(budget: int | None, batch_size: int = 10, *, standing: bool = False) -> Campaign:
    stopping = StoppingSpec(budget=budget)
    campaign = Campaign(state=Campaign.State.STOPPED, batch_size=batch_size, standing=standing)
    campaign.stopping = stopping
    return campaign


def test_budget_over_batch_size_is_planned() -> None:
    assert looks_planned([stopped(100)]) == 10
    assert looks_planned([stopped(101)]) == 11
    assert looks_planned([stopped(100), stopped(30)]) == 13


def test_unlimited_campaigns_plan_no_number_of_looks() -> None:
    running = stopped(100)
    running.state = Campaign.State.RUNNING
    for campaigns in ([], [running], [stopped(None)], [stopped(100, standing=True)], [stopped(100), running]):
        assert looks_planned(campaigns) is None


def test_larger_of_planned_and_taken_looks_counts() -> None:
    assert looks_at_stop(None, {"a", "b"}, "c") is None
    assert looks_at_stop(5, {"a", "b"}, "c") == 5
    assert looks_at_stop(2, {"a", "b"}, "c") == 3
    assert looks_at_stop(2, {"a", "b", "c"}, "c") == 3, "the same votes are one look"


@pytest.mark.database
def test_stop_by_budget_tests_the_board_again(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=6), chatbots=3, prompts=6)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        run_only_refits()
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    final = snapshot_current(campaign.default_board)
    assert final is not None
    earlier = Snapshot.objects.exclude(pk=final.pk)
    assert set(earlier.values_list("looks", flat=True)) == {None}
    taken = len({*earlier.values_list("input_sha256", flat=True), final.input_sha256})
    assert final.looks == max(-(-6 // campaign.batch_size), taken)
    record = chart_data_get(final)
    assert record is not None
    assert all(isinstance(pair.apart, bool) for pair in record.pairs)
    before = (Snapshot.objects.count(), Refit.objects.count())
    run_only_refits()
    assert (Snapshot.objects.count(), Refit.objects.count()) == before


def test_pairs_of_older_records_have_no_mark() -> None:
    assert Pair(0, 1, 5, 2, 1, 0.4, 0.2, 0.39, 0.75, 0).apart is None
    turned = Pair(0, 1, 5, 2, 1, 0.4, 0.2, 0.39, 0.75, 0, apart=True).turned()
    assert turned.apart is True
