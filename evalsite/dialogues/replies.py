"""Replies of a turn: requested, awaited until all calls have ended, and then released together.

A turn whose chatbots all replied is released. A final failure brings in a reserve chatbot on turn 1. Later, or without
a reserve, it makes the turn void: not judged, but paid, and the conversation goes on with a reply that came.
"""

import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Q, QuerySet
from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.chatbots.models import Reply
from evalsite.core.composed import composed
from evalsite.core.db import write_transaction
from evalsite.core.row_writes import rows_add, rows_update
from evalsite.dialogues.chatbot_sets import entrants_available
from evalsite.dialogues.history import history_of, turn_continue, turn_rng
from evalsite.dialogues.locking import conversations_lock
from evalsite.dialogues.models import Continuation, Conversation, ConversationEntrant, Turn, TurnReply, Utterance
from evalsite.dialogues.texts import text_hmac
from evalsite.endpoints.adapters.base import Message
from evalsite.endpoints.messages import messages_stored
from evalsite.endpoints.models import Call, CallRequest
from evalsite.endpoints.queue import LIVE_PRIORITY, requests_enqueue
from evalsite.endpoints.states import CALLED
from evalsite.judgments.batches import batch_close_last
from evalsite.judgments.conflict_of_interest import own_entrants
from evalsite.judgments.item_keys import item_of
from evalsite.judgments.models import Assignment, Candidate, Place

AFTER_DEADLINE = timedelta(seconds=3)  # a call that ends at the deadline is recorded by then
UNREACHABLE, DEADLINE = "unreachable", "deadline"
CHANGED = ("state", "text", "hmac", "flags", "error_class", "finished_at", "position", "reply")
Ended = (CallRequest.State.DONE, CallRequest.State.FAILED)


class Seat(NamedTuple):
    """An entrant (key) that takes part in a conversation, with its endpoint (key) and the state of that."""

    entrant: int
    endpoint: int
    state: str

    @property
    def is_called(self) -> bool:
        return self.state in CALLED


def seats_of(conversation: Conversation) -> list[Seat]:
    """Return the chatbots that take part in a conversation now."""
    return [Seat(*seat) for seat in _seats(conversation.pk)]


@composed
def _seats(conversation: int) -> QuerySet[ConversationEntrant, Any]:
    seated = ConversationEntrant.objects.filter(conversation=conversation, left_at=None).order_by("entrant")
    return seated.values_list("entrant", "entrant__version__endpoint", "entrant__version__endpoint__state")


def replies_request(turn: Turn, seats: Sequence[Seat], messages: Sequence[Message]) -> None:
    """Queue one call for each chatbot. They end with the turn's deadline."""
    stored = messages_stored(messages)
    requests = requests_enqueue(
        [
            CallRequest(
                endpoint_id=seat.endpoint,
                messages=stored,
                priority=LIVE_PRIORITY,
                give_up_at=turn.deadline,
            )
            for seat in seats
        ]
    )
    asked = zip(seats, requests, strict=True)
    rows_add([TurnReply(turn=turn, entrant_id=seat.entrant, request=request) for seat, request in asked])


def requests_ended(numbers: Sequence[int]) -> None:
    """Take over the replies of ended requests (keys). Runs in the transaction that records their calls."""
    settled = turns_advance(set(_waiting(list(numbers)))) & set(numbers)
    rows_update([CallRequest(pk=number, messages=[], reply=None) for number in sorted(settled)], ["messages", "reply"])
    if late := set(numbers) - settled:
        texts_forget(late)


@composed
def _waiting(requests: list[int]) -> QuerySet[TurnReply, Any]:
    """Return the conversations (keys) of the waiting turns that these requests are for."""
    replies = TurnReply.objects.filter(request__in=requests, turn__state=Turn.State.WAITING).order_by()
    return replies.values_list("turn__conversation", flat=True)


def texts_forget(numbers: Iterable[int]) -> None:
    """Empty the texts of ended requests (keys): an erasure finds the others. A reply that came too late is not kept."""
    settled = _settled(list(numbers))
    for request in settled:
        request.messages, request.reply = [], None
    rows_update(settled, ["messages", "reply"])


@composed
def _settled(requests: list[int]) -> QuerySet[CallRequest, CallRequest]:
    ended = CallRequest.objects.filter(pk__in=requests, state__in=Ended)
    return ended.filter(turn_reply__state__in=[TurnReply.State.CAME, TurnReply.State.FAILED])


def turns_sweep() -> None:
    """Advance turns that no ended call advances: past their deadline, or with a chatbot that is not called any more."""
    now = timezone.now()
    waiting = Turn.objects.filter(state=Turn.State.WAITING)
    stuck = Q(deadline__lt=now) | Q(replies__state=TurnReply.State.WAITING) & (
        Q(replies__request__state__in=Ended)
        | Q(replies__request__state=CallRequest.State.QUEUED) & ~Q(replies__request__endpoint__state__in=CALLED)
    )
    numbers = list(waiting.filter(stuck).values_list("conversation", flat=True).distinct()[:200])
    for number in numbers:
        with write_transaction():
            requests = requests_lock(number)
            turns_advance([number])
            texts_forget(requests)


def requests_lock(conversation: int) -> list[int]:
    """Lock the requests before the conversation, in the order in which calls are recorded. Return their keys."""
    numbers = list(TurnReply.objects.filter(turn__conversation=conversation).values_list("request", flat=True))
    own = CallRequest.objects.filter(pk__in=numbers).select_for_update(no_key=True).order_by("pk")
    return list(own.values_list("pk", flat=True))


def turns_advance(conversations: Iterable[int]) -> set[int]:
    """Advance the waiting turn of each conversation (key) as far as its calls have ended.

    Returns the ended requests (keys) whose outcomes were taken over.
    """
    locked = {one.pk: one for one in conversations_lock(conversations)}
    turns = _turns_waiting(list(locked))
    for turn in turns:
        turn.conversation = locked[turn.conversation_id]
    return turns_settle(turns)


@composed
def _turns_waiting(conversations: list[int]) -> QuerySet[Turn, Turn]:
    waiting = Turn.objects.filter(conversation__in=conversations, state=Turn.State.WAITING)
    return waiting.select_related("prompt").order_by("pk")


def turns_settle(turns: Sequence[Turn]) -> set[int]:
    """Take over the outcomes of calls, and release or void each turn whose calls have all ended.

    The turns are waiting, and their conversations are locked. Turns of one call share their queries. Returns the ended
    requests (keys) whose outcomes were taken over.
    """
    now = timezone.now()
    rows = _rows_of(turns)
    changed = _settle(rows, now)
    ended_now = {row.request_id for row in changed.values() if row.request.state in Ended}
    for turn in turns:
        failed = [row for row in rows if row.turn_id == turn.pk and row.state == TurnReply.State.FAILED]
        if turn.number == 1 and failed:
            rows += _reserves(turn, failed, now)
    unfinished = {row.turn_id for row in rows if row.state == TurnReply.State.WAITING}
    ended = [turn for turn in turns if turn.pk not in unfinished]
    came: dict[int, list[TurnReply]] = {turn.pk: [] for turn in turns}
    for row in rows:
        if row.state == TurnReply.State.CAME:
            came[row.turn_id].append(row)
    seated = _seated(ended)
    complete = [turn for turn in ended if {row.entrant_id for row in came[turn.pk]} == seated[turn.conversation_id]]
    changed |= {row.pk: row for turn in complete for row in came[turn.pk]}
    turns_release([(turn, came[turn.pk]) for turn in complete], now)
    rows_update(list(changed.values()), CHANGED)
    for turn in ended:
        if turn not in complete:
            turn_void(turn, came[turn.pk], now)
    return ended_now


def _rows_of(turns: Sequence[Turn]) -> list[TurnReply]:
    known = {turn.pk: turn for turn in turns}
    rows = _replies(list(known))
    for row in rows:
        row.turn = known[row.turn_id]
    return rows


@composed
def _replies(turns: list[int]) -> QuerySet[TurnReply, TurnReply]:
    related = "request__endpoint", "entrant__version__chatbot"
    return TurnReply.objects.filter(turn__in=turns).select_related(*related).order_by("pk")


def _seated(turns: Sequence[Turn]) -> dict[int, set[int]]:
    """Return the entrants (keys) that take part in each conversation (key)."""
    found: dict[int, set[int]] = {turn.conversation_id: set() for turn in turns}
    for conversation, entrant in _members(list(found)):
        found[conversation].add(entrant)
    return found


@composed
def _members(conversations: list[int]) -> QuerySet[ConversationEntrant, Any]:
    seated = ConversationEntrant.objects.filter(conversation__in=conversations, left_at=None)
    return seated.values_list("conversation", "entrant")


def _flags(rows: Sequence[TurnReply]) -> dict[int, list[str]]:
    """Return the flags of the calls that gave these replies, by request."""
    done = [row.request_id for row in rows if row.request.state == CallRequest.State.DONE]
    return {request: list(flags) for request, flags in _call_flags(done)}


@composed
def _call_flags(requests: list[int]) -> QuerySet[Call, Any]:
    calls = Call.objects.filter(request__in=requests, error_class="")
    return calls.order_by("pk").values_list("request", "flags")


def _settle(rows: Sequence[TurnReply], now: datetime) -> dict[int, TurnReply]:
    """Take over the outcomes of the calls that have ended. Their texts can be erased then (`texts_forget`).

    Returns the changed replies by their keys. They are not written yet.
    """
    waiting = [row for row in rows if row.state == TurnReply.State.WAITING]
    flags = _flags(waiting)
    return {row.pk: row for row in waiting if _outcome_take(row, flags.get(row.request_id, []), now)}


def _outcome_take(row: TurnReply, flags: list[str], now: datetime) -> bool:
    """Set the fields of a reply by the outcome of its call. Return whether there is an outcome."""
    turn, request = row.turn, row.request
    late = now > turn.deadline
    if request.state == CallRequest.State.DONE and (request.reply or "").strip():
        (row.hmac,) = text_hmac(turn.conversation, request.reply or "")
        row.text, row.state = request.reply or "", TurnReply.State.CAME
        row.flags = flags + _maker_flag(row)
    elif request.state in Ended:
        row.state, row.error_class = TurnReply.State.FAILED, request.error_class
    elif request.state == CallRequest.State.QUEUED and (late or request.endpoint.state not in CALLED):
        row.state, row.error_class = TurnReply.State.FAILED, DEADLINE if late else UNREACHABLE
        request_give_up(request, row.error_class, now)
    elif late and now > turn.deadline + AFTER_DEADLINE:
        row.state, row.error_class = TurnReply.State.FAILED, DEADLINE  # its call is recorded when it ends
    else:
        return False
    row.finished_at = now
    return True


def request_give_up(request: CallRequest, error_class: str, now: datetime) -> None:
    """End a queued request without a call. A running one ends by itself, and is not tried again."""
    CallRequest.objects.filter(pk=request.pk, state=CallRequest.State.RUNNING).update(give_up_at=now)
    queued = CallRequest.objects.filter(pk=request.pk, state=CallRequest.State.QUEUED)
    if queued.update(state=CallRequest.State.FAILED, error_class=error_class, finished_at=now, messages=[], reply=None):
        request.state = CallRequest.State.FAILED


def _maker_flag(row: TurnReply) -> list[str]:
    """Flag a reply that names its chatbot. It is shown, and the owner can leave it out later."""
    name = row.entrant.version.chatbot.name.casefold()
    return ["names_maker"] if len(name) > 2 and name in row.text.casefold() else []


def _reserves(turn: Turn, rows: Sequence[TurnReply], now: datetime) -> list[TurnReply]:
    """Bring in a reserve for each failed chatbot of turn 1 that was no reserve itself. Return the new rows."""
    conversation = turn.conversation
    members = {one.entrant_id: one for one in conversation.members.all()}
    failed = [
        members[row.entrant_id]
        for row in rows
        if members[row.entrant_id].left_at is None and members[row.entrant_id].replaces_id is None
    ]
    if not failed:
        return []
    user = conversation.annotator.user_id
    own = own_entrants(conversation.campaign, [user] if user else [])
    free = entrants_available(conversation.campaign, without={*members, *own})
    turn_rng(turn, "reserve").shuffle(free)
    taken = []
    for member, number in zip(failed, free, strict=False):
        ConversationEntrant.objects.filter(pk=member.pk).update(left_at=now)
        ConversationEntrant.objects.create(conversation=conversation, entrant_id=number, replaces_id=member.entrant_id)
        taken.append(number)
    if not taken:
        return []
    left = {member.entrant_id for member in failed[: len(taken)]}
    seats = sorted({*(one for one, row in members.items() if row.left_at is None), *taken} - left)
    conversation.chatbot_set = "-".join(map(str, seats))
    conversation.save(update_fields=["chatbot_set"])
    turn.deadline = now + timedelta(seconds=conversation.campaign.live.turn_deadline_s)
    turn.save(update_fields=["deadline"])
    replies_request(turn, [seat for seat in seats_of(conversation) if seat.entrant in taken], messages_now(turn))
    return list(turn.replies.filter(entrant__in=taken).select_related("request__endpoint"))


def messages_now(turn: Turn) -> list[Message]:
    """Return what the chatbots of an open turn are sent: the whole history, and the annotator's message."""
    said = Utterance.objects.filter(turn=turn, speaker=Utterance.Speaker.USER).values_list("text", flat=True).get()
    return [*history_of(turn.conversation), Message("user", said)]


def turns_release(turns: Sequence[tuple[Turn, Sequence[TurnReply]]], now: datetime) -> None:
    """Show all replies of each turn at once in a random order, and issue the assignment to judge them.

    The caller writes the positions of the replies.
    """
    if not turns:
        return
    shown: list[tuple[int, TurnReply]] = []
    for turn, came in turns:
        order = list(came)
        turn_rng(turn, "order").shuffle(order)
        shown += enumerate(order)
    live = Reply.Origin.LIVE
    replies = rows_add([
        Reply(version_id=row.entrant.version_id, prompt=row.turn.prompt, text=None, sha256=None, origin=live)
        for _, row in shown
    ])  # fmt: skip
    for (position, row), reply in zip(shown, replies, strict=True):
        row.position, row.reply = position, reply
    assignments_issue(turns, Assignment.State.ISSUED, now)
    rows_add([
        Candidate(assignment=row.turn.assignment, position=position, entrant_id=row.entrant_id, reply=row.reply)
        for position, row in shown
    ])  # fmt: skip
    for turn, _ in turns:
        turn.state, turn.released_at = Turn.State.RELEASED, now
    rows_update([turn for turn, _ in turns], ["state", "released_at", "assignment"])


def turn_void(turn: Turn, came: Sequence[TurnReply], now: datetime) -> None:
    """End a turn that cannot be judged. It is paid, and counts for or against nobody."""
    assignments_issue([(turn, turn.replies.all())], Assignment.State.VOID, now)
    turn.state, turn.closed_at, turn.released_at = Turn.State.VOID, now, now
    turn.save(update_fields=["state", "closed_at", "released_at", "assignment"])
    if came:
        how = Continuation.How.ONLY if len(came) == 1 else Continuation.How.RANDOM_OF_NONE
        turn_continue(turn, how, reply=turn_rng(turn, "continuation").choice(sorted(came, key=lambda row: row.pk)))
    if turn.conversation.campaign.state == Campaign.State.STOPPED:
        batch_close_last(turn.conversation.campaign)


def assignments_issue(
    turns: Sequence[tuple[Turn, Iterable[TurnReply]]], state: Assignment.State, now: datetime
) -> None:
    """Create the assignment of each turn, with a place of its own."""
    items = [item_of(turn.prompt_id, [row.entrant_id for row in rows]) for turn, rows in turns]
    places = rows_add([
        Place(campaign=turn.conversation.campaign, prompt=turn.prompt, item=item)
        for (turn, _), item in zip(turns, items, strict=True)
    ])  # fmt: skip
    made = rows_add([_assignment(turn, place, state, now) for (turn, _), place in zip(turns, places, strict=True)])
    for (turn, _), assignment in zip(turns, made, strict=True):
        turn.assignment = assignment


def _assignment(turn: Turn, place: Place, state: Assignment.State, now: datetime) -> Assignment:
    conversation: Conversation = turn.conversation
    campaign = conversation.campaign
    live = campaign.live
    return Assignment(
        campaign=campaign,
        place=place,
        item=place.item,
        state=state,
        purpose=Assignment.Purpose.MEASURE if turn.counts else Assignment.Purpose.OPENING,
        source=Assignment.Source.LIVE,
        policy=conversation.policy,
        snapshot=conversation.snapshot,
        plan_seed=conversation.plan_seed,
        probability=conversation.probability,
        annotator_id=conversation.annotator_id,
        block=uuid.UUID(str(conversation.public_id)),
        block_position=turn.number,
        pay_rate=campaign.pay_rate if live.pay_per == live.PayPer.TURN else 0,
        currency=campaign.currency,
        issued_at=now,
        lease_until=now + timedelta(minutes=live.idle_minutes),
        closed_at=now if state == Assignment.State.VOID else None,
    )
