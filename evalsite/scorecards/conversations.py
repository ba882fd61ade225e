"""Conversations with their ratings and turn labels, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

ERRORS = frozenset({"incorrect", "irrelevant", "inappropriate"})  # labels of replies


class Speaker(StrEnum):
    USER = "user"
    CHATBOT = "chatbot"


class RaterGroup(StrEnum):
    """Who rates: users of the chatbot, evaluators who are asked to judge engagement, or readers of the transcript."""

    USER = "user"
    EVALUATOR = "evaluator"
    THIRD_PARTY = "third_party"


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """One utterance."""

    speaker: Speaker
    text: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ConversationRating:
    """A rating of a whole conversation.

    `user_id` is None for an unknown rater. Such ratings are clustered by conversation.
    """

    conversation_id: str
    chatbot: str
    criterion: str
    value: float
    group: RaterGroup = RaterGroup.USER
    user_id: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TurnLabel:
    """One annotator's label of a chatbot's reply: the n-th of its conversation, from 1."""

    conversation_id: str
    chatbot: str
    turn: int
    erroneous: bool


@dataclass(frozen=True, slots=True)
class ScoredConversation:
    """A conversation of one user with one chatbot.

    `assignment_probability` is the probability with which this chatbot was assigned to the user; None if not logged.
    """

    conversation_id: str
    chatbot: str
    turns: tuple[ScoredTurn, ...]
    user_id: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    assignment_probability: float | None = None
    ratings: tuple[ConversationRating, ...] = ()
    feedback: str = ""

    @property
    def reply_count(self) -> int:
        """Number of the chatbot's replies."""
        return sum(turn.speaker is Speaker.CHATBOT for turn in self.turns)

    @property
    def response_times_s(self) -> list[float]:
        """Return the seconds from each message of the user to the reply of the chatbot, as far as times are known."""
        return [
            (now.at - before.at).total_seconds()
            for before, now in pairwise(self.turns)
            if now.speaker is Speaker.CHATBOT
            and before.speaker is Speaker.USER
            and before.at is not None
            and now.at is not None
        ]

    @property
    def duration_s(self) -> float | None:
        """Seconds from the start to the end, by the conversation's times or else by those of its turns."""
        times = [turn.at for turn in self.turns if turn.at is not None]
        start = self.started_at or (times[0] if len(times) > 1 else None)
        end = self.ended_at or (times[-1] if len(times) > 1 else None)
        return (end - start).total_seconds() if start is not None and end is not None else None
