"""Gold tells who cannot be reading, and which gold is wrong itself; the screening goes by it where it is told to."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest

from evalsite.accounts.models import User
from evalsite.boards.models import Board
from evalsite.campaigns.gold import NewGold, gold_add, gold_withdraw
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import gold_in_use
from evalsite.campaigns.services import campaign_start, refit_request
from evalsite.judgments.exclusions import annotator_exclude, annotator_readmit
from evalsite.judgments.gold_answers import GoldAnswer
from evalsite.judgments.models import Annotator, Assignment, Exclusion, Judgment
from evalsite.judgments.selectors import IN_GOOD_STANDING, standings
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits.gold_findings import gold_findings, gold_verdict, items_doubted
from evalsite.refits.mapping import fit_input
from evalsite.refits.models import Findings
from evalsite.refits.screening import Advice, advice_of_both
from scheduler.reasons import Reason
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, run_jobs, run_only_refits
from tests.shared import shared

GILDED = replace(OPEN, gold_share=0.5, gold_mark=0.7, block_size=10, batch_size=1000, screening=Campaign.Screening.ACT)


def gold(count: int) -> list[NewGold]:
    return [
        NewGold(f"g{n}", ("A",), turns=[{"speaker": "user", "text": f"{n}?"}], texts=(f"Right {n}", f"Wrong {n}"))
        for n in range(count)
    ]


@shared
def gilded(make_campaign: CampaignMaker) -> Campaign:
    campaign = make_campaign(design=GILDED, chatbots=4, prompts=12, start=False)
    gold_add(campaign=campaign, items=gold(8))
    campaign_start(campaign=campaign)
    run_jobs()
    campaign.refresh_from_db()
    return campaign


def judge_gold(campaign: Campaign, annotator: Annotator, fails: Sequence[str] = (), *, all_of_it: bool = False) -> None:
    """Two blocks; gold is answered right but for the items named (or all)."""
    for _ in range(2):
        for one in assignment_claim(campaign=campaign, annotator=annotator):
            wrong = one.gold is not None and (all_of_it or one.gold.key in fails)
            sides = {candidate.gold_side: candidate.label for candidate in one.candidates.all()}
            choice = sides["B" if wrong else "A"] if one.gold else "A"
            judgment_record(annotator=annotator, assignment_id=one.public_id, choices={"overall": choice})


def close(campaign: Campaign) -> None:
    campaign.batches.filter(state="open").update(state="closed", closed_at=campaign.created_at)
    refit_request(campaign)
    run_only_refits()


Two = tuple[Annotator, Annotator]


@shared
def judged(gilded: Campaign) -> Two:
    """One failed all gold, and another passed it."""
    careless, careful = annotator_enrol(campaign=gilded), annotator_enrol(campaign=gilded)
    judge_gold(gilded, careless, all_of_it=True)
    judge_gold(gilded, careful)
    return careless, careful


@shared
def excluded(gilded: Campaign, judged: Two) -> Two:
    close(gilded)
    return judged


@shared
def proposed(gilded: Campaign, judged: Two) -> Two:
    Campaign.objects.update(screening=Campaign.Screening.PROPOSE)
    close(gilded)
    return judged


def test_who_fails_gold_is_excluded_by_rule_and_stays_paid(gilded: Campaign, excluded: Two) -> None:
    careless, careful = excluded
    fact = Exclusion.objects.get()
    assert (fact.annotator, fact.lifted, fact.decided_by) == (careless, False, None)
    assert fact.reason.startswith("passed 0 of 8 gold items")
    assert (fact.evidence["gold"], fact.evidence["gold_passed"]) == (8, 0)
    votes = fit_input(Board.objects.get(default_of=gilded)).votes
    assert {vote.annotator for vote in votes} == {careful.pk}


def test_where_people_decide_it_is_proposed_once_and_what_they_decide_stands(
    gilded: Campaign, proposed: Two, alice: User
) -> None:
    careless, _ = proposed
    close(gilded)
    assert Exclusion.objects.get().proposed
    annotator_readmit(campaign=gilded, annotator=careless, reason="I know them", by=alice)
    close(gilded)
    assert Exclusion.objects.count() == 2


@pytest.mark.parametrize("off", [{"gold_mark": None}, {"screening": Campaign.Screening.OFF}])
@pytest.mark.usefixtures("judged")
def test_without_a_mark_or_a_screening_gold_excludes_nobody(gilded: Campaign, off: dict[str, object]) -> None:
    Campaign.objects.update(**off)
    close(gilded)
    assert not Exclusion.objects.exists()


def test_when_the_gold_was_wrong_and_is_withdrawn_who_was_excluded_by_it_comes_back(gilded: Campaign) -> None:
    Campaign.objects.update(gold_mark=0.9)
    gold_add(campaign=gilded, items=[replace(one, key=f"more {one.key}") for one in gold(4)])
    annotator = annotator_enrol(campaign=gilded)
    block = [one for one in assignment_claim(campaign=gilded, annotator=annotator) if one.gold]
    judge_gold(gilded, annotator, fails=[one.gold.key for one in block if one.gold])
    judge_gold(gilded, annotator_enrol(campaign=gilded))
    close(gilded)
    assert [fact.lifted for fact in Exclusion.objects.all()] == [False]
    for one in block:
        assert one.gold is not None
        gold_withdraw(campaign=gilded, item=one.gold, reason="its answer is wrong")
    run_only_refits()
    assert [fact.lifted for fact in Exclusion.objects.order_by("pk")] == [False, True]


@pytest.mark.full
@pytest.mark.parametrize("left", [0, 3])
def test_who_failed_nothing_but_gold_that_was_wrong_comes_back_with_few_answers_left_or_none(
    gilded: Campaign, excluded: Two, left: int
) -> None:
    annotator, _ = excluded
    withdraw_gold(gilded, but=left)
    assert [fact.lifted for fact in facts_of(annotator)] == [False, True]
    assert facts_of(annotator)[1].reason.startswith("gold speaks against them no more")
    close(gilded)
    assert len(facts_of(annotator)) == 2, "and stays"


def test_the_only_one_who_judged_comes_back_too(gilded: Campaign) -> None:
    annotator = annotator_enrol(campaign=gilded)
    judge_gold(gilded, annotator, all_of_it=True)
    close(gilded)
    withdraw_gold(gilded, but=0)
    assert [fact.lifted for fact in facts_of(annotator)] == [False, True]


def test_while_enough_of_the_gold_that_they_failed_is_in_use_they_stay_out(gilded: Campaign, excluded: Two) -> None:
    annotator, _ = excluded
    withdraw_gold(gilded, but=5)
    assert [fact.lifted for fact in facts_of(annotator)] == [False]


def test_where_people_decide_the_proposal_is_taken_back_when_its_gold_is_withdrawn(
    gilded: Campaign, proposed: Two
) -> None:
    annotator, _ = proposed
    withdraw_gold(gilded, but=0)
    assert [(fact.lifted, fact.proposed) for fact in facts_of(annotator)] == [(False, True), (True, True)]
    assert standings(gilded)[annotator.pk] == IN_GOOD_STANDING


def test_whom_a_person_excluded_the_withdrawal_of_gold_does_not_bring_back(
    gilded: Campaign, proposed: Two, alice: User
) -> None:
    annotator, _ = proposed
    annotator_exclude(campaign=gilded, annotator=annotator, reason="so I see", by=alice)
    withdraw_gold(gilded, but=0)
    assert [fact.lifted for fact in facts_of(annotator)] == [False, False]


def facts_of(annotator: Annotator) -> list[Exclusion]:
    return list(Exclusion.objects.filter(annotator=annotator).order_by("pk"))


def withdraw_gold(campaign: Campaign, *, but: int) -> None:
    """All of it but so many, and the refit after it."""
    for item in list(gold_in_use(campaign))[but:]:
        gold_withdraw(campaign=campaign, item=item, reason="its answer is wrong")
    run_only_refits()


def test_few_answers_say_nothing_and_many_do() -> None:
    assert gold_verdict(0, 4, mark=0.7).decision == "not enough yet"
    assert gold_verdict(0, 5, mark=0.7).decision == "exclude"
    assert gold_verdict(3, 5, mark=0.7).decision == "not enough yet"
    assert gold_verdict(4, 5, mark=0.7).decision == "keep"


def test_either_rule_excludes_and_one_that_keeps_is_not_enough_against_it() -> None:
    keep, out, few = (Advice(decision, Reason(decision[:3]), {}) for decision in ("keep", "exclude", "not enough yet"))
    assert advice_of_both(keep, out).decision == advice_of_both(out, keep).decision == "exclude"
    assert advice_of_both(keep, few).decision == advice_of_both(few, keep).decision == "keep"
    assert advice_of_both(few, few).decision == "not enough yet"
    assert str(advice_of_both(out, out).reason) == "exc; exc"


def test_an_item_that_careful_annotators_fail_is_doubted_and_not_they(gilded: Campaign) -> None:
    for _ in range(3):
        judge_gold(gilded, annotator_enrol(campaign=gilded), fails=["g3"])
    judge_gold(gilded, annotator_enrol(campaign=gilded), all_of_it=True)
    close(gilded)
    run_jobs()
    found = Findings.objects.get(campaign=gilded).gold
    by_key = {gilded.gold_items.get(pk=one["item"]).key: one for one in found["items"]}
    assert {key for key, one in by_key.items() if one["doubtful"]} == {"g3"}
    assert (by_key["g3"]["passed"], by_key["g3"]["given"]) == (0, 4)
    assert by_key["g0"]["lower"] < 0.75 < by_key["g0"]["upper"]
    assert sorted(one["passed"] for one in found["annotators"]) == [0, 7, 7, 7]


def test_two_careless_annotators_alone_do_not_make_an_item_doubtful() -> None:
    answers = [GoldAnswer(annotator, item, passed=False) for annotator in (1, 2, 3) for item in (1, 2, 3)]
    assert items_doubted(answers) == set()


def test_an_answer_taken_back_is_not_counted_and_its_successor_is(gilded: Campaign) -> None:
    annotator = annotator_enrol(campaign=gilded)
    one = next(row for row in assignment_claim(campaign=gilded, annotator=annotator) if row.gold)
    sides = {candidate.gold_side: candidate.label for candidate in one.candidates.all()}
    say = partial(judgment_record, annotator=annotator, assignment_id=one.public_id)
    first = say(choices={"overall": sides["B"]}).judgment
    say(choices={"overall": sides["A"]}, supersedes=first.public_id)
    assert Judgment.objects.count() == 2
    gilded.batches.update(state="closed", closed_at=gilded.created_at)
    assert [(one["passed"], one["given"]) for one in gold_findings(gilded)["annotators"]] == [(1, 1)]
    assert Assignment.objects.filter(gold=one.gold).count() == 1
