"""Progress of a conversation: turns done, and whether it may end."""

from collections.abc import Iterable, Sequence

from evalsite.dialogues.models import Conversation, Turn

DONE = (Turn.State.JUDGED, Turn.State.SKIPPED, Turn.State.VOID)


def turn_states(conversation: Conversation) -> list[str]:
    """Return the states of the turns in their order."""
    return list(conversation.turns.values_list("state", flat=True))


def turns_done(states: Iterable[str]) -> int:
    """Return the number of turns that count for the minimum: judged, skipped and void ones."""
    return sum(state in DONE for state in states)


def may_end(conversation: Conversation, states: Sequence[str]) -> bool:
    """Return whether a conversation with turns in these states may end now.

    It has its minimum of turns, or it cannot go on well: a chatbot failed in its last turn, or the campaign takes no
    messages.
    """
    if not conversation.campaign.collecting:
        return True
    failed = bool(states) and states[-1] == Turn.State.VOID
    return failed or turns_done(states) >= conversation.campaign.live.minimum_turns
