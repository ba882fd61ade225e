"""Ends of conversations."""

import uuid
from datetime import datetime, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign, LiveSettings
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.dialogues.locking import conversation_lock, conversations_lock, over_error
from evalsite.dialogues.models import LONGEST_FEEDBACK, Conversation, Turn, TurnReply
from evalsite.dialogues.replies import request_give_up, requests_lock
from evalsite.dialogues.texts import text_checked
from evalsite.dialogues.turn_limits import may_end, turn_states, turns_done
from evalsite.judgments.leases import end_unanswered
from evalsite.judgments.models import Annotator, Assignment, Bonus, Place

RATINGS = range(1, 6)


def conversation_end(
    *, annotator: Annotator, conversation_id: uuid.UUID, rating: int | None = None, feedback: str = ""
) -> Conversation:
    """End a conversation that has its minimum of turns. A repeated call returns it unchanged.

    Raises InvalidInput for a rating that is not 1 to 5, or that is missing where the campaign asks for it. Raises
    Conflict before the minimum of turns (`minimum_turns`) and while a turn is open (`turn_open`).
    """
    feedback = text_checked(feedback, longest=LONGEST_FEEDBACK, field="feedback")
    with write_transaction():
        conversation = conversation_lock(annotator, conversation_id)
        if conversation.state == Conversation.State.ENDED:
            return conversation
        if conversation.state != Conversation.State.OPEN:
            raise over_error()
        _check_may_end(conversation)
        live = conversation.campaign.live
        conversation.rating = _checked_rating(rating, asked=live.end_rating)
        conversation.feedback = feedback if live.end_feedback else ""
        _close(conversation, Conversation.State.ENDED, paid=True)
    return conversation


def _check_may_end(conversation: Conversation) -> None:
    states = turn_states(conversation)
    if any(state in Turn.OPEN for state in states):
        raise Conflict(
            _("The last message is not finished: its replies are awaited, or not judged yet."),
            hint=_("Judge the replies first, or leave the conversation."),
            code="turn_open",
        )
    if not may_end(conversation, states):
        least, done = conversation.campaign.live.minimum_turns, turns_done(states)
        raise Conflict(
            _("This conversation has %(done)s of at least %(least)s turns.") % {"done": done, "least": least},
            hint=_("Go on, or leave the conversation."),
            code="minimum_turns",
        )


def _checked_rating(rating: int | None, *, asked: bool) -> int | None:
    if not asked:
        return None
    if rating is None or rating not in RATINGS:
        raise InvalidInput(
            _("The rating must be a number from 1 to 5."), hint=_("Rate the conversation."), field="rating"
        )
    return rating


def conversation_leave(*, annotator: Annotator, conversation_id: uuid.UUID) -> Conversation:
    """Leave a conversation before its end. Judged turns count; an open turn is dropped."""
    with write_transaction():
        own = Conversation.objects.filter(public_id=conversation_id, annotator=annotator)
        for number in own.values_list("pk", flat=True):
            requests_lock(number)
        conversation = conversation_lock(annotator, conversation_id)
        if conversation.state == Conversation.State.OPEN:
            _close(conversation, Conversation.State.LEFT, paid=_has_minimum(conversation))
    return conversation


def conversations_expire() -> int:
    """End conversations without activity. Return their number. Those of a stopped campaign end sooner: by its lease."""
    now, count = timezone.now(), 0
    chatting = LiveSettings.objects.filter(campaign__conversations__state=Conversation.State.OPEN)
    for live in chatting.select_related("campaign").distinct():
        before = now - _idle_limit(live)
        idle = live.campaign.conversations.filter(state=Conversation.State.OPEN, active_at__lt=before)
        for number in list(idle.order_by("active_at").values_list("pk", flat=True)[:100]):
            with write_transaction():
                requests_lock(number)
                (row,) = conversations_lock([number])
                if row.state == Conversation.State.OPEN and row.active_at < before:
                    _close(row, Conversation.State.EXPIRED, paid=_has_minimum(row))
                    count += 1
    return count


def _idle_limit(live: LiveSettings) -> timedelta:
    if live.campaign.state == Campaign.State.STOPPED:
        return timedelta(seconds=live.campaign.lease_s)
    return timedelta(minutes=live.idle_minutes)


def _has_minimum(conversation: Conversation) -> bool:
    return turns_done(turn_states(conversation)) >= conversation.campaign.live.minimum_turns


def _close(conversation: Conversation, state: Conversation.State, *, paid: bool) -> None:
    """End a locked conversation, and pay it if the campaign pays by conversation."""
    now = timezone.now()
    open_turn_drop(conversation, now)
    conversation.state, conversation.ended_at, conversation.active_at = state, now, now
    conversation.save(update_fields=["state", "ended_at", "active_at", "rating", "feedback"])
    campaign = conversation.campaign
    live = campaign.live
    if paid and live.pay_per == live.PayPer.CONVERSATION and campaign.pay_rate > 0:
        Bonus.objects.create(
            campaign=campaign,
            annotator_id=conversation.annotator_id,
            amount=campaign.pay_rate,
            currency=campaign.currency,
            reason=f"conversation {conversation.public_id}",
        )


def open_turn_drop(conversation: Conversation, now: datetime) -> None:
    """Drop the open turn of a locked conversation: queued calls are not made, and its assignment is returned."""
    turn = conversation.turns.filter(state__in=Turn.OPEN).select_related("assignment").first()
    if turn is None:
        return
    for row in turn.replies.filter(state=TurnReply.State.WAITING).select_related("request"):
        request_give_up(row.request, "dropped", now)
        row.state, row.error_class, row.finished_at = TurnReply.State.FAILED, "dropped", now
        row.save(update_fields=["state", "error_class", "finished_at"])
    turn.state, turn.closed_at = Turn.State.DROPPED, now
    turn.save(update_fields=["state", "closed_at"])
    if turn.assignment is not None:
        Place.objects.select_for_update(no_key=True).get(pk=turn.assignment.place_id)
        issued = Assignment.objects.select_for_update().filter(pk=turn.assignment.pk, state=Assignment.State.ISSUED)
        if (assignment := issued.first()) is not None:
            end_unanswered(assignment, Assignment.State.RETURNED)
