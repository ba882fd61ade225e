"""A target that was changed while a campaign runs: pages say at once how far the board is from the new one."""

import math
from dataclasses import replace

import pytest
from django.test import Client

from evalsite.accounts.models import User
from evalsite.boards.feasibility import evidence_now
from evalsite.boards.models import Decision, Snapshot
from evalsite.boards.selectors import board_state_get, campaigns_progress
from evalsite.boards.versions import board_version_get
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.core.deletion_guard import deletion_permitted
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.campaign_status import campaign_status_get
from scheduler import TargetSE
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

KNOWN = {"target": 0.2, "se": 0.4, "progress": 0.25, "judgments_to_go": 300.0, "out_of_reach": 0.0, "budget": 500.0}


@shared
def judged(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign(design=replace(OPEN, target_se=0.5, budget=500), prompts=60)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=5)
    run_jobs()
    return campaign


def test_the_same_limits_leave_what_was_known() -> None:
    assert evidence_now(Limits(target_se=0.2, budget=500), KNOWN, 100) == KNOWN
    assert evidence_now(Limits(budget=500), KNOWN, 100) == KNOWN
    assert evidence_now(Limits(target_se=0.2), {}, 100) == {}


def test_another_target_is_as_far_as_its_own_rule_will_say() -> None:
    now = evidence_now(Limits(target_se=0.1, budget=900), KNOWN, 100)
    assert (now["target"], now["progress"], now["judgments_to_go"], now["budget"]) == (0.1, 0.0625, 1500.0, 900.0)
    assert "out_of_reach" not in now, "it was looked up for the old one"
    wanted = TargetSE.for_difference(1.0).value
    other = evidence_now(Limits(min_difference=1.0), KNOWN, 100)
    assert other["progress"] == pytest.approx(min(1.0, (wanted / 0.4) ** 2))


def test_what_may_be_out_of_reach_by_now_promises_no_end() -> None:
    reached = {**KNOWN, "reachable_se": 0.15}
    assert "judgments_to_go" not in evidence_now(Limits(target_se=0.1), reached, 100)
    assert evidence_now(Limits(target_se=0.16), reached, 100)["judgments_to_go"] == pytest.approx(525.0, abs=1)


def test_before_the_first_fit_nothing_is_promised() -> None:
    now = evidence_now(Limits(target_se=0.1), {"target": 0.2, "progress": 0.0}, 0)
    assert (now["progress"], "judgments_to_go" in now) == (0.0, False)


@pytest.mark.full
def test_pages_tell_of_the_new_target_before_any_refit_and_the_refit_says_the_same(
    judged: Campaign, owner: Client, alice: User
) -> None:
    board = judged.boards.get()
    before, mark, etag = campaign_status_get(judged), board_version_get(board.slug), board_state_get(board).etag
    assert before.to_go is not None
    act_perform(key="trial", act=Act.EXTEND, user=alice, given=ActionArguments(target_se=0.4))
    judged = Campaign.objects.get()
    decisions = Decision.objects.count()
    after = campaign_status_get(judged)
    assert after.to_go is not None
    assert after.to_go > before.to_go
    assert "target 0.40" in words(owner.get("/boards/trial/"))
    assert f"{after.to_go:,} judgments to go" in words(owner.get("/console/trial/"))
    assert campaigns_progress(alice, start=0, count=5)[0].progress == after.progress
    assert board_version_get(board.slug) != mark, "a page that was kept for anybody is made anew"
    assert board_state_get(judged.boards.get()).etag != etag
    run_jobs()
    assert Decision.objects.count() == decisions + 1, "the worker has decided by the new target"
    told = Decision.objects.order_by("-pk")[0].evidence
    assert math.isclose(told["progress"], after.progress or 0.0)
    assert round(told["judgments_to_go"]) == after.to_go


def test_a_target_that_may_be_out_of_reach_is_said_to_be_looked_at(
    judged: Campaign, owner: Client, alice: User
) -> None:
    evidence = {**KNOWN, "se": 0.6, "target": 0.5, "reachable_se": 0.45}
    with deletion_permitted():
        Decision.objects.all().delete()
    Decision.objects.create(
        snapshot=judged.boards.get().snapshots.order_by("-number")[0], stop=False, reason="x", evidence=evidence
    )
    act_perform(key="trial", act=Act.EXTEND, user=alice, given=ActionArguments(target_se=0.4))
    text = words(owner.get("/console/trial/"))
    assert "The next update of the board checks whether its prompts suffice." in text
    assert "judgments to go" not in words(owner.get("/boards/trial/"))


@pytest.mark.parametrize("page", ["charts/", "charts/precision/", "chatbots/{first}/"])
def test_charts_and_chatbots_pages_tell_of_it_too_and_that_it_was_changed(
    judged: Campaign, alice: User, page: str
) -> None:
    snapshot = Snapshot.objects.latest()
    address = f"/boards/trial/{page.format(first=snapshot.rows[0]['chatbot'])}"
    before = words(Client().get(address))
    act_perform(key="trial", act=Act.EXTEND, user=alice, given=ActionArguments(target_se=0.4))
    assert Snapshot.objects.latest() == snapshot
    after = words(Client().get(address))
    if "precision" in page or page == "charts/":
        assert "the target 0.40; about" in after
        assert "the target 0.40" not in before
    if "precision" not in page:
        assert "limits changed" in after
        assert "limits changed" not in before
