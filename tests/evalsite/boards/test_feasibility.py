"""A target that a campaign's prompts cannot give: each decision holds what they can, and its owner is told, once."""

from dataclasses import replace

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import translation

from evalsite.accounts.models import User
from evalsite.boards.feasibility import OutOfReach, infeasibility_text, out_of_reach
from evalsite.boards.models import Decision
from evalsite.campaigns.limits import Limits
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import plan_set, refit_request
from evalsite.judgments.selectors import judgments_spent
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.campaign_status import campaign_status_get
from evalsite.operations.models import Notice
from evalsite.operations.notices import notice_text
from evalsite.prompts.models import Prompt
from evalsite.prompts.services import NewPrompt, prompts_add
from evalsite.refits.mapping import Planner
from irt_engine import Posterior
from scheduler import Futility, Overlap, TargetSE
from tests.evalsite.cast import OPEN, CampaignMaker, judge, run_jobs
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

HOPELESS = {"out_of_reach": 1.0, "reachable_se": 0.2071, "target": 0.1, "prompts": 60.0}


@pytest.fixture
def alice_reads(alice: User) -> User:
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    alice.refresh_from_db()
    return alice


def judged(campaign: Campaign) -> Campaign:
    """Two annotators have judged some, and each time the board was fitted."""
    for choice in "AB":
        judge(campaign, annotator_enrol(campaign=campaign), choice, blocks=2)
        run_jobs()
    return campaign


@shared
def hopeless(make_campaign: CampaignMaker) -> Campaign:
    return judged(make_campaign(design=replace(OPEN, target_se=0.05), prompts=12))


def reach_notices(campaign: Campaign) -> list[Notice]:
    return list(Notice.objects.filter(campaign=campaign, event=Notice.Event.REACH))


def test_what_may_be_had_instead_is_a_little_more_than_what_is_in_reach() -> None:
    assert out_of_reach(Limits(target_se=0.1), HOPELESS) == OutOfReach(60, 0.2071, 0.22, difference=False)
    fine = {**HOPELESS, "reachable_se": 0.0312}
    assert out_of_reach(Limits(target_se=0.1), fine) == OutOfReach(60, 0.0312, 0.033, difference=False)


def test_of_a_difference_it_is_the_one_that_is_told_apart_at_the_se_in_reach() -> None:
    target = TargetSE.for_difference(0.4).value
    found = out_of_reach(Limits(min_difference=0.4), {**HOPELESS, "target": target, "reachable_se": 2.0 * target})
    assert found is not None
    assert found.difference
    assert found.enough == pytest.approx(1.05 * 0.8)
    assert TargetSE.for_difference(found.enough).value > 2.0 * target


@pytest.mark.parametrize(
    ("limits", "evidence"),
    [
        (Limits(target_se=0.3), {**HOPELESS, "out_of_reach": 0.0}),
        (Limits(target_se=0.3), {"se": 0.4, "target": 0.3, "progress": 0.5}),
        (Limits(target_se=0.3), {}),
        (Limits(budget=100), HOPELESS),
        (Limits(target_se=0.31), HOPELESS),
        (Limits(min_difference=1.0), HOPELESS),
    ],
    ids=[
        "in reach",
        "decided by an earlier release",
        "not decided yet",
        "no aim any more",
        "another SE",
        "a difference",
    ],
)
def test_nothing_is_said_where_nothing_is_wrong_or_known(limits: Limits, evidence: dict[str, float]) -> None:
    assert out_of_reach(limits, evidence) is None


def test_it_is_said_with_its_numbers_in_the_readers_language() -> None:
    se, difference = OutOfReach(60, 0.2071, 0.22, difference=False), OutOfReach(1, 0.5, 1.3, difference=True)
    assert infeasibility_text(se) == (
        "With these 60 prompts, judged as often as the plan allows, the standard error cannot fall below about 0.21: "
        "add prompts, or settle for 0.22."
    )
    assert "With this 1 prompt," in infeasibility_text(difference)
    assert "between neighbours cannot fall below about 0.50" in infeasibility_text(difference)
    assert "differences of 1.30 and more" in infeasibility_text(difference)
    with translation.override("de"):
        assert "Mit diesen 60 Prompts" in infeasibility_text(se)
        assert "nicht unter etwa 0,21 fallen" in infeasibility_text(se)
        assert "Unterschieden ab 1,30" in infeasibility_text(difference)


def test_each_decision_holds_what_can_be_reached_and_the_campaign_goes_on(hopeless: Campaign) -> None:
    assert hopeless.state == Campaign.State.RUNNING
    decisions = Decision.objects.filter(snapshot__board__default_of=hopeless)
    assert decisions.count() >= 2
    for decision in decisions:
        assert not decision.stop
        assert 0.1 < decision.evidence["reachable_se"] < decision.evidence["se"]
        assert decision.evidence["out_of_reach"] == 1.0
        assert decision.evidence["prompts"] == 12.0


@pytest.mark.full
def test_the_owner_is_told_once_and_not_after_each_refit(
    make_campaign: CampaignMaker, alice_reads: User, mailoutbox: list[EmailMessage]
) -> None:
    campaign = judged(make_campaign(design=replace(OPEN, target_se=0.05), prompts=12))
    refit_request(campaign)
    run_jobs()
    assert [mail.subject for mail in mailoutbox] == ["Trial: its target is out of reach"]
    assert "The target of Trial is out of reach. With these 12 prompts, judged as often as" in mailoutbox[0].body
    [notice] = reach_notices(campaign)
    with translation.override("de"):
        assert "Das Ziel von Trial ist nicht zu erreichen. Mit diesen 12 Prompts" in notice_text(notice)


@pytest.mark.full
def test_they_are_told_again_when_prompts_were_added_that_are_not_enough(make_campaign: CampaignMaker) -> None:
    campaign = judged(make_campaign(design=replace(OPEN, target_se=0.02), prompts=12))
    new = [NewPrompt("another", [{"speaker": "user", "text": "And now?"}], "general")]
    prompts_add(prompt_set=campaign.prompt_set, prompts=new, origin=Prompt.Origin.IMPORT)
    refit_request(campaign)
    run_jobs()
    assert len(reach_notices(campaign)) == 2


@pytest.mark.full
def test_of_a_target_in_reach_nobody_is_told(make_campaign: CampaignMaker, mailoutbox: list[EmailMessage]) -> None:
    campaign = judged(make_campaign(design=replace(OPEN, target_se=0.5), prompts=60))
    last = Decision.objects.filter(snapshot__board__default_of=campaign).latest("pk")
    assert last.evidence["out_of_reach"] == 0.0
    assert last.evidence["reachable_se"] < last.evidence["se"]
    assert reach_notices(campaign) == []
    assert campaign_status_get(campaign).to_go is not None


@pytest.mark.full
def test_what_is_in_reach_counts_the_judgments_that_several_give_of_the_same(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=0.05), prompts=12)
    plan_set(campaign=campaign, options=PlanOptions(overlap_share=1.0, overlap_votes=3))
    judged(campaign)
    last = Decision.objects.filter(snapshot__board__default_of=campaign).latest("pk")
    state = Planner(campaign).state(Posterior.from_bytes(bytes(last.snapshot.posterior)), judgments_spent(campaign))
    without = Futility(TargetSE(0.05)).decide(replace(state, overlap=Overlap())).evidence
    assert 0.05 < last.evidence["reachable_se"] < 0.95 * without["reachable_se"]
    assert len(reach_notices(campaign)) == 1


def test_it_is_told_of_a_target_and_of_the_prompts_that_are_asked(hopeless: Campaign) -> None:
    [notice] = reach_notices(hopeless)
    assert notice.mark == "SE 0.05, 12 prompts"


def test_a_campaign_without_an_aim_looks_nowhere(make_campaign: CampaignMaker) -> None:
    campaign = judged(make_campaign(design=replace(OPEN, target_se=None)))
    last = Decision.objects.filter(snapshot__board__default_of=campaign).latest("pk")
    assert "reachable_se" not in last.evidence
    assert reach_notices(campaign) == []


@pytest.mark.usefixtures("hopeless")
def test_the_overview_says_beside_the_target_what_can_be_reached(owner: Client) -> None:
    text = words(owner.get("/console/trial/"))
    assert "Something needs you" not in text, "what a running campaign's owner cannot mend here is no alarm"
    beside = text[text.index("What ends it") :]
    assert "With these 12 prompts, judged as often as the plan allows, the standard error cannot fall below" in beside
    assert "To the target –" in text, "no number of judgments leads there"
    assert "to go" not in words(Client().get("/boards/trial/"))


@pytest.mark.full
def test_the_overview_says_it_of_a_difference_too(make_campaign: CampaignMaker, owner: Client) -> None:
    judged(make_campaign(design=replace(OPEN, target_se=None, min_difference=0.1), prompts=12))
    text = words(owner.get("/console/trial/"))
    assert "the standard error between neighbours cannot fall below" in text
    assert "settle for differences of" in text
