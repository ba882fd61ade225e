"""Messages of annotators, and the calls that they cause."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict
from evalsite.core.row_writes import row_add, rows_update
from evalsite.dialogues.history import Transcript, TranscriptLine, history_in, transcript_of
from evalsite.dialogues.locking import conversation_lock, over_error
from evalsite.dialogues.models import LONGEST_MESSAGE, Conversation, Turn, Utterance
from evalsite.dialogues.replies import replies_request, seats_of, turns_settle
from evalsite.dialogues.texts import text_hmac, text_required
from evalsite.dialogues.turn_limits import turns_done
from evalsite.endpoints.adapters.base import Message
from evalsite.judgments.models import Annotator
from evalsite.prompts.models import Prompt


@dataclass(frozen=True, slots=True)
class PostedMessage:
    """The turn of a message. `created` False: the same message had been posted before.

    `transcript` is that of the conversation with this message; None if it is not known.
    """

    turn: Turn
    created: bool
    transcript: Transcript | None


def message_post(*, annotator: Annotator, conversation_id: uuid.UUID, text: str, key: str) -> PostedMessage:
    """Post a message and request the chatbots' replies. Nothing waits for a chatbot.

    `key` identifies the message: the same key with the same text returns the stored turn.

    - InvalidInput: the text is empty or longer than 4,000 characters.
    - Conflict: the conversation is over (`over`), a turn is open (`turn_open`), the maximum of turns is reached
      (`maximum_turns`), the campaign takes no more messages (`not_collecting`), or the key was used for another text
      (`message_key`).
    - NotFound: the annotator has no such conversation.
    """
    text = text_required(text, longest=LONGEST_MESSAGE, field="text")
    with write_transaction():
        conversation = conversation_lock(annotator, conversation_id)
        before = transcript_of(conversation)
        posted = next((turn for turn in before.turns if turn.message_key == key), None)
        if posted is not None:
            _check_same(conversation, posted, text)
            return PostedMessage(posted, created=False, transcript=before)
        _check_may_post(conversation, [turn.state for turn in before.turns])
        turn = _turn(conversation, len(before.turns) + 1, text, key)
        seats = seats_of(conversation)
        replies_request(turn, seats, [*history_in(before.lines), Message("user", text)])
        if not all(seat.is_called for seat in seats):
            turns_settle([turn])
            return PostedMessage(turn, created=True, transcript=None)
    said = TranscriptLine(turn.number, turn.state, Utterance.Speaker.USER, text, None)
    return PostedMessage(turn, created=True, transcript=Transcript([*before.turns, turn], [*before.lines, said]))


def _check_same(conversation: Conversation, posted: Turn, text: str) -> None:
    said = posted.utterances.filter(speaker=Utterance.Speaker.USER).values_list("text", flat=True).first()
    if conversation.erased_at is None and said != text:
        raise Conflict(
            _("Another message was sent under this key."),
            hint=_("Use a new Idempotency-Key for each message."),
            code="message_key",
        )


def _check_may_post(conversation: Conversation, states: Sequence[str]) -> None:
    campaign = conversation.campaign
    if conversation.state != Conversation.State.OPEN:
        raise over_error()
    if not campaign.collecting:
        raise Conflict(
            _("The campaign is %(state)s: it takes no messages now.") % {"state": campaign.state_text},
            hint=_("End the conversation, or come back later."),
            code="not_collecting",
        )
    if any(state in Turn.OPEN for state in states):
        raise Conflict(
            _("The last message is not finished: its replies are awaited, or not judged yet."),
            hint=_("Judge the replies first. This message was not sent."),
            code="turn_open",
        )
    most = campaign.live.maximum_turns
    if most is not None and turns_done(states) >= most:
        raise Conflict(
            _("This conversation has its maximum of %(count)s turns.") % {"count": most},
            hint=_("End it."),
            code="maximum_turns",
        )


def _turn(conversation: Conversation, number: int, text: str, key: str) -> Turn:
    now, live = timezone.now(), conversation.campaign.live
    prompt = Prompt(
        prompt_set_id=conversation.campaign.prompt_set_id,
        key=f"{conversation.public_id}:{number}",
        turns=None,
        origin=Prompt.Origin.LIVE,
    )
    turn = Turn(
        conversation=conversation,
        number=number,
        message_key=key,
        counts=number > 1 or live.count_first_turn,
        prompt=row_add(prompt),
        deadline=now + timedelta(seconds=live.turn_deadline_s),
    )
    row_add(turn)
    (hashed,) = text_hmac(conversation, text)
    said = Utterance(conversation=conversation, turn=turn, speaker=Utterance.Speaker.USER, text=text, hmac=hashed)
    row_add(said)
    conversation.active_at = now
    rows_update([conversation], ["active_at"])
    return turn
