"""Taking an answer back: within its block, as a new judgment that supersedes; the board never loses a vote between."""

import uuid
from datetime import timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.judgments.batches import batches_close_aged
from evalsite.judgments.leases import assignment_skip, assignments_expire
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Judgment
from evalsite.judgments.selectors import item_counts, judgments_counted, progress_get
from evalsite.judgments.services import RecordedJudgment, judgment_record
from tests.evalsite.cast import assignment_claim, judge
from tests.shared import shared


@shared
def block(campaign: Campaign, bob: Annotator) -> list[Assignment]:
    Campaign.objects.update(pay_rate=Decimal("0.10"))
    campaign.refresh_from_db()
    return assignment_claim(campaign=campaign, annotator=bob)


def record(
    annotator: Annotator, assignment: Assignment, choice: str, supersedes: Judgment | None = None
) -> RecordedJudgment:
    return judgment_record(
        annotator=annotator,
        assignment_id=assignment.public_id,
        choices={"overall": choice},
        supersedes=supersedes.public_id if supersedes else None,
    )


def close_batch() -> None:
    Batch.objects.update(opened_at=timezone.now() - timedelta(hours=1))
    batches_close_aged()


def verdicts(campaign: Campaign) -> list[str]:
    answers = Answer.objects.filter(judgment__in=judgments_counted([campaign])).select_related("candidate")
    return [answer.candidate.label if answer.candidate else answer.value for answer in answers]


def test_both_facts_are_kept_and_the_second_counts(campaign: Campaign, bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    second = record(bob, block[0], "B", first)
    assert second.created
    assert second.judgment.supersedes == first
    assert Judgment.objects.count() == 2
    close_batch()
    assert verdicts(campaign) == ["B"]


def test_sent_again_it_is_the_same_fact(bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    second = record(bob, block[0], "B", first)
    again = record(bob, block[0], "B", first)
    assert (again.judgment, again.created) == (second.judgment, False)
    plain = record(bob, block[0], "B")
    assert (plain.judgment, plain.created) == (second.judgment, False), "it is what stands"
    third = record(bob, block[0], "tie", second.judgment)
    assert third.judgment.supersedes == second.judgment
    assert Judgment.objects.count() == 3


def test_what_was_taken_back_is_not_taken_back_to_something_else(bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    second = record(bob, block[0], "B", first).judgment
    with pytest.raises(Conflict) as stale:
        record(bob, block[0], "tie", first)
    assert (stale.value.code, stale.value.field, bool(stale.value.hint)) == ("superseded", "supersedes", True)
    record(bob, block[0], "tie", second)
    with pytest.raises(Conflict) as older:
        record(bob, block[0], "B", first)
    assert older.value.code == "superseded", "B was said once, and stands no more"
    assert Judgment.objects.count() == 3


def test_repeating_an_undone_answer_is_refused(bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    record(bob, block[0], "B", first)
    with pytest.raises(Conflict) as refused:
        record(bob, block[0], "A")
    assert refused.value.code == "answered"
    assert Judgment.objects.count() == 2


def test_until_a_fit_sees_the_second_the_first_still_counts(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    first = record(bob, block[0], "A").judgment
    close_batch()
    record(bob, block[0], "B", first)
    assert verdicts(campaign) == ["A"]
    counts = item_counts(campaign)
    assert counts.judged == {block[0].item: 1}
    assert block[0].item not in counts.pending, "asked once, whatever was said"
    close_batch()
    assert verdicts(campaign) == ["B"]
    assert item_counts(campaign).judged == {block[0].item: 1}


def test_it_counts_once_for_quota_and_pay(campaign: Campaign, bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    record(bob, block[0], "B", first)
    progress = progress_get(campaign=campaign, annotator=bob)
    assert (progress.judgments, progress.open) == (1, len(block) - 1)
    assert progress.pay == {"USD": Decimal("0.10")}


def test_a_skip_is_not_paid_and_a_late_answer_is(campaign: Campaign, bob: Annotator, block: list[Assignment]) -> None:
    assignment_skip(annotator=bob, assignment_id=block[0].public_id, reason="other")
    Assignment.objects.filter(pk=block[1].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    assert progress_get(campaign=campaign, annotator=bob).pay == {}
    assert record(bob, block[1], "A").judgment.late
    assert progress_get(campaign=campaign, annotator=bob).pay == {"USD": Decimal("0.10")}


def test_after_the_next_block_was_claimed_answers_stand(
    campaign: Campaign, bob: Annotator, block: list[Assignment]
) -> None:
    first = record(bob, block[0], "A").judgment
    judge(campaign, bob)
    record(bob, block[0], "tie", first)
    assert assignment_claim(campaign=campaign, annotator=bob)
    with pytest.raises(Conflict) as refused:
        record(bob, block[0], "B", Judgment.objects.get(supersedes=first))
    assert refused.value.code == "block_closed"


def test_after_the_lease_answers_stand(bob: Annotator, block: list[Assignment]) -> None:
    first = record(bob, block[0], "A").judgment
    Assignment.objects.filter(pk=block[0].pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    with pytest.raises(Conflict):
        record(bob, block[0], "B", first)
    assert Judgment.objects.count() == 1


def test_only_own_judgment_of_the_assignment_can_be_undone(
    bob: Annotator, dora: Annotator, block: list[Assignment]
) -> None:
    first = record(bob, block[0], "A").judgment
    with pytest.raises(NotFound):
        record(dora, block[0], "B", first)
    with pytest.raises(NotFound):
        record(bob, block[1], "B", first)
    with pytest.raises(NotFound):
        judgment_record(
            annotator=bob, assignment_id=block[0].public_id, choices={"overall": "B"}, supersedes=uuid.uuid4()
        )
    with pytest.raises(InvalidInput):
        record(bob, block[0], "C", first)
    assert Judgment.objects.count() == 1
