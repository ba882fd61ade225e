"""Progress of a conversation: turns done, and whether it may end."""

from evalsite.dialogues.models import Conversation, Turn

DONE = (Turn.State.JUDGED, Turn.State.SKIPPED, Turn.State.VOID)


def turns_done(conversation: Conversation) -> int:
    """Return the turns that count for the minimum: judged, skipped and void ones."""
    return conversation.turns.filter(state__in=DONE).count()


def may_end(conversation: Conversation) -> bool:
    """Return whether the conversation may end now.

    It has its minimum of turns, or it cannot go on well: a chatbot failed in its last turn, or the campaign takes no
    messages.
    """
    if not conversation.campaign.collecting:
        return True
    last = conversation.turns.order_by("-number").values_list("state", flat=True).first()
    return last == Turn.State.VOID or turns_done(conversation) >= conversation.campaign.live.minimum_turns
