"""Recording an answer: exactly once, for its owner, as one of the verdicts that were offered."""

import threading
import time
import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.onboarding import onboarding_set
from evalsite.campaigns.services import NewAspect
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotFound
from evalsite.core.models import Job
from evalsite.judgments.answer_rows import UnknownVerdict
from evalsite.judgments.batches import batches_close_aged
from evalsite.judgments.leases import assignment_skip, assignments_expire
from evalsite.judgments.models import Annotator, Answer, Assignment, Batch, Candidate, Comment, Judgment
from evalsite.judgments.selectors import judgments_spent, progress_get
from evalsite.judgments.services import annotator_enrol, judgment_record
from tests.environment import PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge
from tests.shared import shared

pytestmark = pytest.mark.database


@shared
def assignment(campaign: Campaign, bob: Annotator) -> Assignment:
    return assignment_claim(campaign=campaign, annotator=bob)[0]


def record(annotator: Annotator, assignment: Assignment, choice: str = "A") -> Judgment:
    recorded = judgment_record(
        annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choice}, client_ms=1500
    )
    return recorded.judgment


@pytest.mark.parametrize(
    ("choice", "position", "value"),
    [("A", 0, "chosen"), ("B", 1, "chosen"), ("tie", None, "tie"), ("both_bad", None, "both_bad")],
)
def test_each_verdict_is_stored_as_what_it_says(
    bob: Annotator, assignment: Assignment, choice: str, position: int | None, value: str
) -> None:
    answer = record(bob, assignment, choice).answers.get()
    assert answer.value == value
    assert (answer.candidate and answer.candidate.position) == position
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.ANSWERED


def test_sending_it_again_returns_the_first_and_stores_nothing(bob: Annotator, assignment: Assignment) -> None:
    first = judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "A"})
    again = judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "A"})
    assert (first.created, again.created) == (True, False)
    assert again.judgment == first.judgment
    assert Judgment.objects.count() == Answer.objects.count() == 1


@pytest.mark.parametrize("other", ["B", "tie", "both_bad"])
def test_different_second_answer_is_refused(bob: Annotator, assignment: Assignment, other: str) -> None:
    record(bob, assignment, "A")
    with pytest.raises(Conflict) as refused:
        record(bob, assignment, other)
    assert (refused.value.code, refused.value.status) == ("answered", 409)
    assert "supersedes" in refused.value.hint
    assert Answer.objects.get().candidate is not None, "A stands"


def test_what_is_sent_again_is_compared_on_every_aspect(make_campaign: CampaignMaker) -> None:
    aspects = (NewAspect("overall", "Which is better?"), NewAspect("clear", "Which is clearer?"))
    campaign = make_campaign(design=replace(OPEN, aspects=aspects))
    bob = annotator_enrol(campaign=campaign)
    held = assignment_claim(campaign=campaign, annotator=bob)[0].public_id
    judgment_record(annotator=bob, assignment_id=held, choices={"overall": "A", "clear": "tie"})
    same = judgment_record(annotator=bob, assignment_id=held, choices={"clear": "tie", "overall": "A"})
    assert not same.created
    with pytest.raises(Conflict, match="answered this one otherwise"):
        judgment_record(annotator=bob, assignment_id=held, choices={"overall": "A", "clear": "B"})
    with pytest.raises(InvalidInput):
        judgment_record(annotator=bob, assignment_id=held, choices={"overall": "A"})


def test_assignment_of_another_annotator_is_not_found(dora: Annotator, assignment: Assignment) -> None:
    with pytest.raises(NotFound) as of_bob:
        record(dora, assignment)
    with pytest.raises(NotFound) as of_nobody:
        judgment_record(annotator=dora, assignment_id=uuid.uuid4(), choices={"overall": "A"})
    assert str(of_bob.value) == str(of_nobody.value)
    assert not Judgment.objects.exists()


@pytest.mark.parametrize(
    "choices", [{"overall": "C"}, {"overall": "a"}, {"overall": ""}, {"humour": "A"}, {}, {"overall": "A", "x": "A"}]
)
def test_unknown_verdict_or_aspect_writes_nothing(
    bob: Annotator, assignment: Assignment, choices: dict[str, str]
) -> None:
    with pytest.raises(InvalidInput):
        judgment_record(annotator=bob, assignment_id=assignment.public_id, choices=choices)
    assert not Judgment.objects.exists()
    assert not Batch.objects.exists()
    assignment.refresh_from_db()
    assert assignment.state == Assignment.State.ISSUED


def test_unknown_verdict_error_names_its_aspect(bob: Annotator, assignment: Assignment) -> None:
    with pytest.raises(UnknownVerdict) as refused:
        judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "C"})
    assert (refused.value.aspect, refused.value.field) == ("overall", "answers")


def test_an_answer_to_what_was_given_back_is_refused(bob: Annotator, assignment: Assignment) -> None:
    assignment_skip(annotator=bob, assignment_id=assignment.public_id, reason="cannot_judge")
    with pytest.raises(Conflict, match="gave this one back"):
        record(bob, assignment)


def test_a_comment_is_kept_apart_from_the_judgment(campaign: Campaign, bob: Annotator, assignment: Assignment) -> None:
    onboarding_set(campaign=campaign, comments=True)
    judgment_record(
        annotator=bob, assignment_id=assignment.public_id, choices={"overall": "A"}, comment="B repeats itself"
    )
    assert Comment.objects.get().text == "B repeats itself"
    Comment.objects.all().delete()
    assert Judgment.objects.count() == 1


def test_full_batch_closes_and_requests_one_refit(campaign: Campaign, bob: Annotator) -> None:
    Job.objects.all().delete()
    judge(campaign, bob, blocks=2)  # six judgments, batches of five
    states = list(Batch.objects.order_by("number").values_list("number", "state"))
    assert states == [(1, "closed"), (2, "open")]
    assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).count() == 1


def test_an_old_batch_closes_although_it_is_not_full(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    batches_close_aged()
    assert Batch.objects.get().state == Batch.State.OPEN
    Batch.objects.update(opened_at=timezone.now() - timedelta(seconds=campaign.batch_age_s + 1))
    batches_close_aged()
    assert Batch.objects.get().state == Batch.State.CLOSED
    assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).count() == 1


def test_a_batch_from_before_the_clock_was_set_back_closes(campaign: Campaign, bob: Annotator) -> None:
    judge(campaign, bob)
    Batch.objects.update(opened_at=timezone.now() + timedelta(hours=2))
    batches_close_aged()
    assert Batch.objects.get().state == Batch.State.CLOSED


def became(judgment: Judgment) -> tuple[str, str, str]:
    return (
        "late" if judgment.late else "in time",
        "counts" if judgment.counts else "left out",
        "paid" if judgment.is_paid else "unpaid",
    )


IN_TIME, LATE_AND_TAKEN, KEPT_ONLY = (
    ("in time", "counts", "paid"),
    ("late", "counts", "paid"),
    ("late", "left out", "unpaid"),
)


def let_expire(block: list[Assignment]) -> list[Assignment]:
    held = Assignment.objects.filter(pk__in=[one.pk for one in block])
    held.update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    return list(held)


class TestLate:
    """An answer after the end of its lease is kept, and counts if nobody has taken its place."""

    @pytest.fixture
    def expired(self, assignment: Assignment) -> Assignment:
        Assignment.objects.filter(pk=assignment.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
        assignments_expire()
        assignment.refresh_from_db()
        assert assignment.state == Assignment.State.EXPIRED
        return assignment

    def test_its_place_is_queued_again_as_the_plan_drew_it(self, expired: Assignment) -> None:
        again = Assignment.objects.get(place=expired.place, state=Assignment.State.QUEUED)
        drawn = [(one.item, one.policy, one.snapshot, one.plan_seed, one.probability) for one in (expired, again)]
        assert drawn[0] == drawn[1]
        assert not again.candidates.exists()

    def test_it_counts_while_its_place_waits(self, bob: Annotator, expired: Assignment) -> None:
        judgment = record(bob, expired)
        expired.refresh_from_db()
        assert judgment.late
        assert expired.state == Assignment.State.ANSWERED
        others = Assignment.objects.filter(place=expired.place).exclude(pk=expired.pk)
        assert [other.state for other in others] == [Assignment.State.WITHDRAWN]

    def test_late_answer_to_a_taken_place_is_stored_but_not_counted(
        self, campaign: Campaign, bob: Annotator, dora: Annotator, expired: Assignment
    ) -> None:
        Assignment.objects.filter(state=Assignment.State.QUEUED).exclude(place=expired.place).update(priority=9999)
        taken = assignment_claim(campaign=campaign, annotator=dora)
        assert expired.place_id in {one.place_id for one in taken}
        assert became(record(bob, expired)) == ("late", "left out", "unpaid")
        expired.refresh_from_db()
        assert expired.state == Assignment.State.EXPIRED

    def test_late_answer_over_quota_neither_counts_nor_is_paid(self, make_campaign: CampaignMaker) -> None:
        campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
        Campaign.objects.update(pay_rate="0.25")
        campaign.refresh_from_db()
        bob = annotator_enrol(campaign=campaign)
        lost, again, kept = (let_expire(assignment_claim(campaign=campaign, annotator=bob)) for _ in range(3))
        assert [len(lost), len(again), len(kept)] == [3, 3, 3], "who lost the network goes on"
        assert became(record(bob, kept[0])) == LATE_AND_TAKEN
        open_now = assignment_claim(campaign=campaign, annotator=bob)
        assert len(open_now) == 2
        above = [*lost, *again, *kept[1:]]
        assert {became(record(bob, one)) for one in above} == {KEPT_ONLY}
        assert {became(record(bob, one)) for one in open_now} == {IN_TIME}
        assert became(record(bob, kept[0])) == LATE_AND_TAKEN, "sent again it is what was recorded"
        assert became(record(bob, lost[0])) == KEPT_ONLY, "although fewer are open now"
        assert Judgment.objects.filter(annotator=bob).count() == 3 + len(above)
        assert assignment_claim(campaign=campaign, annotator=bob) == []
        done = progress_get(campaign=campaign, annotator=bob)
        assert (done.judgments, done.pay) == (3, {"USD": Decimal("0.75")})
        assert judgments_spent(campaign) == Batch.objects.get().size == 3
        refilled = Assignment.objects.filter(place__in=[one.place_id for one in above]).exclude(annotator=bob)
        assert set(refilled.values_list("state", flat=True)) == {"queued"}, "its place is still somebody else's"

    def test_beyond_the_quota_it_takes_nothing_of_the_quota(self, make_campaign: CampaignMaker) -> None:
        campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
        bob = annotator_enrol(campaign=campaign)
        lost = let_expire(assignment_claim(campaign=campaign, annotator=bob))
        held = assignment_claim(campaign=campaign, annotator=bob)
        assert became(record(bob, lost[0])) == ("late", "left out", "unpaid")
        assignment_skip(annotator=bob, assignment_id=held[0].public_id, reason="cannot_judge")
        assert became(record(bob, lost[1])) == ("late", "counts", "unpaid"), "one is open less"
        for one in held[1:]:
            assert record(bob, one)
        assert progress_get(campaign=campaign, annotator=bob).judgments == 3
        assert assignment_claim(campaign=campaign, annotator=bob) == []

    def test_late_answer_over_quota_earns_no_hourly_pay(self, make_campaign: CampaignMaker) -> None:
        campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
        Campaign.objects.update(pay_rate="12", pay_per="hour")
        campaign.refresh_from_db()
        bob = annotator_enrol(campaign=campaign)
        lost = let_expire(assignment_claim(campaign=campaign, annotator=bob))
        assert len(assignment_claim(campaign=campaign, annotator=bob)) == 3
        assert became(record(bob, lost[0])) == KEPT_ONLY
        assert Assignment.objects.get(pk=lost[0].pk).worked_ms is None
        assert progress_get(campaign=campaign, annotator=bob).pay == {}

    def test_only_a_late_answer_can_be_beyond_the_quota(self, bob: Annotator, assignment: Assignment) -> None:
        given = record(bob, assignment)
        with pytest.raises(IntegrityError, match="only_late_ones"), transaction.atomic():
            Judgment.objects.create(assignment=assignment, batch=given.batch, supersedes=given, over_quota=True)

    def test_answer_after_expiry_is_late_despite_the_clock_change(self, bob: Annotator, expired: Assignment) -> None:
        Assignment.objects.filter(pk=expired.pk).update(lease_until=timezone.now() + timedelta(hours=1))
        assert record(bob, expired).late

    def test_who_claimed_nothing_since_answers_the_whole_block(self, make_campaign: CampaignMaker) -> None:
        campaign = make_campaign(slug="quota", design=replace(OPEN, quota=3))
        bob = annotator_enrol(campaign=campaign)
        held = let_expire(assignment_claim(campaign=campaign, annotator=bob))
        assert [record(bob, one).late for one in held] == [True] * OPEN.block_size

    def test_expired_assignment_is_not_reissued_to_its_annotator(
        self, campaign: Campaign, bob: Annotator, expired: Assignment
    ) -> None:
        offered: set[str] = set()
        while block := assignment_claim(campaign=campaign, annotator=bob):
            offered |= {one.item for one in block}
            for one in block:
                record(bob, one)
        assert len(offered) > OPEN.block_size
        assert expired.item not in offered


class TestSkip:
    def test_a_skip_is_not_a_judgment_and_queues_the_place_again(self, bob: Annotator, assignment: Assignment) -> None:
        assignment_skip(annotator=bob, assignment_id=assignment.public_id, reason="cannot_judge")
        assert not Judgment.objects.exists()
        states = set(Assignment.objects.filter(place=assignment.place).values_list("state", flat=True))
        assert states == {Assignment.State.RETURNED, Assignment.State.QUEUED}

    def test_skipping_again_changes_nothing(self, bob: Annotator, assignment: Assignment) -> None:
        for _ in range(2):
            assignment_skip(annotator=bob, assignment_id=assignment.public_id, reason="cannot_judge")
        assert Assignment.objects.filter(place=assignment.place).count() == 2

    @pytest.mark.parametrize("reason", ["", "   ", "bored", "CANNOT_JUDGE"])
    def test_a_skip_without_a_usable_reason_is_refused(
        self, bob: Annotator, assignment: Assignment, reason: str
    ) -> None:
        with pytest.raises(InvalidInput):
            assignment_skip(annotator=bob, assignment_id=assignment.public_id, reason=reason)
        assignment.refresh_from_db()
        assert assignment.state == Assignment.State.ISSUED

    def test_what_is_answered_cannot_be_skipped(self, bob: Annotator, assignment: Assignment) -> None:
        record(bob, assignment)
        with pytest.raises(Conflict):
            assignment_skip(annotator=bob, assignment_id=assignment.public_id, reason="other")


@pytest.mark.django_db(transaction=True)
def test_ten_posts_of_one_answer_at_once_are_one_judgment(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign()
    bob = annotator_enrol(campaign=campaign)
    assignment = assignment_claim(campaign=campaign, annotator=bob)[0]
    created: list[bool] = []
    together = threading.Barrier(10)

    def post() -> None:
        together.wait()
        recorded = judgment_record(annotator=bob, assignment_id=assignment.public_id, choices={"overall": "B"})
        created.append(recorded.created)
        connection.close()

    threads = [threading.Thread(target=post) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(created) == [False] * 9 + [True]
    assert Judgment.objects.count() == 1
    assert Candidate.objects.filter(assignment=assignment).count() == 2


@pytest.mark.django_db(transaction=True)
def test_parallel_first_answers_share_one_batch(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=4, prompts=8)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(4)]
    held = [assignment_claim(campaign=campaign, annotator=one)[0] for one in annotators]
    together = threading.Barrier(len(held))

    def post(annotator: Annotator, assignment: Assignment) -> None:
        together.wait()
        record(annotator, assignment)
        connection.close()

    threads = [threading.Thread(target=post, args=pair) for pair in zip(annotators, held, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    batch = Batch.objects.get()
    assert batch.size == batch.judgments.count() == len(held)


@pytest.mark.django_db(transaction=True)
def test_late_answer_and_parallel_claim_fill_the_place_once(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=2, prompts=1)
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    late = assignment_claim(campaign=campaign, annotator=bob)[0]
    Assignment.objects.filter(pk=late.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()
    claimed, failures = threading.Event(), []

    def claim() -> None:
        with write_transaction():
            assignment_claim(campaign=Campaign.objects.get(pk=campaign.pk), annotator=dora)
            claimed.set()
            time.sleep(0.3)  # the other one looks while this is not committed
        connection.close()

    def answer() -> None:
        claimed.wait(PATIENCE_S)
        try:
            judgment_record(annotator=bob, assignment_id=late.public_id, choices={"overall": "A"})
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to show it
            failures.append(error)
        connection.close()

    threads = [threading.Thread(target=work) for work in (claim, answer)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Judgment.objects.get().late
    states = sorted(Assignment.objects.filter(place=late.place).values_list("state", flat=True))
    assert states == [Assignment.State.EXPIRED, Assignment.State.ISSUED], "the place was taken; the answer is kept"
