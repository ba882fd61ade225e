"""Votes of newcomers to an open campaign do not move the board until they are vetted."""

from dataclasses import replace

import pytest

from evalsite.accounts.models import User
from evalsite.boards.models import PublicLogEntry, Snapshot
from evalsite.boards.public_log import log_lines
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import Design, refit_request
from evalsite.core.errors import Conflict
from evalsite.exchange.log_verification import log_verify
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit, exclusion_propose
from evalsite.judgments.models import Annotator, Assignment, Exclusion
from evalsite.judgments.selectors import (
    IN_GOOD_STANDING,
    AnnotatorState,
    accounting,
    is_newcomer,
    item_counts,
    standings,
    votes_counted,
)
from evalsite.judgments.services import annotator_enrol, enrolment_make
from evalsite.refits.screening import ExclusionChange, acts_on_board
from evalsite.refits.vote_cache import VoteCache
from scheduler.reasons import Reason
from tests.evalsite.cast import OPEN, CampaignMaker, by_number, judge, judge_as, run_jobs, run_only_refits
from tests.evalsite.single import SINGLE, label_all
from tests.shared import shared

NEEDED = 6  # two blocks
VETTING = replace(OPEN, vetting_votes=NEEDED, batch_size=3, votes_per_item=9, target_se=None)


@shared
def crowd(make_campaign: CampaignMaker) -> Campaign:
    """A campaign with a board: two annotators have given as many votes as it takes."""
    campaign = make_campaign(design=VETTING)
    for annotator in [annotator_enrol(campaign=campaign) for _ in range(2)]:
        for _ in range(2):
            judge_as(campaign, annotator, by_number)
    run_only_refits()
    return campaign


def newest(campaign: Campaign) -> Snapshot:
    return campaign.default_board.snapshots.latest()


def standing(campaign: Campaign, annotator: Annotator) -> AnnotatorState:
    return standings(campaign).get(annotator.pk, IN_GOOD_STANDING)


def test_first_board_waits_for_a_vetted_annotator(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=VETTING)
    first = annotator_enrol(campaign=campaign)
    judge(campaign, first)
    run_only_refits()
    assert not campaign.default_board.snapshots.exists()
    judge(campaign, first)
    run_only_refits()
    assert newest(campaign).judgments == NEEDED


@pytest.mark.full
@pytest.mark.database
def test_burst_of_newcomers_counts_only_after_vetting(crowd: Campaign) -> None:
    before = newest(crowd)
    burst = [annotator_enrol(campaign=crowd) for _ in range(4)]
    for annotator in burst:
        assert judge(crowd, annotator, "B") == 3
    run_only_refits()
    assert (newest(crowd).input_sha256, newest(crowd).rows) == (before.input_sha256, before.rows)
    account = accounting([crowd])
    assert (account.counted, account.provisional, account.excluded) == (2 * NEEDED, 12, 0)
    for annotator in burst:
        judge(crowd, annotator, "B")
    run_only_refits()
    assert newest(crowd).judgments == 6 * NEEDED
    assert newest(crowd).rows != before.rows
    assert accounting([crowd]).provisional == 0


def test_items_of_newcomers_stay_open_for_others_and_the_vote_cache_adds_their_votes_once_vetted(
    crowd: Campaign,
) -> None:
    cache, board, before = VoteCache(), crowd.default_board, item_counts(crowd)
    newcomer = annotator_enrol(campaign=crowd)
    judge(crowd, newcomer)
    run_only_refits()
    assert item_counts(crowd).judged == before.judged
    assert len(cache.read(board, [crowd])) == 2 * NEEDED
    judge(crowd, newcomer)
    run_only_refits()
    assert sorted(cache.read(board, [crowd])) == sorted(votes_counted([crowd], board.aspect))
    assert len(cache.read(board, [crowd])) == 3 * NEEDED


def test_flagged_newcomer_waits_for_a_person(crowd: Campaign, alice: User) -> None:
    newcomer = annotator_enrol(campaign=crowd)
    judge(crowd, newcomer)
    exclusion_propose(campaign=crowd, annotator=newcomer, lifted=False, reason="asleep", evidence={})
    judge(crowd, newcomer)
    run_only_refits()
    assert standing(crowd, newcomer).provisional
    assert newest(crowd).judgments == 2 * NEEDED
    annotator_readmit(campaign=crowd, annotator=newcomer, reason="I know them", by=alice)
    run_only_refits()
    assert standing(crowd, newcomer).counts
    assert newest(crowd).judgments == 3 * NEEDED


def against(assignment: Assignment) -> str:
    return {"A": "B", "B": "A"}[by_number(assignment)]


def test_newcomer_is_screened_by_the_fit_of_others(make_campaign: CampaignMaker) -> None:
    design = replace(VETTING, vetting_votes=12, batch_size=12, block_size=12, votes_per_item=1)
    campaign = make_campaign(design=design, prompts=16)
    *careful, adversary = [annotator_enrol(campaign=campaign) for _ in range(4)]
    for annotator in careful:
        judge_as(campaign, annotator, by_number)
    run_only_refits()
    judge_as(campaign, adversary, against)
    run_only_refits()
    assert [standing(campaign, one).provisional for one in (*careful, adversary)] == [False] * 3 + [True]
    proposal = standing(campaign, adversary).proposal
    assert proposal is not None
    assert (proposal.reason_data or {})["code"] == "votes_adversarial"
    assert newest(campaign).judgments == 36


def test_flagged_newcomers_do_not_hold_up_the_plan() -> None:
    acting = Campaign(screening=Campaign.Screening.ACT)
    flagged = ExclusionChange(1, False, Reason("no_agreement"), {}, counts=False)
    assert not acts_on_board(acting, [flagged])
    assert acts_on_board(acting, [flagged, replace(flagged, counts=True)])


def test_person_admits_a_newcomer_early(crowd: Campaign, alice: User) -> None:
    newcomer = annotator_enrol(campaign=crowd)
    judge(crowd, newcomer)
    annotator_readmit(campaign=crowd, annotator=newcomer, reason="a colleague", by=alice)
    run_only_refits()
    assert newest(crowd).judgments == 2 * NEEDED + 3
    with pytest.raises(Conflict):
        annotator_readmit(campaign=crowd, annotator=newcomer, reason="again", by=alice)


def test_excluded_annotator_is_not_vetted(crowd: Campaign, alice: User) -> None:
    newcomer = annotator_enrol(campaign=crowd)
    judge(crowd, newcomer, blocks=2)
    annotator_exclude(campaign=crowd, annotator=newcomer, reason="asleep", by=alice)
    run_only_refits()
    assert (standing(crowd, newcomer).out, standing(crowd, newcomer).provisional) == (True, True)


def test_members_and_invited_people_count_at_once(crowd: Campaign, alice: User) -> None:
    member = annotator_enrol(campaign=crowd, user=alice)
    sent = enrolment_make(campaign=crowd, annotator=None, user=None, platform="prolific").annotator
    stranger = annotator_enrol(campaign=crowd)
    assert [is_newcomer(campaign=crowd, annotator=one) for one in (member, sent, stranger)] == [False, False, True]


def test_newcomer_who_becomes_a_member_is_vetted(crowd: Campaign, alice: User) -> None:
    newcomer = annotator_enrol(campaign=crowd)
    judge(crowd, newcomer)
    Annotator.objects.filter(pk=newcomer.pk).update(user=alice)
    refit_request(crowd)
    run_only_refits()
    assert newest(crowd).judgments == 2 * NEEDED + 3
    assert Exclusion.objects.get(annotator=newcomer, lifted=True).reason_data["code"] == "vetted_known"  # type: ignore[index]


@pytest.mark.parametrize(
    "design", [replace(VETTING, vetting_votes=0), replace(VETTING, admission=Campaign.Admission.MEMBERS)]
)
def test_nobody_is_provisional_without_the_rule(make_campaign: CampaignMaker, design: Design) -> None:
    campaign = make_campaign(design=design, start=False)
    enrolment_make(campaign=campaign, annotator=None, user=None)
    assert not Exclusion.objects.exists()


def test_new_campaigns_vet_and_old_ones_do_not() -> None:
    assert (Design().vetting_votes, Campaign().vetting_votes) == (10, 0)


def test_single_replies_of_newcomers_count_after_vetting(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(SINGLE, vetting_votes=NEEDED, votes_per_item=3), chatbots=2, prompts=6)
    newcomer = annotator_enrol(campaign=campaign)
    label_all(campaign, newcomer, "correct", blocks=1)
    assert accounting([campaign]).counted == 0
    label_all(campaign, newcomer, "correct", blocks=1)
    assert accounting([campaign]).counted == NEEDED


def test_public_log_says_provisional_and_vetted(crowd: Campaign) -> None:
    judge(crowd, annotator_enrol(campaign=crowd))
    annotator_enrol(campaign=crowd)  # never judges
    run_jobs()
    board = crowd.default_board
    facts = [line["content"] for line in log_lines(board, with_judgments=True) if line["kind"] == "exclusion"]
    assert sum('"provisional":true' in fact.replace(" ", "") for fact in facts) == len(facts) == 5
    assert sum('"lifted":true' in fact.replace(" ", "") for fact in facts) == 2
    assert PublicLogEntry.Kind.EXCLUSION in {line["kind"] for line in log_lines(board, with_judgments=False)}
    found = log_verify(board=board).board
    assert found is not None
    assert (found.judgments, found.others) == (2 * NEEDED, ())
