"""A campaign is to learn more: its limits get wider, one that had ended runs again, what is no extension is refused."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from scipy.optimize import brentq

from evalsite.accounts.models import User
from evalsite.campaigns.limits import limits_of
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.core.audit import audit_of
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.models import AuditEntry
from evalsite.judgments.models import Annotator, Assignment
from evalsite.judgments.services import annotator_enrol
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.extension import evidence_of
from scheduler import TargetSE
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_only_refits
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

SOON = timezone.now() + timedelta(days=1)


def extend(campaign: Campaign, by: User, **given: object) -> Campaign:
    return act_perform(key=campaign.slug, act=Act.EXTEND, user=by, given=ActionArguments(**given))  # type: ignore[arg-type]


@shared
def ended(make_campaign: CampaignMaker) -> Campaign:
    """Six judgments were its budget, and they are spent."""
    campaign = make_campaign(design=replace(OPEN, target_se=0.5, budget=6, batch_size=3), chatbots=3, prompts=12)
    while judge(campaign, annotator_enrol(campaign=campaign)):
        run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == "stopped"
    assert campaign.stop_reason.startswith("the budget of 6 judgments is spent; the largest SE ")
    return campaign


@pytest.mark.full
def test_one_whose_budget_is_spent_runs_again_with_more(ended: Campaign, alice: User) -> None:
    again = extend(ended, alice, budget=9)
    assert (again.state, again.stop_reason, again.stopped_at) == ("running", "", None)
    run_only_refits()
    assert judge(again, annotator_enrol(campaign=again)) == 3, "what is left of the new budget, and no more"
    run_only_refits()
    again.refresh_from_db()
    assert again.stop_reason.startswith("the budget of 9 judgments is spent; the largest SE ")
    entry = audit_of(ended.public_id).get(act="extend")
    assert (entry.before, entry.after) == ({"budget": 6, "state": "stopped"}, {"budget": 9, "state": "running"})
    assert entry.actor == alice.public_id


def test_one_that_runs_plans_on_to_the_new_limits(campaign: Campaign, alice: User, bob: Annotator) -> None:
    extend(campaign, alice, target_se=0.04)
    run_only_refits()
    campaign.refresh_from_db()
    assert (campaign.state, campaign.stopping.target_se) == ("running", 0.04)
    assert assignment_claim(campaign=campaign, annotator=bob)


def test_a_paused_one_stays_paused(campaign: Campaign, alice: User) -> None:
    Campaign.objects.update(state="paused")
    assert extend(campaign, alice, target_se=0.04).state == "paused"


def test_one_that_has_learnt_enough_goes_on_to_learn_more(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=1.5), chatbots=3, prompts=12)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        run_only_refits()
    campaign.refresh_from_db()
    assert "has reached the target 1.5" in campaign.stop_reason
    with pytest.raises(InvalidInput, match="The board is there already"):
        extend(campaign, alice, target_se=1.49)
    assert extend(campaign, alice, target_se=0.3).state == "running"
    run_only_refits()
    assert Assignment.objects.filter(state="queued").exists()


def test_smaller_difference_is_an_extension_if_undetected(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=None, min_difference=100.0), chatbots=3, prompts=12)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        run_only_refits()
    se = evidence_of(campaign)["se"]
    told = brentq(lambda d: TargetSE.for_difference(d).value - se, 0.01, 100.0)
    with pytest.raises(InvalidInput, match="The board is there already"):
        extend(campaign, alice, min_difference=(told + 100.0) / 2.0)
    assert extend(campaign, alice, min_difference=told * 0.99).state == "running"


def test_the_same_difference_may_be_asked_for_more_surely(make_campaign: CampaignMaker, alice: User) -> None:
    design = replace(OPEN, target_se=None, min_difference=0.5, power=0.8, alpha=0.05)
    campaign = make_campaign(design=design, chatbots=3, prompts=12)
    extend(campaign, alice, power=0.9, alpha=0.01)
    limits = limits_of(Campaign.objects.get().stopping)
    assert (limits.power, limits.alpha, limits.min_difference) == (0.9, 0.01, 0.5)
    entry = audit_of(campaign.public_id).get(act="extend")
    assert (entry.before["power"], entry.after["power"]) == (0.8, 0.9)
    for given in ({"power": 0.85}, {"alpha": 0.05}):
        with pytest.raises(InvalidInput, match="is no extension"):
            extend(campaign, alice, **given)
    client = Client()
    client.force_login(alice)
    page = client.get("/console/trial/act/extend/").content.decode()
    assert 'name="power"' in page
    assert 'name="target_se"' not in page
    assert client.post("/console/trial/act/extend/", {"power": "0.95"}).status_code == 302
    assert Campaign.objects.get().stopping.power == 0.95


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"power": 0.9}, "power", "has no power, and would end sooner"),
        ({}, "", "Nothing is extended"),
        ({"target_se": 0.5}, "target_se", "is no extension"),
        ({"target_se": 0.9}, "target_se", "is no extension"),
        ({"budget": 5}, "budget", "is no extension"),
        ({"target_se": 0.4}, "budget", "6 judgments are in, and the budget is 6"),
        ({"target_se": -0.1, "budget": 20}, "target_se", "nothing to aim at"),
        ({"target_se": 1e-320}, "target_se", "nothing to aim at"),
        ({"min_difference": 0.4}, "min_difference", "has no difference to be found"),
        ({"deadline": SOON}, "deadline", "has no deadline, and would end sooner with one"),
    ],
)
def test_invalid_extension_is_refused_with_a_hint(
    ended: Campaign, alice: User, given: dict[str, object], field: str, said: str
) -> None:
    before, limits = AuditEntry.objects.count(), limits_of(ended.stopping)
    with pytest.raises(InvalidInput, match=said) as refused:
        extend(ended, alice, **given)
    assert (refused.value.field, bool(refused.value.hint)) == (field, True)
    now = Campaign.objects.get()
    assert (now.state, limits_of(now.stopping), AuditEntry.objects.count()) == ("stopped", limits, before)


def test_a_deadline_that_has_passed_is_to_be_moved_too(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=30, deadline=SOON), chatbots=3, prompts=12)
    past = timezone.now() - timedelta(minutes=1)
    campaign.stopping.deadline = past
    campaign.stopping.save()
    act_perform(key="trial", act=Act.REFIT, user=alice, given=ActionArguments())
    run_only_refits()
    assert Campaign.objects.get().stop_reason.startswith("the deadline")
    with pytest.raises(InvalidInput, match="The deadline has passed") as refused:
        extend(campaign, alice, budget=60)
    assert refused.value.field == "deadline"
    assert extend(campaign, alice, budget=60, deadline=SOON).state == "running"


def test_what_has_asked_everything_is_not_reopened(make_campaign: CampaignMaker, alice: User) -> None:
    campaign = make_campaign(chatbots=2, prompts=3)
    bob = annotator_enrol(campaign=campaign)
    while judge(campaign, bob):
        Campaign.objects.update(batch_age_s=1)
        act_perform(key="trial", act=Act.REFIT, user=alice, given=ActionArguments())
        run_only_refits()
    campaign.batches.filter(state="open").update(state="closed", closed_at=timezone.now())
    act_perform(key="trial", act=Act.REFIT, user=alice, given=ActionArguments())
    run_only_refits()
    assert "nothing is left to ask" in Campaign.objects.get().stop_reason
    with pytest.raises(InvalidInput, match="Nothing is left to ask"):
        extend(campaign, alice, target_se=0.01)


def test_what_a_person_has_stopped_stays_stopped(campaign: Campaign, alice: User) -> None:
    act_perform(key="trial", act=Act.STOP, user=alice, given=ActionArguments())
    with pytest.raises(Conflict, match="for good"):
        extend(campaign, alice, target_se=0.01)
    client = Client()
    client.force_login(alice)
    assert "Extend the target" not in words(client.get("/console/trial/")), "what is refused is not offered"
    Campaign.objects.update(state="paused")
    assert "Extend the target" in words(client.get("/console/trial/"))


def test_a_draft_has_nothing_to_extend(make_campaign: CampaignMaker, alice: User) -> None:
    with pytest.raises(Conflict, match="draft"):
        extend(make_campaign(start=False), alice, target_se=0.01)


def test_extension_page_shows_current_limits_and_errors(ended: Campaign, alice: User) -> None:
    client = Client()
    client.force_login(alice)
    page = client.get("/console/trial/act/extend/")
    assert "6 judgments 6 judged" in words(page)
    assert "deadline" not in page.content.decode().lower()
    answer = client.post("/console/trial/act/extend/", {"budget": "6"})
    assert (answer.status_code, "is no extension" in words(answer)) == (400, True)
    answer = client.post("/console/trial/act/extend/", {"budget": "many"})
    assert (answer.status_code, "Enter a whole number" in words(answer)) == (400, True)
    assert client.post("/console/trial/act/extend/", {"budget": "60"}).status_code == 302
    assert Campaign.objects.get().state == "running"
