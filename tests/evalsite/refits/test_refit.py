"""The loop: a closed batch becomes a snapshot, a decision and the next queue; a failure leaves the last good ones."""

import itertools
import threading
import time
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from django.db import connection
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.models import Board, BoardChartData, Decision, Refit, Snapshot
from evalsite.boards.selectors import board_state_get, campaigns_progress, chart_data_get, snapshot_current
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.services import campaign_stop, entrant_add, entrant_withdraw, refit_request
from evalsite.chatbots.models import Reply
from evalsite.chatbots.services import chatbot_create, replies_add, version_create
from evalsite.core.db import write_transaction
from evalsite.core.jobs import sweep
from evalsite.core.models import Job
from evalsite.judgments.item_keys import item_parts
from evalsite.judgments.leases import assignment_skip, assignments_expire, assignments_return
from evalsite.judgments.models import Annotator, Assignment, Batch, Exclusion, Judgment
from evalsite.judgments.selectors import progress_get
from evalsite.judgments.services import annotator_enrol, judgment_record
from evalsite.operations.actions import ActionArguments, act_perform
from evalsite.operations.services import campaign_open
from evalsite.presentation.board_head import status
from evalsite.refits import planning
from evalsite.refits import refit as refit_module
from evalsite.refits.mapping import FitInput, Planner, fit_input
from evalsite.refits.models import Alarm, Findings
from irt_engine import EngineError, FitResult, Posterior
from scheduler import CampaignState, Plan, SchedulerError, plan
from scheduler.forecasting.random_baseline import RandomBaseline, random_baseline
from tests.environment import PATIENCE_S
from tests.evalsite.cast import OPEN, CampaignMaker, assignment_claim, judge, run_jobs, run_only_refits, run_refits
from tests.shared import shared


def prefer_earlier_bots(campaign: Campaign, annotator: Annotator) -> int:
    """Judge one block: the entrant that joined first is better."""
    given = 0
    for assignment in assignment_claim(campaign=campaign, annotator=annotator):
        first, second = assignment.candidates.all()
        choice = "A" if (first.entrant_id or 0) < (second.entrant_id or 0) else "B"
        judgment_record(annotator=annotator, assignment_id=assignment.public_id, choices={"overall": choice})
        given += 1
    return given


@shared
def judged(campaign: Campaign, bob: Annotator) -> Annotator:
    """bob has judged six; the board holds five of them, and the sixth waits in an open batch."""
    judge(campaign, bob, blocks=2)
    run_jobs()
    return bob


def judge_all(campaign: Campaign, *annotators: Annotator) -> int:
    given = 0
    while judged := sum(prefer_earlier_bots(campaign, annotator) for annotator in annotators):
        given += judged
        run_only_refits()
    return given


def close_batches() -> None:
    Batch.objects.filter(state=Batch.State.OPEN).update(state=Batch.State.CLOSED, closed_at=timezone.now())


def board_of(campaign: Campaign) -> Board:
    return Board.objects.get(default_of=campaign)


def test_before_the_first_judgment_there_is_a_queue_and_no_snapshot(campaign: Campaign) -> None:
    assert Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).exists()
    assert not Snapshot.objects.exists()


def test_the_first_plan_connects_all_chatbots(campaign: Campaign) -> None:
    pairs = [item_parts(item)[1] for item in Assignment.objects.values_list("item", flat=True)]
    assert {len(pair) for pair in pairs} == {2}
    assert set(itertools.chain(*pairs)) == set(campaign.entrants.values_list("pk", flat=True))


@pytest.mark.database
@pytest.mark.usefixtures("judged")
def test_a_closed_batch_becomes_a_snapshot_a_decision_and_a_queue_planned_from_it(campaign: Campaign) -> None:
    snapshot = Snapshot.objects.get()
    assert (snapshot.number, snapshot.judgments) == (1, 5), "the sixth judgment is in a batch that is still open"
    assert snapshot.decisions.get().reason
    queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)
    assert queued.exists()
    assert set(queued.values_list("snapshot", flat=True)) == {snapshot.public_id}


@pytest.mark.full
def test_the_better_chatbots_come_out_on_top(campaign: Campaign, bob: Annotator, dora: Annotator) -> None:
    judge_all(campaign, bob, dora)
    snapshot = snapshot_current(board_of(campaign))
    assert snapshot is not None
    assert [row["name"] for row in snapshot.rows] == [f"trial bot {n}" for n in range(4)]
    assert all(row["lower"] < row["ability"] < row["upper"] for row in snapshot.rows)


@pytest.mark.usefixtures("judged")
def test_the_same_judgments_again_make_no_second_snapshot(campaign: Campaign) -> None:
    refit_request(campaign)
    run_jobs()
    assert Snapshot.objects.count() == 1
    assert Refit.objects.order_by("-pk")[0].outcome == Refit.Outcome.UNCHANGED


@pytest.mark.database
def test_excluding_an_annotator_and_readmitting_them_brings_the_same_snapshot_back_with_its_chart_data(
    campaign: Campaign, bob: Annotator, dora: Annotator
) -> None:
    prefer_earlier_bots(campaign, bob)
    judge(campaign, dora, "B")
    close_batches()
    refit_request(campaign)
    run_only_refits()
    board = board_of(campaign)
    full = snapshot_current(board)
    for lifted in (False, True):
        Exclusion.objects.create(campaign=campaign, annotator=dora, reason="always B", lifted=lifted)
        refit_request(campaign)
        run_only_refits()
        current = snapshot_current(board)
        assert current is not None
        assert (current == full) is lifted
        assert chart_data_get(current) is not None
        assert BoardChartData.objects.get().snapshot == current
    assert Snapshot.objects.count() == 2


@pytest.mark.usefixtures("judged")
def test_a_judgment_that_is_excluded_alone_leaves_the_fit(campaign: Campaign) -> None:
    before = len(fit_input(board_of(campaign)).votes)
    Exclusion.objects.create(campaign=campaign, judgment=Judgment.objects.first(), reason="test of the form")
    assert len(fit_input(board_of(campaign)).votes) == before - 1


@pytest.mark.parametrize("purpose", [Assignment.Purpose.GOLD, Assignment.Purpose.QUALIFICATION])
@pytest.mark.usefixtures("judged")
def test_the_fit_never_sees_gold_or_qualification(campaign: Campaign, purpose: str) -> None:
    Assignment.objects.update(purpose=purpose)
    assert fit_input(board_of(campaign)).votes == []


def test_a_failed_fit_leaves_the_last_board_and_the_queue(
    campaign: Campaign, judged: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = snapshot_current(board_of(campaign))

    def fails(*args: object, **options: object) -> FitResult:
        raise EngineError("no answer", code="did_not_converge", hint="look at the data")

    monkeypatch.setattr("evalsite.refits.mapping.estimate_with_warm_start", fails)
    judge(campaign, judged, blocks=2)
    run_jobs()
    assert snapshot_current(board_of(campaign)) == good
    assert Refit.objects.filter(outcome=Refit.Outcome.FAILED).exists()
    assert Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).exists()


@pytest.mark.database
def test_what_fails_raises_one_alarm_backs_off_and_is_cleared_when_it_goes_again(
    campaign: Campaign, bob: Annotator, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **options: object) -> Plan:
        raise SchedulerError("no plan", code="bad", hint="look at the design")

    judge(campaign, bob, blocks=2)
    with monkeypatch.context() as broken:
        broken.setattr(planning, "plan", fails)
        for times in range(1, 5):
            assert run_refits() == 1
            assert Snapshot.objects.count() == 1, "the board is there, and is not fitted again"
            assert Alarm.objects.filter(failures=times, cleared_at=None).count() == Alarm.objects.count() == 1
            refit_request(campaign)
            job = Job.objects.get(kind="refit", state=Job.State.QUEUED)
            assert job.run_after > timezone.now(), "what is asked for meanwhile waits with it"
            Job.objects.filter(pk=job.pk).update(run_after=timezone.now())
    alarm = Alarm.objects.get(cleared_at=None)
    assert "no plan" in alarm.message
    assert Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).exists()
    run_jobs()
    assert not Alarm.objects.filter(cleared_at=None).exists()
    assert Snapshot.objects.count() == 1


@pytest.mark.full
@pytest.mark.usefixtures("no_tail")
def test_the_board_is_there_before_the_plan_is_made_with_the_last_course_at_random_until_there_is_another(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(campaign, bob, blocks=2)
    run_jobs()
    seen: list[tuple[int, int, list[tuple[int, float]]]] = []

    def course() -> list[tuple[int, float]]:
        current = snapshot_current(board_of(campaign))
        assert current is not None
        record = chart_data_get(current)
        assert record is not None
        return record.at_random

    def plans(*args: object, **options: object) -> Plan:
        seen.append((Snapshot.objects.count(), Decision.objects.count(), course()))
        return plan(*args, **options)  # type: ignore[arg-type]

    first = course()
    assert first
    monkeypatch.setattr(planning, "plan", plans)
    judge(campaign, bob, blocks=2)
    run_jobs()
    by_the_new_board = [one for one in seen if one[0] == 2]  # a slow fit is planned before, too, by the first one
    assert by_the_new_board == [(2, 1, first)]
    assert Decision.objects.count() == 2
    assert course() != first


def test_a_board_that_is_read_while_the_plan_is_made_is_another_once_it_was_decided_on(
    campaign: Campaign, judged: Annotator, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = campaigns_progress(alice, start=0, count=5)[0].progress
    seen: list[tuple[str, float | None]] = []

    def plans(*args: object, **options: object) -> Plan:
        seen.append((board_state_get(board_of(campaign)).etag, campaigns_progress(alice, start=0, count=5)[0].progress))
        return plan(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(planning, "plan", plans)
    judge(campaign, judged, blocks=2)
    run_only_refits()
    (etag, progress), after = seen[0], campaigns_progress(alice, start=0, count=5)[0].progress
    assert progress == before is not None, "the last decision stands until there is another"
    assert after != before
    assert board_state_get(board_of(campaign)).etag != etag


def test_a_refit_that_broke_off_after_its_board_was_published_is_brought_to_its_end_by_the_next(
    campaign: Campaign, bob: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **options: object) -> Plan:
        raise MemoryError

    judge(campaign, bob, blocks=2)
    with monkeypatch.context() as broken:
        broken.setattr(planning, "plan", fails)
        run_jobs()
    snapshot = Snapshot.objects.get()
    assert not Decision.objects.exists()
    assert not Findings.objects.exists()
    Job.objects.update(run_after=timezone.now())
    run_jobs()
    record = chart_data_get(snapshot)
    assert record is not None
    assert record.at_random
    assert Decision.objects.get().snapshot == snapshot == Snapshot.objects.get()
    assert Findings.objects.exists()


def test_after_a_stop_the_course_at_random_is_published_with_the_board(
    campaign: Campaign, judged: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(campaign, judged, blocks=2)
    campaign_stop(campaign=campaign, reason="enough")
    close_batches()
    refit_request(campaign)
    boards: list[int] = []

    def compares(state: CampaignState) -> RandomBaseline:
        boards.append(Snapshot.objects.count())
        return random_baseline(state)

    monkeypatch.setattr(refit_module, "random_baseline", compares)
    run_only_refits()
    assert boards == [1], "a chart that is drawn of the second has it"
    assert Snapshot.objects.count() == 2


@pytest.mark.usefixtures("no_tail", "judged")
def test_a_queue_that_runs_low_is_planned_from_the_same_snapshot_without_reading_a_vote(
    campaign: Campaign, dora: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    Assignment.objects.filter(state=Assignment.State.QUEUED).update(state=Assignment.State.WITHDRAWN)

    def reads(board: Board) -> FitInput:
        raise AssertionError("nothing has changed, and votes are read")

    monkeypatch.setattr(refit_module, "fit_input", reads)
    assert assignment_claim(campaign=campaign, annotator=dora) == []
    run_jobs()
    issued = len(assignment_claim(campaign=campaign, annotator=dora))
    queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)
    assert issued == campaign.block_size
    assert queued.count() >= 2 * issued
    assert set(queued.values_list("snapshot", flat=True)) == {Snapshot.objects.get().public_id}
    assert not Alarm.objects.exists()


StoppedByRule = tuple[Campaign, list[Assignment]]


@shared
def stopped_by_rule(make_campaign: CampaignMaker) -> StoppedByRule:
    """A campaign whose target was reached, and a block that was issued to another annotator meanwhile."""
    campaign = make_campaign(design=replace(OPEN, target_se=1.5), chatbots=3, prompts=12)
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    block = assignment_claim(campaign=campaign, annotator=dora)
    judge_all(campaign, bob)
    run_jobs()
    return campaign, block


def test_the_campaign_stops_by_itself_when_its_target_is_reached(stopped_by_rule: StoppedByRule) -> None:
    campaign, _ = stopped_by_rule
    assert campaign.state == Campaign.State.STOPPED
    decision = Decision.objects.get(stop=True)
    assert (campaign.stop_reason, campaign.stop_reason_data) == (decision.reason, decision.reason_data)
    assert decision.reason_data is not None
    assert decision.reason_data["code"] == "target_se_reached"
    assert not Assignment.objects.filter(state=Assignment.State.QUEUED).exists()


def test_the_budget_is_never_exceeded(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, budget=12), chatbots=4, prompts=8)
    annotators = [annotator_enrol(campaign=campaign) for _ in range(3)]
    assert judge_all(campaign, *annotators) == 12


@pytest.mark.full
def test_nothing_left_to_ask_stops_the_campaign_with_that_reason(campaign: Campaign, bob: Annotator) -> None:
    judge_all(campaign, bob)
    close_batches()
    refit_request(campaign)
    run_jobs()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert campaign.stop_reason


def test_what_is_issued_when_a_campaign_stops_may_be_answered_and_enters_one_last_refit(
    campaign: Campaign, judged: Annotator
) -> None:
    block = assignment_claim(campaign=campaign, annotator=judged)
    campaign_stop(campaign=campaign, reason="by its owner")
    for assignment in block:
        judgment_record(annotator=judged, assignment_id=assignment.public_id, choices={"overall": "A"})
    run_jobs()
    current = snapshot_current(board_of(campaign))
    assert current is not None
    assert current.judgments == Judgment.objects.count() == 9
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    assert not Assignment.objects.filter(state=Assignment.State.QUEUED).exists()
    last = board_state_get(board_of(campaign)).decision
    assert last is not None, "the board still says what was decided last"
    assert last.snapshot.number < current.number


def test_the_board_says_what_was_under_way_when_its_rule_stopped_the_campaign(stopped_by_rule: StoppedByRule) -> None:
    campaign, block = stopped_by_rule
    assert campaign.state == Campaign.State.STOPPED
    said = status(board_state_get(board_of(campaign)))["text"]
    assert said == f"stopped: {campaign.stop_reason}"
    for assignment in block:
        say(assignment)
    run_only_refits()
    known = Decision.objects.get(stop=True).snapshot.judgments
    after = Judgment.objects.count() - known
    assert after >= len(block)
    words = f"{said}; includes {after} judgments that were in progress at the time"
    assert status(board_state_get(board_of(campaign)))["text"] == words


@shared
def stopped(campaign: Campaign, judged: Annotator, alice: User) -> list[Assignment]:
    """Nine assignments, which are two batches nearly full, were issued when alice stopped the campaign."""
    others = [annotator_enrol(campaign=campaign) for _ in range(3)]
    block = [one for other in others for one in assignment_claim(campaign=campaign, annotator=other)]
    act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments())
    run_jobs()
    assert len(block) == 9
    assert counts() == (1, 5), "of six judgments one waits in an open batch"
    return block


class TestAfterAStop:
    """What was issued is waited for, and the board gets all of it at once, by one last refit."""

    def test_answers_gather_however_many_and_however_long_and_enter_one_last_refit(
        self, campaign: Campaign, stopped: list[Assignment]
    ) -> None:
        refits = Refit.objects.count()
        for one in stopped[:-1]:
            say(one)
            time_passes(campaign)
        assert counts() == (1, 5)
        assert Refit.objects.count() == refits
        say(stopped[-1])
        time_passes(campaign)
        assert counts() == (2, 15), "all of them, at once"
        assert (Refit.objects.count(), Batch.objects.filter(state="open").count()) == (refits + 1, 0)
        time_passes(campaign)
        assert Refit.objects.count() == refits + 1, "nothing is left to refit"
        assert Judgment.objects.count() == 15

    @pytest.mark.parametrize("end", ["its lease", "a skip", "a return"])
    def test_the_last_refit_runs_when_the_last_of_them_ends_without_an_answer(
        self, campaign: Campaign, stopped: list[Assignment], end: str
    ) -> None:
        *answered, last = stopped
        for one in answered:
            say(one)
        time_passes(campaign)
        assert counts() == (1, 5)
        if end == "a skip":
            assignment_skip(annotator=last.annotator, assignment_id=last.public_id, reason="broken")  # type: ignore[arg-type]
        elif end == "a return":
            assert assignments_return(campaign=campaign, annotator=last.annotator) == 1  # type: ignore[arg-type]
        else:
            leases_end()
        run_only_refits()
        assert counts() == (2, 14), "although its batch is neither full nor old"
        assert Refit.objects.filter(outcome=Refit.Outcome.PUBLISHED).count() == 2

    def test_gold_that_is_still_open_is_waited_for_too(self, campaign: Campaign, stopped: list[Assignment]) -> None:
        Assignment.objects.filter(pk=stopped[-1].pk).update(purpose=Assignment.Purpose.GOLD)
        for one in stopped[:-1]:
            say(one)
        time_passes(campaign)
        assert counts() == (1, 5)
        say(stopped[-1])
        time_passes(campaign)
        assert counts() == (2, 14)

    def test_a_late_answer_gathers_with_the_others_while_something_is_issued(
        self, campaign: Campaign, stopped: list[Assignment]
    ) -> None:
        late, in_time, *rest = stopped
        leases_end(late)
        say(late)
        time_passes(campaign)
        assert counts() == (1, 5)
        say(in_time)
        leases_end(*rest)
        run_only_refits()
        assert counts() == (2, 8)

    def test_a_late_answer_after_the_last_refit_is_not_lost_but_a_batch_like_any_other(
        self, campaign: Campaign, stopped: list[Assignment]
    ) -> None:
        leases_end()
        run_only_refits()
        assert counts() == (2, 6)
        for one in stopped[:2]:
            assert say(one).late
            run_only_refits()
        assert counts() == (2, 6), "one refit each would be a waste"
        time_passes(campaign)
        assert counts() == (3, 8)

    @pytest.mark.usefixtures("judged")
    def test_where_nothing_is_issued_the_stop_itself_brings_the_last_refit(
        self, campaign: Campaign, alice: User
    ) -> None:
        act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments())
        run_jobs()
        assert counts() == (2, 6)

    def test_a_stop_by_its_rule_waits_for_what_is_issued_too(self, stopped_by_rule: StoppedByRule) -> None:
        campaign, block = stopped_by_rule
        assert campaign.state == Campaign.State.STOPPED
        before = Snapshot.objects.count()
        for one in block:
            say(one)
            time_passes(campaign)
        assert counts() == (before + 1, Judgment.objects.count())


def counts() -> tuple[int, int]:
    """Snapshots, and the judgments in the newest one."""
    return Snapshot.objects.count(), Snapshot.objects.latest().judgments


def say(assignment: Assignment) -> Judgment:
    assert assignment.annotator
    given = judgment_record(
        annotator=assignment.annotator, assignment_id=assignment.public_id, choices={"overall": "A"}
    )
    return given.judgment


def time_passes(campaign: Campaign) -> None:
    """As long as a batch may stay open, and the worker does what it finds then."""
    Batch.objects.filter(state="open").update(opened_at=timezone.now() - timedelta(seconds=campaign.batch_age_s + 1))
    sweep()
    run_only_refits()


def leases_end(*assignments: Assignment) -> None:
    """Of these, or of all that are issued."""
    issued = Assignment.objects.filter(state=Assignment.State.ISSUED)
    ended = issued.filter(pk__in=[one.pk for one in assignments]) if assignments else issued
    ended.update(lease_until=timezone.now() - timedelta(seconds=1))
    assignments_expire()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ends", ["an answer", "a lease"])
def test_the_last_two_that_end_at_once_after_a_stop_bring_one_refit(
    make_campaign: CampaignMaker, alice: User, ends: str
) -> None:
    campaign = make_campaign(chatbots=4, prompts=8)
    bob, dora = annotator_enrol(campaign=campaign), annotator_enrol(campaign=campaign)
    judge(campaign, bob, blocks=1)
    first, second = (assignment_claim(campaign=campaign, annotator=one, count=1)[0] for one in (bob, dora))
    act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments())
    run_jobs()
    assert not Snapshot.objects.exists()
    written, failures = threading.Event(), []

    def answers() -> None:
        with write_transaction():
            say(first)
            written.set()
            time.sleep(0.3)  # the other one looks while this is not committed
        connection.close()

    def follows() -> None:
        written.wait(PATIENCE_S)
        try:
            say(second) if ends == "an answer" else leases_end(second)
        except Exception as error:  # noqa: BLE001  whatever it is, the test is to show it
            failures.append(error)
        connection.close()

    threads = [threading.Thread(target=work) for work in (answers, follows)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Job.objects.filter(kind="refit", state=Job.State.QUEUED).count() == 1
    run_jobs()
    assert counts() == (1, 5 if ends == "an answer" else 4)


def test_what_is_answered_late_after_a_stop_is_paid_and_its_place_asked_of_nobody_else(
    make_campaign: CampaignMaker, alice: User
) -> None:
    campaign = make_campaign()
    Campaign.objects.filter(pk=campaign.pk).update(pay_rate="0.05", currency="EUR")
    campaign.refresh_from_db()
    bob = annotator_enrol(campaign=campaign)
    judge(campaign, bob, blocks=2)
    run_only_refits()
    in_time, late, never = assignment_claim(campaign=campaign, annotator=bob)
    act_perform(key=campaign.slug, act=Act.STOP, user=alice, given=ActionArguments())
    say(in_time)
    leases_end()
    assert say(late).late
    time_passes(campaign)
    current = snapshot_current(board_of(campaign))
    assert current is not None
    assert current.judgments == Judgment.objects.count() == 8
    assert progress_get(campaign=campaign, annotator=bob).pay == {"EUR": Decimal("0.40")}
    states = Assignment.objects.filter(place=never.place_id).values_list("state", flat=True)
    assert list(states) == [Assignment.State.EXPIRED], "what nobody answers is asked of nobody else"
    assert assignment_claim(campaign=campaign, annotator=annotator_enrol(campaign=campaign)) == []


def test_a_standing_campaign_opens_again_when_a_chatbot_joins(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(design=replace(OPEN, target_se=1.5, standing=True), chatbots=3, prompts=12)
    bob = annotator_enrol(campaign=campaign)
    judge_all(campaign, bob)
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.STOPPED
    chatbot = chatbot_create(organisation=campaign.organisation, name="newcomer")
    version = version_create(chatbot=chatbot)
    replies = {prompt: f"New words on {prompt.key}." for prompt in campaign.prompt_set.prompts.all()}
    replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
    newcomer = entrant_add(campaign=campaign, version=version)
    run_only_refits()
    campaign.refresh_from_db()
    assert campaign.state == Campaign.State.RUNNING
    queued = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED)
    assert any(newcomer.pk in item_parts(item)[1] for item in queued.values_list("item", flat=True))


def course_at_random(campaign: Campaign) -> list[tuple[float, float]]:
    """What a refit would keep now of what asking at random would have cost."""
    newest = snapshot_current(campaign.default_board)
    assert newest
    posterior = Posterior.from_bytes(bytes(newest.posterior))
    return refit_module._course_at_random(campaign, Planner(campaign).state(posterior, newest.judgments))


def test_asking_at_random_is_compared_only_where_all_who_are_asked_about_are_on_the_board(
    make_campaign: CampaignMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = make_campaign(chatbots=3, prompts=12)
    judge(campaign, annotator_enrol(campaign=campaign), blocks=2)
    run_only_refits()
    campaign.refresh_from_db()
    assert course_at_random(campaign)
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="newcomer"))
    replies = {prompt: f"New words on {prompt.key}." for prompt in campaign.prompt_set.prompts.all()}
    replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
    newcomer = entrant_add(campaign=campaign, version=version)
    assert course_at_random(campaign) == [], "its SE is the prior's, and not on the board"
    entrant_withdraw(campaign=campaign, entrant=newcomer, reason="not yet")
    assert course_at_random(campaign)

    def fails(state: CampaignState) -> None:
        raise np.linalg.LinAlgError("not positive")

    monkeypatch.setattr(refit_module, "random_baseline", fails)
    assert course_at_random(campaign) == [], "a chart's line does not stop the loop"


def test_equal_and_missing_replies_are_never_shown(make_campaign: CampaignMaker) -> None:
    campaign = make_campaign(chatbots=3, prompts=4, start=False)
    prompt = campaign.prompt_set.prompts.order_by("pk")[0]
    twins = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="twin"))
    replies_add(version=twins, replies={prompt: " Bot 0 on p0. "}, origin=Reply.Origin.FILE)
    entrant = entrant_add(campaign=campaign, version=twins)
    campaign_open(campaign=campaign)
    run_jobs()
    twin_items = [item_parts(item) for item in Assignment.objects.values_list("item", flat=True)]
    same = campaign.entrants.order_by("pk")[0]
    assert {number for number, pair in twin_items if entrant.pk in pair} <= {prompt.pk}
    assert not [pair for _, pair in twin_items if set(pair) == {same.pk, entrant.pk}]


@pytest.mark.full
def test_a_chatbot_that_joins_a_running_adaptive_campaign_is_placed_first(make_campaign: CampaignMaker) -> None:
    design = replace(OPEN, policy="adaptive", batch_size=60, block_size=30)
    campaign = make_campaign(design=design, chatbots=4, prompts=40)
    bob = annotator_enrol(campaign=campaign)
    for _ in range(6):
        prefer_earlier_bots(campaign, bob)
        run_jobs()
    version = version_create(chatbot=chatbot_create(organisation=campaign.organisation, name="newcomer"))
    replies = {prompt: f"New words on {prompt.key}." for prompt in campaign.prompt_set.prompts.all()}
    replies_add(version=version, replies=replies, origin=Reply.Origin.FILE)
    newcomer = entrant_add(campaign=campaign, version=version)
    run_jobs()
    first = Assignment.objects.filter(campaign=campaign, state=Assignment.State.QUEUED).order_by("priority")[:20]
    items = [item_parts(assignment.item) for assignment in first]
    met = [(pair, prompt) for prompt, pair in items if newcomer.pk in pair]
    assert len(met) >= 14
    assert len({pair for pair, _ in met[:6]}) <= 2, "an anchor, and now and then somebody else"
    assert len({prompt for _, prompt in met}) >= 10
