"""What was said in a conversation, as it went on, and the drawing of random continuations."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from evalsite.core.composed import composed
from evalsite.core.row_writes import row_add
from evalsite.dialogues.models import Continuation, Conversation, Turn, TurnReply, Utterance
from evalsite.dialogues.texts import text_hmac
from evalsite.endpoints.adapters.base import Message


class TranscriptLine(NamedTuple):
    """An utterance with the number and the state of its turn. `how` says how the turn went on; None before."""

    number: int
    state: str
    speaker: str
    text: str
    how: str | None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a conversation and what was said in them, in their order."""

    turns: list[Turn]
    lines: list[TranscriptLine]


def transcript_of(conversation: Conversation) -> Transcript:
    """Read the turns of a conversation, and then what was said in them."""
    turns = _turns(conversation.pk)
    for turn in turns:
        turn.conversation = conversation
    return Transcript(turns, [TranscriptLine(*line) for line in _lines(conversation.pk)])


@composed
def _turns(conversation: int) -> QuerySet[Turn, Turn]:
    return Turn.objects.filter(conversation=conversation).order_by("number")


@composed
def _lines(conversation: int) -> QuerySet[Utterance, Any]:
    said = Utterance.objects.filter(conversation=conversation).order_by("turn__number", "pk")
    return said.values_list("turn__number", "turn__state", "speaker", "text", "turn__continuation__how")


def history_of(conversation: Conversation) -> list[Message]:
    """Return the messages that all chatbots see: of the turns that went on, in their order."""
    return history_in(transcript_of(conversation).lines)


def history_in(lines: Iterable[TranscriptLine]) -> list[Message]:
    """Return the messages of these lines that all chatbots see."""
    went_on = [line for line in lines if line.how is not None]
    return [Message("user" if line.speaker == Utterance.Speaker.USER else "assistant", line.text) for line in went_on]


@composed
def replies_shown(turn: int) -> QuerySet[TurnReply, TurnReply]:
    """Return the released replies of a turn (its key), in the order in which they are shown."""
    return TurnReply.objects.filter(turn=turn).shown()


def turn_rng(turn: Turn, what: str) -> random.Random:
    """Return the random generator of one decision about a turn. The conversation's seed makes it repeatable."""
    return random.Random(f"{turn.conversation.seed}:{turn.number}:{what}")  # noqa: S311  a draw, not a secret


def turn_continue(
    turn: Turn, how: Continuation.How, *, reply: TurnReply | None = None, written: str = ""
) -> Continuation:
    """Write how a turn went on, and the reply that all chatbots see from now on."""
    conversation = turn.conversation
    text = written if reply is None else reply.text
    drawn = how in {Continuation.How.RANDOM_OF_SELECTED, Continuation.How.RANDOM_OF_NONE}
    row = Continuation(turn=turn, how=how, reply=reply, seed=conversation.seed if drawn else None)
    (hashed,) = text_hmac(conversation, text)
    said = Utterance(conversation=conversation, turn=turn, speaker=Utterance.Speaker.CHATBOT, text=text, hmac=hashed)
    row_add(said)
    return row_add(row)
