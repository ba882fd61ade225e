"""Locks of conversations. A conversation is locked before everything that belongs to it."""

import uuid
from collections.abc import Iterable

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from evalsite.core.composed import composed
from evalsite.core.errors import Conflict, NotFound
from evalsite.dialogues.models import Conversation, Turn
from evalsite.judgments.models import Annotator


def conversation_lock(annotator: Annotator, conversation_id: uuid.UUID) -> Conversation:
    """Lock and return the annotator's conversation. Raises NotFound, also for those of others."""
    found = _own(conversation_id, annotator.pk)
    if not found:
        raise NotFound(_("You have no such conversation."), hint=_("Start one."), field="conversation")
    return found[0]


def turn_lock(annotator: Annotator, turn_id: uuid.UUID) -> Turn:
    """Lock the conversation of the annotator's turn, and return the turn. Raises NotFound."""
    conversations = _own_by_turn(turn_id, annotator.pk)
    if not conversations:
        raise NotFound(_("You have no such turn."), hint=_("Read the conversation again."), field="turn")
    (turn,) = _turn(turn_id)
    turn.conversation = conversations[0]
    return turn


def conversations_lock(numbers: Iterable[int]) -> list[Conversation]:
    """Lock and return these conversations (keys) in one order."""
    return _by_key(list(numbers))


@composed
def _own(public_id: uuid.UUID, annotator: int) -> QuerySet[Conversation, Conversation]:
    return _locked().filter(public_id=public_id, annotator=annotator)


@composed
def _own_by_turn(turn_id: uuid.UUID, annotator: int) -> QuerySet[Conversation, Conversation]:
    return _locked().filter(turns__public_id=turn_id, annotator=annotator)


@composed
def _turn(turn_id: uuid.UUID) -> QuerySet[Turn, Turn]:
    return Turn.objects.select_related("assignment", "prompt").filter(public_id=turn_id).order_by()


@composed
def _by_key(numbers: list[int]) -> QuerySet[Conversation, Conversation]:
    return _locked().filter(pk__in=numbers).order_by("pk")


def _locked() -> QuerySet[Conversation]:
    rows = Conversation.objects.select_related("campaign__live", "key")
    return rows.select_for_update(of=("self",), no_key=True)


def over_error() -> Conflict:
    """Return the error for an action on a conversation that has ended."""
    return Conflict(_("This conversation has ended."), hint=_("Start another one, if there is one."), code="over")
