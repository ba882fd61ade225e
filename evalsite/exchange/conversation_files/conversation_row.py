"""One conversation of a file: an object in the project's own layout, checked field by field."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

from evalsite.exchange.conversation_files.layouts import Row
from evalsite.exchange.conversation_files.problems import RowProblem
from evalsite.exchange.conversation_files.values import (
    RatingScale,
    identifier,
    moment,
    optional_identifier,
    probability,
    rater_group,
)
from evalsite.exchange.errors import quoted
from evalsite.scorecards.conversations import ConversationRating, ScoredConversation, ScoredTurn, Speaker

MAX_TURNS = 10_000
_SPEAKERS = dict.fromkeys(("user", "human"), Speaker.USER) | dict.fromkeys(
    ("chatbot", "bot", "socialbot", "system", "assistant"), Speaker.CHATBOT
)


def conversation_of(row: Row, scale: RatingScale) -> ScoredConversation:
    """Return the conversation of a row. Raises RowProblem."""
    conversation_id = identifier("conversation_id", row.get("conversation_id"))
    chatbot = identifier("chatbot", row.get("chatbot"))
    turns = _turns(row.get("turns"), chatbot)
    started_at, ended_at = moment("started_at", row.get("started_at")), moment("ended_at", row.get("ended_at"))
    _refuse_backward_times(started_at, turns, ended_at)
    user_id = optional_identifier("user_id", row.get("user_id"))
    return ScoredConversation(
        conversation_id=conversation_id,
        chatbot=chatbot,
        turns=turns,
        user_id=user_id,
        started_at=started_at,
        ended_at=ended_at,
        assignment_probability=probability("assignment_probability", row.get("assignment_probability")),
        ratings=_ratings(row, conversation_id, chatbot, user_id, scale),
        feedback=_text("feedback", row.get("feedback") or ""),
    )


def _turns(value: object, chatbot: str) -> tuple[ScoredTurn, ...]:
    if not isinstance(value, list) or not value:
        raise RowProblem("turns", "there are no turns", "Give a list of {speaker, text}, or remove the conversation.")
    if len(value) > MAX_TURNS:
        raise RowProblem(
            "turns",
            f"{len(value):,} turns are more than {MAX_TURNS:,}",
            "Check whether several conversations were joined, and split them.",
        )
    turns = tuple(_turn(f"turns[{position}]", one, chatbot) for position, one in enumerate(value))
    speakers = {turn.speaker for turn in turns}
    if len(speakers) == 1:
        silent = next(speaker for speaker in Speaker if speaker not in speakers)
        raise RowProblem("turns", f"the {silent} says nothing", "A conversation needs turns of user and chatbot.")
    return turns


def _turn(field: str, value: object, chatbot: str) -> ScoredTurn:
    if not isinstance(value, dict):
        raise RowProblem(field, "is not an object", 'A turn looks like {"speaker": "user", "text": "hello"}.')
    name = str(value.get("speaker") or "").strip().lower()
    speaker = _SPEAKERS.get(name) or (Speaker.CHATBOT if name == chatbot.lower() else None)
    if speaker is None:
        hint = f"Use user or chatbot. The chatbot of this conversation is {quoted(chatbot)}."
        raise RowProblem(f"{field}.speaker", f"{quoted(name)} is unknown", hint)
    other = value.get("chatbot")
    if other is not None and str(other) != chatbot:
        raise RowProblem(
            f"{field}.chatbot",
            f"{quoted(str(other))} is another chatbot than {quoted(chatbot)}",
            "A conversation has one chatbot. Split it into conversations.",
        )
    return ScoredTurn(speaker, _text(f"{field}.text", value.get("text")), moment(f"{field}.at", value.get("at")))


def _text(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise RowProblem(field, "is not a text", "Give a text in quotation marks.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise RowProblem(field, "holds half of a surrogate pair", "Save the file as text in UTF-8.") from None
    return value


def _refuse_backward_times(started_at: datetime | None, turns: Sequence[ScoredTurn], ended_at: datetime | None) -> None:
    times = [
        ("started_at", started_at),
        *((f"turns[{position}].at", turn.at) for position, turn in enumerate(turns)),
        ("ended_at", ended_at),
    ]
    known = [(field, at) for field, at in times if at is not None]
    for (before, earlier), (field, later) in pairwise(known):
        if later < earlier:
            raise RowProblem(field, f"{later.isoformat()} is before {before}", "Correct the times, or leave them out.")


def _ratings(
    row: Row, conversation_id: str, chatbot: str, user_id: str | None, scale: RatingScale
) -> tuple[ConversationRating, ...]:
    given = row.get("ratings")
    if given is not None and not isinstance(given, list):
        raise RowProblem("ratings", "is not a list", "Give a list of {criterion, value}, or use `rating` for one.")
    rows: list[tuple[str, object]] = [(f"ratings[{position}]", one) for position, one in enumerate(given or [])]
    if row.get("rating") is not None:
        rows.insert(0, ("rating", {"value": row["rating"]}))
    found = []
    for field, one in rows:
        if not isinstance(one, dict):
            raise RowProblem(field, "is not an object", 'A rating looks like {"criterion": "rating", "value": 4}.')
        found.append(_rating(field, one, conversation_id, chatbot, user_id, scale))
    return tuple(found)


def _rating(
    field: str, value: Row, conversation_id: str, chatbot: str, user_id: str | None, scale: RatingScale
) -> ConversationRating:
    default = scale.criterion if field == "rating" and scale.criterion is not None else "rating"
    criterion = optional_identifier(f"{field}.criterion", value.get("criterion")) or default
    group = rater_group(f"{field}.group", value.get("group"))
    rater = optional_identifier(f"{field}.user_id", value.get("user_id"))
    return ConversationRating(
        conversation_id=conversation_id,
        chatbot=chatbot,
        criterion=criterion,
        value=scale.checked(field if field == "rating" else f"{field}.value", criterion, value.get("value")),
        group=group,
        user_id=rater or (user_id if group == "user" else None),
        at=moment(f"{field}.at", value.get("at")),
    )
