"""Screening: who judges at random is proposed for exclusion or excluded, by facts that another fact takes back."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.models import Board, Snapshot
from evalsite.boards.selectors import snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.campaigns.services import refit_request
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.models import AuditEntry, Job
from evalsite.core.reasons import reason_code
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit
from evalsite.judgments.models import Annotator, Assignment, Exclusion, Judgment
from evalsite.judgments.selectors import IN_GOOD_STANDING, item_counts, judgments_counted, progress_get, standings
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits import refit as refit_module
from evalsite.refits.mapping import fit_input
from evalsite.refits.screening import ExclusionChange
from irt_engine import Posterior
from scheduler.estimator import estimate
from tests.evalsite.cast import (
    OPEN,
    CampaignMaker,
    assignment_claim,
    by_number,
    judge,
    judge_as,
    run_only_refits,
    run_refits,
)
from tests.shared import shared

SHARED = replace(
    OPEN,
    batch_size=1000,
    block_size=12,
    target_se=None,
    plan=PlanOptions(overlap_share=1.0, overlap_votes=6),
    screening=Campaign.Screening.ACT,
)


def against(assignment: Assignment) -> str:
    return {"A": "B", "B": "A"}[by_number(assignment)]


def close(campaign: Campaign) -> None:
    campaign.batches.filter(state="open").update(state="closed", closed_at=campaign.created_at)
    refit_request(campaign)
    run_only_refits()


def board_of(campaign: Campaign) -> Board:
    return Board.objects.get(default_of=campaign)


Crowd = tuple[Campaign, Annotator]


def crowd_make(make_campaign: CampaignMaker) -> Crowd:
    """Six annotators have judged the same, and no refit has seen it: five agree, and one says the opposite of them."""
    campaign = make_campaign(design=SHARED, chatbots=4, prompts=12)
    Campaign.objects.update(pay_rate="0.1")
    adversary = annotator_enrol(campaign=campaign)
    everybody = [(adversary, against), *((annotator_enrol(campaign=campaign), by_number) for _ in range(5))]
    for _ in range(3):
        for annotator, choose in everybody:
            judge_as(campaign, annotator, choose)
    return campaign, adversary


@shared
def crowd(make_campaign: CampaignMaker) -> Crowd:
    return crowd_make(make_campaign)


@shared
def acting(crowd: Crowd) -> Crowd:
    return screened(crowd, Campaign.Screening.ACT)


@shared
def proposing(crowd: Crowd) -> Crowd:
    return screened(crowd, Campaign.Screening.PROPOSE)


@shared
def unscreened(crowd: Crowd) -> Crowd:
    return screened(crowd, Campaign.Screening.OFF)


def screened(crowd: Crowd, screening: Campaign.Screening) -> Crowd:
    Campaign.objects.update(screening=screening)
    close(crowd[0])
    return crowd


def test_who_judges_against_all_others_is_excluded_with_the_reason(acting: Crowd) -> None:
    campaign, adversary = acting
    fact = Exclusion.objects.get()
    assert (fact.annotator, fact.lifted, fact.proposed, fact.decided_by) == (adversary, False, False, None)
    assert fact.reason
    assert fact.evidence["cells"] >= 10
    entry = AuditEntry.objects.get(act="exclude")
    assert (entry.actor, entry.target, entry.reason) == (None, str(adversary.public_id), fact.reason)
    assert (reason_code(fact.reason_data), entry.reason_data) == ("correlation_not_positive", fact.reason_data)
    assert adversary.pk not in {vote.annotator for vote in fit_input(board_of(campaign)).votes}
    numbers = list(Snapshot.objects.order_by("number").values_list("judgments", flat=True))
    assert numbers[-1] == numbers[0] - Judgment.objects.filter(annotator=adversary).count()


def test_who_would_have_been_excluded_by_a_refit_that_broke_off_is_excluded_by_the_next(
    crowd: Crowd, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign, adversary = crowd

    def fails(campaign: Campaign, changes: list[ExclusionChange]) -> None:
        if changes:
            raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(refit_module, "changes_make", fails)
        close(campaign)
    assert Snapshot.objects.exists()
    assert not Exclusion.objects.exists()
    Job.objects.update(run_after=timezone.now())
    run_only_refits()
    assert Exclusion.objects.get().annotator == adversary


def test_the_screen_comes_to_rest(acting: Crowd) -> None:
    campaign, _ = acting
    refit_request(campaign)
    assert run_refits() == 1
    assert Exclusion.objects.count() == 1


def test_who_is_excluded_gets_nothing_new_is_paid_and_leaves_items_to_ask(acting: Crowd) -> None:
    campaign, adversary = acting
    assert assignment_claim(campaign=campaign, annotator=adversary) == []
    assert progress_get(campaign=campaign, annotator=adversary).pay == {"USD": 36 * Decimal("0.1")}
    counted = sum(item_counts(campaign).judged.values())
    assert counted == Judgment.objects.exclude(annotator=adversary).count()


def test_where_people_decide_an_exclusion_is_only_proposed_and_once(proposing: Crowd) -> None:
    campaign, adversary = proposing
    close(campaign)
    assert Exclusion.objects.get().proposed
    standing = standings(campaign)[adversary.pk]
    assert standing.proposal is not None
    assert not standing.out
    assert adversary.pk in {vote.annotator for vote in fit_input(board_of(campaign)).votes}
    assert judgments_counted([campaign]).count() == Judgment.objects.count(), "whatever a worker has kept of them"


def test_excluded_annotator_stays_out_until_shown_careful(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=SHARED, chatbots=4, prompts=12)
    hasty, other = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge_as(campaign, other, by_number)
    for held in assignment_claim(campaign=campaign, annotator=hasty)[:2]:
        judgment_record(annotator=hasty, assignment_id=held.public_id, choices={"overall": by_number(held)})
    Exclusion.objects.create(campaign=campaign, annotator=hasty, reason="a rule says so")
    close(campaign)
    assert standings(campaign)[hasty.pk].out, "two answers say nothing yet"
    assert Exclusion.objects.count() == 1


def test_what_a_person_has_decided_the_screen_leaves_alone(proposing: Crowd, alice: User) -> None:
    campaign, adversary = proposing
    annotator_readmit(campaign=campaign, annotator=adversary, reason="I know them", by=alice)
    run_only_refits()
    Campaign.objects.update(screening=Campaign.Screening.ACT)
    campaign.refresh_from_db()
    close(campaign)
    standing = standings(campaign)[adversary.pk]
    assert (standing.out, standing.decided, standing.proposal) == (False, True, None)


def test_a_campaign_without_screening_screens_nobody(unscreened: Crowd) -> None:
    assert not Exclusion.objects.exists()


def test_excluding_gives_the_fit_without_them_and_readmitting_gives_the_board_back_to_the_bit(
    unscreened: Crowd, alice: User
) -> None:
    campaign, adversary = unscreened
    board = board_of(campaign)
    full = snapshot_current(board)
    assert full is not None
    annotator_exclude(campaign=campaign, annotator=adversary, reason="says the opposite", by=alice)
    run_only_refits()
    without = Snapshot.objects.get(number=full.number + 1)
    given = fit_input(board)
    assert {vote.annotator for vote in given.votes} == set(
        Annotator.objects.exclude(pk=adversary.pk).values_list("pk", flat=True)
    )
    fresh, kept = estimate(given.table()), Posterior.from_bytes(bytes(without.posterior))
    np.testing.assert_allclose(kept.ability, fresh.ability, rtol=0, atol=1e-9)
    np.testing.assert_allclose(kept.covariance, fresh.covariance, rtol=0, atol=1e-9)
    annotator_readmit(campaign=campaign, annotator=adversary, reason="a mistake of mine", by=alice)
    run_only_refits()
    assert snapshot_current(board) == full, "the very rows and the very posterior of before"


class TestFacts:
    def test_each_asks_for_a_refit(self, campaign: Campaign, bob: Annotator) -> None:
        annotator_exclude(campaign=campaign, annotator=bob, reason="asleep")
        assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).count() == 1

    def test_the_same_is_not_decided_twice(self, campaign: Campaign, bob: Annotator) -> None:
        with pytest.raises(Conflict):
            annotator_readmit(campaign=campaign, annotator=bob, reason="awake")
        annotator_exclude(campaign=campaign, annotator=bob, reason="asleep")
        with pytest.raises(Conflict):
            annotator_exclude(campaign=campaign, annotator=bob, reason="asleep")

    @pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\0b"])
    def test_each_has_a_reason(self, campaign: Campaign, bob: Annotator, reason: str) -> None:
        with pytest.raises(InvalidInput):
            annotator_exclude(campaign=campaign, annotator=bob, reason=reason)
        assert standings(campaign).get(bob.pk, IN_GOOD_STANDING) == IN_GOOD_STANDING


def test_screening_of_single_replies_by_rule_needs_items_that_several_judge(make_campaign: CampaignMaker) -> None:
    with pytest.raises(InvalidInput) as refused:
        make_campaign(design=replace(OPEN, screening=Campaign.Screening.ACT, mode=Campaign.Mode.SINGLE))
    assert refused.value.code == "no_overlap"


def test_screening_of_pairs_by_rule_needs_no_overlap(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, screening=Campaign.Screening.ACT))
    assert campaign.screening == Campaign.Screening.ACT


def test_an_excluded_annotators_open_block_may_still_be_answered(campaign: Campaign, bob: Annotator) -> None:
    block = assignment_claim(campaign=campaign, annotator=bob)
    annotator_exclude(campaign=campaign, annotator=bob, reason="asleep")
    assert judge(campaign, bob) == len(block)
    assert judge(campaign, bob) == 0
