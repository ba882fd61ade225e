"""Values of the fields of conversations: checked, or refused with field and hint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from evalsite.exchange.conversation_files.problems import RowProblem
from evalsite.exchange.errors import quoted
from evalsite.scorecards.conversations import ConversationRating, RaterGroup

MAIN_CRITERIA = frozenset({"rating", "overall"})
MAX_ID = 200  # Characters.


@dataclass(frozen=True, slots=True)
class RatingScale:
    """Which criterion is the rating of a conversation, and its scale.

    criterion: None stands for `rating` or `overall`.
    """

    criterion: str | None = None
    low: float = 1
    high: float = 5

    def covers(self, criterion: str) -> bool:
        return criterion == self.criterion if self.criterion is not None else criterion in MAIN_CRITERIA

    def checked(self, field: str, criterion: str, value: object) -> float:
        rating = number(field, value)
        if self.covers(criterion) and not self.low <= rating <= self.high:
            raise RowProblem(
                field,
                f"{rating:g} is not between {self.low:g} and {self.high:g}",
                "Correct the rating, or give the scale of the file with --scale.",
            )
        return rating


def identifier(field: str, value: object) -> str:
    """Return a required ID or name; numbers become text."""
    text = optional_identifier(field, value)
    if text is None:
        raise RowProblem(field, "is missing", f"Give each row a {field}.")
    return text


def optional_identifier(field: str, value: object) -> str | None:
    if isinstance(value, list):
        raise RowProblem(
            field, f"holds {len(value)} values", f"A conversation has one {field}. Split it into conversations."
        )
    if isinstance(value, dict | bool):
        raise RowProblem(field, "is not a text", "Put it into quotation marks.")
    text = "" if value is None else str(value).strip()
    if len(text) > MAX_ID:
        raise RowProblem(field, f"is longer than {MAX_ID} characters", "Shorten it.")
    return text or None


def number(field: str, value: object) -> float:
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found = float(value)
        if not math.isfinite(found):
            raise ValueError
    except (ValueError, OverflowError):
        raise RowProblem(field, f"{quoted(str(value))} is not a number", "Give a number such as 4.") from None
    return found


def moment(field: str, value: object) -> datetime | None:
    """Return a time: ISO 8601, or seconds since 1970. Times without a zone are taken as UTC."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
        return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        raise RowProblem(
            field, f"{quoted(str(value))} is not a time", "Use ISO 8601, such as 2026-05-01T12:30:00Z."
        ) from None


def rater_group(field: str, value: object) -> RaterGroup:
    if value is None or value == "":
        return RaterGroup.USER
    try:
        return RaterGroup(str(value).strip().lower())
    except ValueError:
        raise RowProblem(
            field, f"{quoted(str(value))} is not a group of raters", "Use user, evaluator or third_party."
        ) from None


def probability(field: str, value: object) -> float | None:
    if value is None or value == "":
        return None
    found = number(field, value)
    if not 0 < found <= 1:
        raise RowProblem(field, f"{found:g} is not a probability", "Give a number above 0 and up to 1.")
    return found


def main_ratings(
    ratings: Sequence[ConversationRating], scale: RatingScale
) -> tuple[list[ConversationRating], list[str]]:
    """Return the ratings of the criterion that is the rating, and a warning if there are others only."""
    main = [one for one in ratings if scale.covers(one.criterion)]
    others = sorted({one.criterion for one in ratings if not scale.covers(one.criterion)})
    if ratings and not main:
        return main, [f"No rating has the criterion. Choose one with --criterion: {', '.join(others)}."]
    return main, []
