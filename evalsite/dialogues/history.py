"""What was said in a conversation, as it went on, and the drawing of random continuations."""

import random

from evalsite.dialogues.models import Continuation, Conversation, Turn, TurnReply, Utterance
from evalsite.dialogues.texts import text_hmac
from evalsite.endpoints.adapters.base import Message


def history_of(conversation: Conversation) -> list[Message]:
    """Return the messages that all chatbots see: of the turns that went on, in their order."""
    went_on = Utterance.objects.filter(conversation=conversation, turn__continuation__isnull=False)
    rows = went_on.order_by("turn__number", "pk").values_list("speaker", "text")
    return [Message("user" if speaker == Utterance.Speaker.USER else "assistant", text) for speaker, text in rows]


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
    row = Continuation.objects.create(turn=turn, how=how, reply=reply, seed=conversation.seed if drawn else None)
    (hashed,) = text_hmac(conversation, text)
    Utterance.objects.create(
        conversation=conversation, turn=turn, speaker=Utterance.Speaker.CHATBOT, text=text, hmac=hashed
    )
    return row
