"""Who was promised it, and asks to be erased, takes their judgments along: the rest is as if they had never judged."""

import threading
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.services import api_token_issue, organisation_create
from evalsite.boards.models import Board, Snapshot
from evalsite.campaigns.gold import gold_add
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.core.errors import Conflict, NotFound
from evalsite.core.models import AuditEntry, Job
from evalsite.exchange.board_verification import board_verify
from evalsite.judgments.annotator_statistics import proposals
from evalsite.judgments.annotators import campaign_leave, part_get
from evalsite.judgments.exclusions import exclusion_propose
from evalsite.judgments.gold_answers import gold_answers
from evalsite.judgments.models import (
    Annotator,
    Answer,
    Assignment,
    Batch,
    Candidate,
    Comment,
    Enrolment,
    Exclusion,
    Judgment,
    JudgmentReason,
)
from evalsite.judgments.payments import accounts, payment_file, statements
from evalsite.judgments.person_erasure import person_erase
from evalsite.judgments.selectors import (
    RANKING_PURPOSES,
    budget_left,
    item_counts,
    judgments_spent,
    quota_taken,
    tally,
    votes_counted,
)
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.refits.mapping import input_of
from irt_engine import Posterior
from scheduler.estimator import estimate
from tests.evalsite.api.client import Api
from tests.evalsite.cast import (
    OPEN,
    CampaignMaker,
    assignment_claim,
    by_number,
    judge,
    judge_as,
    payment_record,
    run_only_refits,
)
from tests.evalsite.judgments.test_gold_answers import of_texts, opened
from tests.evalsite.judgments.test_record_judgment import let_expire
from tests.evalsite.pages.test_pages import words
from tests.shared import shared

ANSWERS: tuple[type[Model], ...] = (Judgment, Answer, JudgmentReason, Comment, Candidate)


@shared
def campaign(make_campaign: CampaignMaker) -> Campaign:
    """Its notice promises that judgments are removed with the person, and it pays."""
    campaign = make_campaign(design=replace(OPEN, budget=60), chatbots=4, prompts=10)
    onboarding_set(campaign=campaign, erasure="remove", comments=True, reasons=["clear"])
    Campaign.objects.update(pay_rate=Decimal("0.10"))
    campaign.refresh_from_db()
    return campaign


def erase(annotator: Annotator) -> None:
    person_erase(user=annotator.user, parts=Enrolment.objects.filter(annotator=annotator))


def judge_both(campaign: Campaign, *annotators: Annotator, rounds: int = 4) -> None:
    for _ in range(rounds):
        for annotator in annotators:
            judge_as(campaign, annotator, by_number)
        run_only_refits()


@shared
def both_judged(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    judge_both(campaign, bob, dora)


def held(campaign: Campaign) -> dict[int, int]:
    """Batch -> judgments for ranking that are in it."""
    ranking = Judgment.objects.filter(batch__campaign=campaign, assignment__purpose__in=RANKING_PURPOSES)
    return {batch.pk: ranking.filter(batch=batch).count() for batch in Batch.objects.filter(campaign=campaign)}


@pytest.mark.database
@pytest.mark.usefixtures("both_judged")
def test_removal_deletes_only_the_annotators_own_answers(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    (one, *_) = assignment_claim(campaign=campaign, annotator=bob)
    first = judgment_record(
        annotator=bob, assignment_id=one.public_id, choices={"overall": "A"}, reasons=["clear"], comment="I am bob"
    ).judgment
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "B"}, supersedes=first.public_id)
    judge(campaign, bob)
    Exclusion.objects.create(campaign=campaign, judgment=Judgment.objects.filter(annotator=bob)[0], reason="odd")
    others = {kind: set(_of(kind, dora)) for kind in ANSWERS}
    assert all(_of(kind, bob) for kind in ANSWERS)
    erase(bob)
    assert not any(_of(kind, bob) for kind in ANSWERS), "the answer that was taken back went with its successor"
    assert {kind: set(_of(kind, dora)) for kind in ANSWERS} == others
    assert not Exclusion.objects.exists()
    assert set(Assignment.objects.filter(annotator=bob).values_list("state", flat=True)) == {"removed"}


def _of(kind: type[Model], annotator: Annotator) -> list[int]:
    path: str = {Judgment: "annotator", Candidate: "assignment__annotator"}.get(kind, "judgment__annotator")
    return list(kind._base_manager.filter(**{path: annotator}).values_list("pk", flat=True))


@pytest.mark.usefixtures("both_judged")
def test_fit_after_removal_equals_one_without_the_annotator(
    campaign: Campaign, bob: Annotator, dora: Annotator, alice: User, tmp_path: Path
) -> None:
    judge_both(campaign, annotator_enrol(campaign=campaign), rounds=2)
    board = Board.objects.get(default_of=campaign)
    votes = votes_counted([campaign], board.aspect)
    others = [vote for vote in votes if vote.annotator != bob.pk]
    assert 10 < len(others) < len(votes)
    erase(bob)
    run_only_refits()
    given, newest = input_of(others, [campaign]), board.snapshots.order_by("number").last()
    assert newest is not None
    assert (newest.input_sha256, newest.judgments, newest.annotators) == (given.sha256, len(others), 2)
    never, now = estimate(given.table(), seed=given.seed), Posterior.from_bytes(bytes(newest.posterior))
    assert now.chatbots == never.chatbots
    assert float(np.max(np.abs(now.ability - never.ability))) <= 1e-9
    path = tmp_path / "judgments.jsonl"
    api = Api(api_token_issue(user=alice, name="t", scopes=ApiToken.Scope.values, days=1))
    path.write_bytes(api.get("/api/v1/campaigns/trial/judgments.jsonl").getvalue())
    verified = board_verify(board=board, path=path)
    assert verified.same
    assert verified.judgments == len(others)


@pytest.mark.usefixtures("both_judged")
def test_snapshots_that_were_published_stay_as_they_were(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    before = list(Snapshot.objects.order_by("pk").values())
    erase(bob)
    run_only_refits()
    assert list(Snapshot.objects.order_by("pk").values())[: len(before)] == before
    assert Snapshot.objects.count() > len(before), "and there is another one"


@pytest.mark.usefixtures("both_judged")
def test_pay_of_removed_judgments_stays_without_a_person(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    payment_record(campaign=campaign, annotator=bob, amount=Decimal("0.50"), currency="USD", reference="May")
    books, (before,) = accounts(campaign), statements(campaign, [bob])
    assert before.due == before.judged * Decimal("0.10") - Decimal("0.50") > 0
    erase(bob)
    (after,) = statements(campaign, [bob])
    assert accounts(campaign) == books
    assert (after.judged, after.earned, after.paid, after.due, after.rates) == (
        *(before.judged, before.earned, before.paid, before.due, before.rates),
    )
    assert after.counted == 0
    assert f"{bob.public_id},,,{before.judged},0," in "".join(payment_file(campaign))
    assert part_get(Enrolment.objects.get(annotator=bob)).owed == {"USD": before.due}


def test_hours_that_were_worked_are_owed_as_before(campaign: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_rate=Decimal(36), pay_per="hour")
    campaign.refresh_from_db()
    judge(campaign, bob)
    Assignment.objects.filter(state="answered").update(worked_ms=100_000)
    books = accounts(campaign)
    erase(bob)
    assert accounts(campaign) == books
    assert books[0] == {(bob.pk, "USD"): Decimal(3)}


@pytest.mark.usefixtures("both_judged")
def test_batches_heads_and_budget_count_what_is_there(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    judge(campaign, bob)
    spent, left, given = judgments_spent(campaign), budget_left(campaign), _of(Judgment, dora)
    assert tally([campaign]).annotators == 2
    erase(bob)
    assert {batch.pk: batch.size for batch in Batch.objects.filter(campaign=campaign)} == held(campaign)
    assert (tally([campaign]).judgments, tally([campaign]).annotators) == (len(given), 1)
    assert (judgments_spent(campaign), budget_left(campaign)) == (spent, left), "they were paid for"
    for _ in range(3):
        judge(campaign, dora)
        run_only_refits()
    assert {batch.pk: batch.size for batch in Batch.objects.filter(campaign=campaign)} == held(campaign)


def test_their_items_are_asked_of_others_again(make_campaign: CampaignMaker) -> None:
    """Everything was judged; then what one of two had judged is all that there is to ask."""
    campaign = make_campaign(slug="small", chatbots=3, prompts=2, design=replace(OPEN, target_se=0.01))
    onboarding_set(campaign=campaign, erasure="remove")
    one, other = (annotator_enrol(campaign=campaign) for _ in range(2))
    judge_both(campaign, one, other, rounds=2)
    Batch.objects.filter(state="open").update(state="closed", closed_at=timezone.now())
    assert sum(item_counts(campaign).judged.values()) == 6
    theirs = set(Assignment.objects.filter(annotator=one, state="answered").values_list("item", flat=True))
    Campaign.objects.update(state="running", stopped_at=None, stop_reason="")
    erase(one)
    run_only_refits()
    queued = Assignment.objects.filter(campaign=campaign, state="queued")
    assert set(queued.values_list("item", flat=True)) == theirs
    third = annotator_enrol(campaign=campaign)
    assert {row.item for row in assignment_claim(campaign=campaign, annotator=third)} <= theirs


def test_what_was_promised_when_they_began_is_what_is_done(campaign: Campaign) -> None:
    early = annotator_enrol(campaign=campaign)
    onboarding_set(campaign=campaign, erasure="keep")
    later, again = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign, annotator=early)
    assert again == early
    for annotator in (early, later):
        judge(campaign, annotator)
    onboarding_set(campaign=campaign, erasure="remove")
    for annotator in (early, later):
        erase(annotator)
    assert not _of(Judgment, early), "who comes again keeps the promise"
    assert len(_of(Judgment, later)) == 3


def test_returning_annotator_gets_the_current_erasure_promise(campaign: Campaign, bob: Annotator) -> None:
    Enrolment.objects.update(erasure="keep")
    judge(campaign, bob)
    campaign_leave(enrolment=Enrolment.objects.get())
    annotator_enrol(campaign=campaign, annotator=bob)
    erase(bob)
    assert not _of(Judgment, bob)


def test_judgments_stay_without_a_promise_of_removal(
    campaign: Campaign, make_campaign: CampaignMaker, bob: Annotator
) -> None:
    other = make_campaign(slug="other")
    annotator_enrol(campaign=other, annotator=bob)
    for one in (campaign, other):
        judge(one, bob)
    erase(bob)
    assert set(Judgment.objects.values_list("batch__campaign__slug", flat=True)) == {"other"}
    assert Judgment.objects.count() == 3


def test_gold_that_they_answered_tells_nothing_more(make_campaign: CampaignMaker) -> None:
    made = make_campaign(slug="gilded", design=replace(OPEN, gold_share=0.5, block_size=8), prompts=10, start=False)
    gold_add(campaign=made, items=of_texts(6))
    campaign = opened(made)
    onboarding_set(campaign=campaign, erasure="remove")
    one, other = (annotator_enrol(campaign=campaign) for _ in range(2))
    judge_both(campaign, one, other, rounds=2)
    assert {answer.annotator for answer in gold_answers(campaign)} == {one.pk, other.pk}
    erase(one)
    assert {answer.annotator for answer in gold_answers(campaign)} == {other.pk}
    assert {batch.pk: batch.size for batch in Batch.objects.filter(campaign=campaign)} == held(campaign)


def test_removed_late_answer_is_paid_outside_the_budget(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    (late, *_) = let_expire(assignment_claim(campaign=campaign, annotator=bob))
    Assignment.objects.filter(state="queued").exclude(place=late.place_id).update(priority=9999)
    taken = assignment_claim(campaign=campaign, annotator=dora)
    judgment_record(annotator=bob, assignment_id=late.public_id, choices={"overall": "A"})
    spent, books = judgments_spent(campaign), accounts(campaign)
    assert books[0] == {(bob.pk, "USD"): Decimal("0.1000")}
    erase(bob)
    assert (judgments_spent(campaign), accounts(campaign)) == (spent, books)
    (own,) = (one for one in taken if one.place_id == late.place_id)
    assert judgment_record(annotator=dora, assignment_id=own.public_id, choices={"overall": "A"}).created
    assert quota_taken(campaign=campaign.pk, annotator=bob.pk) == 1


def test_what_was_above_their_quota_goes_too_and_was_not_earned(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
    onboarding_set(campaign=campaign, erasure="remove")
    Campaign.objects.filter(pk=campaign.pk).update(pay_rate=Decimal("0.10"))
    campaign.refresh_from_db()
    eve = annotator_enrol(campaign=campaign)
    lost = let_expire(assignment_claim(campaign=campaign, annotator=eve))
    for one in assignment_claim(campaign=campaign, annotator=eve):
        judgment_record(annotator=eve, assignment_id=one.public_id, choices={"overall": "A"})
    above = judgment_record(annotator=eve, assignment_id=lost[0].public_id, choices={"overall": "A"}).judgment
    assert above.over_quota
    erase(eve)
    assert not Judgment.objects.filter(annotator=eve).exists()
    assert set(Batch.objects.filter(campaign=campaign).values_list("size", flat=True)) == {0}
    (account,) = statements(campaign, [eve])
    assert (account.judged, account.earned) == (3, Decimal("0.30"))
    assert AuditEntry.objects.get(act="remove_judgments").after == {"removed": 4}


def test_headers_drop_erased_annotators_with_over_quota_answers(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
    onboarding_set(campaign=campaign, erasure="remove")
    eve = annotator_enrol(campaign=campaign)
    lost = let_expire(assignment_claim(campaign=campaign, annotator=eve))
    assert assignment_claim(campaign=campaign, annotator=eve), "and holds what fills the quota"
    above = judgment_record(annotator=eve, assignment_id=lost[0].public_id, choices={"overall": "A"}).judgment
    assert above.over_quota
    Batch.objects.update(state="closed", closed_at=timezone.now())
    assert (tally([campaign]).judgments, tally([campaign]).annotators) == (1, 1)
    erase(eve)
    assert not Assignment.objects.filter(state="removed").exists()
    assert (tally([campaign]).judgments, tally([campaign]).annotators) == (0, 0)


def test_erasure_closes_open_and_expired_assignments(campaign: Campaign, bob: Annotator) -> None:
    (expired, *_) = let_expire(assignment_claim(campaign=campaign, annotator=bob))
    (issued, *_) = assignment_claim(campaign=campaign, annotator=bob)
    erase(bob)
    for one in (expired, issued):
        with pytest.raises(Conflict) as refused:
            judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
        assert refused.value.code == "returned"
    assert Assignment.objects.filter(place=issued.place_id, state="queued").exists(), "somebody else is asked"
    assert not Judgment.objects.exists()


def test_a_repeated_answer_brings_nothing_back(campaign: Campaign, bob: Annotator) -> None:
    (one, *_) = assignment_claim(campaign=campaign, annotator=bob)
    judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    erase(bob)
    with pytest.raises(NotFound):
        judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "A"})
    assert not Judgment.objects.exists()


def test_the_log_tells_how_many_went_and_of_nobody(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    Job.objects.all().delete()
    erase(bob)
    entry = AuditEntry.objects.get(act="remove_judgments")
    assert (entry.subject, entry.after, entry.actor, entry.target) == (campaign.public_id, {"removed": 3}, None, "")
    assert Job.objects.filter(kind="refit").exists(), "the board is to be fitted without them"


def test_the_console_shows_it_in_words(campaign: Campaign, bob: Annotator, owner: Client) -> None:
    judge(campaign, bob)
    erase(bob)
    log = words(owner.get("/console/trial/log/"))
    assert "the service Remove judgments with their annotator removed: – → 3" in log


def test_who_judged_nothing_leaves_no_trace_in_the_log(campaign: Campaign, bob: Annotator) -> None:
    erase(bob)
    assert not AuditEntry.objects.filter(act="remove_judgments").exists()


def test_nobody_is_asked_any_more_to_decide_about_them(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    exclusion_propose(campaign=campaign, annotator=bob, lifted=False, reason="noise", evidence={})
    assert proposals(campaign) == {bob.pk: "exclude"}
    erase(bob)
    assert proposals(campaign) == {}


def test_where_nobody_else_has_judged_the_loop_goes_on(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    judge_both(campaign, bob, rounds=2)
    erase(bob)
    run_only_refits()
    assert tally([campaign]).judgments == 0
    judge_both(campaign, dora, rounds=2)
    newest = Snapshot.objects.order_by("pk").last()
    assert newest is not None
    assert newest.annotators == 1
    assert newest.judgments == votes_of(campaign, dora)


def votes_of(campaign: Campaign, annotator: Annotator) -> int:
    board = Board.objects.get(default_of=campaign)
    return sum(vote.annotator == annotator.pk for vote in votes_counted([campaign], board.aspect))


def test_while_the_account_cannot_be_closed_the_judgments_stay(campaign: Campaign, charlie: User) -> None:
    annotator = annotator_enrol(campaign=campaign, user=charlie)
    judge(campaign, annotator)
    organisation_create(name="Only theirs", owner=charlie)
    with pytest.raises(Conflict):
        erase(annotator)
    assert len(_of(Answer, annotator)) == 3


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_of_answers_that_come_at_the_same_time_none_stays(campaign: Campaign, bob: Annotator) -> None:
    Campaign.objects.update(pay_per="hour", quota=40)
    for _ in range(3):
        judge(campaign, bob)
        run_only_refits()
    expired = let_expire(assignment_claim(campaign=campaign, annotator=bob))
    block = [*expired, *assignment_claim(campaign=Campaign.objects.get(), annotator=bob)]
    assert len(block) > 3
    unexpected: list[Exception] = []
    together = threading.Barrier(len(block) + 1)

    def meanwhile(act: Callable[[], object]) -> None:
        together.wait()
        try:
            act()
        except (Conflict, NotFound):
            pass
        except Exception as error:  # noqa: BLE001  told below
            unexpected.append(error)
        connection.close()

    def answering(one: Assignment) -> Callable[[], object]:
        return lambda: judgment_record(annotator=bob, assignment_id=one.public_id, choices={"overall": "tie"})

    acts = [lambda: erase(bob), *map(answering, block)]
    threads = [threading.Thread(target=meanwhile, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert unexpected == []
    assert not Judgment.objects.filter(annotator=bob).exists()
    assert {batch.pk: batch.size for batch in Batch.objects.filter(campaign=campaign)} == held(campaign)
    assert not Assignment.objects.filter(annotator=bob, state__in=["issued", "answered", "expired"]).exists()
