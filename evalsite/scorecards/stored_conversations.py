"""Conversations and their rows in the database: each converted to the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from evalsite.core.tokens import keyed_hashes
from evalsite.scorecards.conversations import ConversationRating, RaterGroup, ScoredConversation, ScoredTurn, Speaker
from evalsite.scorecards.models import ConversationSet, ImportedConversation, ImportedRating

RATING_FIELDS = ("conversation__key", "conversation__chatbot", "criterion", "value", "group", "user_key", "at")
_CHUNK = 2_000


def digest(conversation: ScoredConversation) -> str:
    """Return 32 hexadecimal digits of all values of a conversation."""
    return hashlib.sha256(repr(conversation).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def row_of(conversation: ScoredConversation, conversation_set: ConversationSet) -> ImportedConversation:
    """Return an unsaved row."""
    return ImportedConversation(
        conversation_set=conversation_set,
        key=conversation.conversation_id,
        chatbot=conversation.chatbot,
        user_key=conversation.user_id or "",
        started_at=conversation.started_at,
        ended_at=conversation.ended_at,
        probability=conversation.assignment_probability,
        turns=[
            [turn.speaker.value, turn.text, turn.at.timestamp() if turn.at else None] for turn in conversation.turns
        ],
        replies=conversation.reply_count,
        feedback=conversation.feedback,
        digest=digest(conversation),
    )


def rating_rows(conversation: ScoredConversation, row: ImportedConversation) -> Iterator[ImportedRating]:
    """Yield unsaved rows of the ratings inside a conversation."""
    for number, one in enumerate(conversation.ratings, start=1):
        yield ImportedRating(
            conversation=row,
            row=number,
            criterion=one.criterion,
            value=one.value,
            group=one.group.value,
            user_key=one.user_id or "",
            at=one.at,
        )


def conversation_of(row: ImportedConversation) -> ScoredConversation:
    """Return the conversation of a row, without its ratings."""
    turns = tuple(
        ScoredTurn(Speaker(speaker), text, datetime.fromtimestamp(at, UTC) if at is not None else None)
        for speaker, text, at in row.turns
    )
    return ScoredConversation(
        row.key,
        row.chatbot,
        turns,
        row.user_key or None,
        row.started_at,
        row.ended_at,
        row.probability,
        (),
        row.feedback,
    )


def rating_of(
    key: str, chatbot: str, criterion: str, value: float, group: str, user_key: str, at: datetime | None
) -> ConversationRating:
    """Return the rating of a row by its `RATING_FIELDS`."""
    return ConversationRating(key, chatbot, criterion, value, RaterGroup(group), user_key or None, at)


def rows_of(conversation_set: ConversationSet) -> Iterator[ImportedConversation]:
    """Yield the rows of a set, a few at a time in memory."""
    yield from ImportedConversation.objects.filter(conversation_set=conversation_set).order_by("pk").iterator(_CHUNK)


def user_hashes(conversation_set: ConversationSet, user_id: str) -> list[str]:
    """Return the keyed hashes by which an erased user is recognised, the present one first."""
    return keyed_hashes(f"{conversation_set.public_id}:{user_id}", purpose="evalsite.scorecards.ErasedUser")


def erased_among(conversation_set: ConversationSet, users: Iterable[str]) -> frozenset[str]:
    """Return those of the users who were erased from the set."""
    erased = set(conversation_set.erased_users.values_list("hmac", flat=True))
    if not erased:
        return frozenset()
    return frozenset(user for user in users if erased.intersection(user_hashes(conversation_set, user)))
