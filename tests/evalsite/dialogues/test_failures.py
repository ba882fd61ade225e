"""Failures of chatbots: reserves on turn 1, void turns later, deadlines, dead callers, and what is paid."""

from datetime import timedelta
from decimal import Decimal
from functools import partial

import pytest
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.core.errors import Conflict
from evalsite.dialogues.endings import conversation_end, conversation_leave, conversations_expire
from evalsite.dialogues.history import history_of
from evalsite.dialogues.models import Continuation, Conversation, Turn, TurnReply
from evalsite.dialogues.replies import turns_sweep
from evalsite.dialogues.selectors import conversation_view
from evalsite.endpoints.failures import ErrorClass
from evalsite.endpoints.models import Call, CallRequest, Endpoint
from evalsite.endpoints.recording import CallResult, calls_record, lost_calls_requeue
from evalsite.judgments.models import Annotator, Assignment, Bonus, Judgment
from evalsite.judgments.selectors import progress_get
from tests.evalsite.dialogues.steps import answer_all, begin, choose, claim_all, endpoint_of, post, released, said

pytestmark = pytest.mark.django_db


def second_turn(conversation: Conversation) -> Turn:
    """The second turn, posted: the first one is judged."""
    choose(released(conversation))
    return post(conversation, "Second")


def test_failure_on_turn_1_brings_in_a_reserve(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = post(conversation)
    before = set(conversation.members.values_list("entrant", flat=True))
    answer_all({endpoint_of(turn, 0): ErrorClass.REJECTED})
    turn.refresh_from_db()
    assert turn.state == Turn.State.WAITING
    assert answer_all() == 1
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
    (reserve,) = conversation.members.filter(replaces__isnull=False)
    assert reserve.entrant_id not in before
    assert turn.replies.shown().count() == 2
    conversation.refresh_from_db()
    assert str(reserve.entrant_id) in conversation.chatbot_set.split("-")
    choose(turn)
    assert {row.entrant_id for row in post(conversation).replies.all()} == set(
        conversation.members.filter(left_at=None).values_list("entrant", flat=True)
    )


def test_failure_later_makes_the_turn_void_and_paid(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = second_turn(conversation)
    answer_all({endpoint_of(turn, 0): ErrorClass.REJECTED})
    turn.refresh_from_db()
    assert turn.state == Turn.State.VOID
    assert turn.assignment is not None
    assert turn.assignment.state == Assignment.State.VOID
    assert turn.continuation.how == Continuation.How.ONLY
    assert Judgment.objects.count() == 1
    assert progress_get(campaign=soba, annotator=emma).pay == {"USD": Decimal("0.20")}
    view = conversation_view(conversation)
    assert (view.notice, view.can_send, view.turns_done) == ("turn_void", True, 2)
    with pytest.raises(Conflict) as refused:
        choose(turn)
    assert refused.value.code == "void"


def test_turn_without_any_reply_can_be_sent_again(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = second_turn(conversation)
    before = len(history_of(conversation))
    answer_all({endpoint_of(turn, 0): ErrorClass.REJECTED, endpoint_of(turn, 1): ErrorClass.REJECTED})
    turn.refresh_from_db()
    assert turn.state == Turn.State.VOID
    assert not Continuation.objects.filter(turn=turn).exists()
    view = conversation_view(conversation)
    assert (view.notice, view.can_send, view.can_end) == ("no_reply", True, True)
    assert len(history_of(conversation)) == before
    again = released(conversation, "Second")
    assert (again.number, again.state) == (3, Turn.State.RELEASED)


def test_retried_failure_costs_nobody_the_turn(soba: Campaign, emma: Annotator) -> None:
    turn = second_turn(begin(soba, emma))
    answer_all({endpoint_of(turn, 0): ErrorClass.BUSY})
    CallRequest.objects.filter(state=CallRequest.State.QUEUED).update(run_after=timezone.now())
    assert answer_all() == 1
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED


def test_turn_ends_at_its_deadline(soba: Campaign, emma: Annotator) -> None:
    turn = second_turn(begin(soba, emma))
    hanging, other = claim_all()
    calls_record([CallResult(other, said("In time."))])
    past = timezone.now() - timedelta(seconds=10)
    Turn.objects.filter(pk=turn.pk).update(deadline=past)
    turns_sweep()
    turn.refresh_from_db()
    assert turn.state == Turn.State.VOID
    assert turn.continuation.how == Continuation.How.ONLY
    assert calls_record([CallResult(hanging, said("Too late."))]) == 1  # its cost is recorded
    turn.refresh_from_db()
    assert turn.state == Turn.State.VOID
    assert not CallRequest.objects.filter(reply="Too late.").exists()


def test_call_of_a_turn_ends_with_the_turn(soba: Campaign, emma: Annotator) -> None:
    post(begin(soba, emma))
    Endpoint.objects.update(timeout_s=600)
    assert {plan.timeout_s <= 120 for plan in claim_all()} == {True}


def test_reply_of_a_dead_caller_is_asked_for_again(soba: Campaign, emma: Annotator) -> None:
    turn = second_turn(begin(soba, emma))
    dead = claim_all()
    CallRequest.objects.filter(state=CallRequest.State.RUNNING).update(
        lease_until=timezone.now() - timedelta(seconds=1)
    )
    assert lost_calls_requeue() == 2
    assert answer_all() == 2
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED
    assert calls_record([CallResult(dead[0], said("From the grave."))]) == 0
    assert Call.objects.filter(request__turn_reply__turn=turn, error_class="").count() == 2


def test_failing_endpoint_gets_no_new_conversation(soba: Campaign, emma: Annotator) -> None:
    first, second = soba.entrants.order_by("pk")[:2]
    Endpoint.objects.filter(version__entrants=first).update(state=Endpoint.State.FAILING)
    Endpoint.objects.filter(version__entrants=second).update(state=Endpoint.State.PAUSED)
    conversation = begin(soba, emma)
    assert not conversation.members.filter(entrant__in=[first, second]).exists()


def test_endpoint_paused_in_a_conversation_ends_the_wait(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = second_turn(conversation)
    Endpoint.objects.filter(pk=endpoint_of(turn, 0)).update(state=Endpoint.State.PAUSED)
    answer_all()
    turn.refresh_from_db()
    assert turn.state == Turn.State.VOID
    third = post(conversation, "Third")
    answer_all()
    third.refresh_from_db()
    assert third.state == Turn.State.VOID


def test_advance_that_failed_is_done_by_the_sweep(
    soba: Campaign, emma: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = post(begin(soba, emma))

    def broken(numbers: object) -> None:
        raise ValueError("broken")

    with monkeypatch.context() as patched:
        patched.setattr("evalsite.endpoints.batches.finishers", [broken])
        assert answer_all() == 2
    turn.refresh_from_db()
    assert turn.state == Turn.State.WAITING
    turns_sweep()
    turn.refresh_from_db()
    assert turn.state == Turn.State.RELEASED


def test_conversation_ends_after_its_minimum(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    choose(released(conversation))
    end = partial(conversation_end, annotator=emma, conversation_id=conversation.public_id)
    with pytest.raises(Conflict) as early:
        end(rating=4)
    assert early.value.code == "minimum_turns"
    turn = released(conversation)
    with pytest.raises(Conflict) as unfinished:
        end(rating=4)
    assert unfinished.value.code == "turn_open"
    choose(turn)
    ended = end(rating=4, feedback="Nice.")
    assert (ended.state, ended.rating, ended.feedback) == (Conversation.State.ENDED, 4, "Nice.")
    assert end(rating=1).rating == 4


def test_conversation_is_paid_once(sata: Campaign, emma: Annotator) -> None:
    sata.live.pay_per = "conversation"
    sata.live.fallback = "random"
    sata.live.save()
    conversation = begin(sata, emma)
    for _ in range(2):
        choose(released(conversation), ["A"])
    for _ in range(2):
        conversation_end(annotator=emma, conversation_id=conversation.public_id, rating=5)
    assert [bonus.amount for bonus in Bonus.objects.all()] == [Decimal("0.10")]
    assert progress_get(campaign=sata, annotator=emma).pay == {}


def test_leaving_drops_the_open_turn(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    turn = released(conversation)
    conversation_leave(annotator=emma, conversation_id=conversation.public_id)
    turn.refresh_from_db()
    assert turn.state == Turn.State.DROPPED
    assert turn.assignment is not None
    assert turn.assignment.state == Assignment.State.RETURNED
    assert not Assignment.objects.filter(campaign=soba, state=Assignment.State.QUEUED).exists()


def test_leaving_cancels_calls_that_have_not_begun(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    post(conversation)
    conversation_leave(annotator=emma, conversation_id=conversation.public_id)
    assert claim_all() == []
    assert set(TurnReply.objects.values_list("state", flat=True)) == {TurnReply.State.FAILED}


def test_idle_conversation_expires(soba: Campaign, emma: Annotator) -> None:
    conversation = begin(soba, emma)
    assert conversations_expire() == 0
    Conversation.objects.update(active_at=timezone.now() - timedelta(days=2))
    assert conversations_expire() == 1
    conversation.refresh_from_db()
    assert conversation.state == Conversation.State.EXPIRED
