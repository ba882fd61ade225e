"""Readers of ratings of conversations, and of labels of their turns: CSV or JSON lines, plain or gzipped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from evalsite.exchange.conversation_files.problems import ConversationFileError, ConversationProblem, RowProblem
from evalsite.exchange.conversation_files.values import (
    RatingScale,
    identifier,
    moment,
    number,
    optional_identifier,
    rater_group,
)
from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.file_opening import Progress, open_source
from evalsite.exchange.record_reading import Record, Records
from evalsite.scorecards.conversations import ConversationRating, RaterGroup, ScoredConversation, TurnLabel

ERRONEOUS = frozenset({"incorrect", "irrelevant", "inappropriate"})
COHERENT = frozenset({"correct", "weakly related"})
_ALIASES = {
    "conversation_id": ("conversation_id", "prompt_id"),
    "chatbot": ("chatbot", "system"),
    "user_id": ("user_id", "annotator_id"),
    "value": ("value", "rating", "label"),
    "at": ("at", "timestamp"),
}
_OF_CONVERSATIONS = (b"turns", b"messages", b"text", b"dialogue_dicts")

Conversations = Mapping[str, ScoredConversation]
Found = TypeVar("Found", ConversationRating, TurnLabel)


def read_ratings(
    path: Path | str, conversations: Conversations, *, scale: RatingScale, progress: Progress | None = None
) -> tuple[tuple[ConversationRating, ...], tuple[str, ...]]:
    """Return the ratings of whole conversations in a file, and warnings. Rows with a `turn` are passed over.

    Columns: conversation_id (or prompt_id), value (or rating); optionally chatbot (or system), user_id (or
    annotator_id), criterion, group, at (or timestamp).

    Raises ConversationFileError with every problem of the file.
    """

    def rating(row: _Row) -> ConversationRating | None:
        if row.cell("turn"):
            return None
        subject = row.subject()
        criterion = row.cell("criterion") or "rating"
        value = scale.checked(row.column("value"), criterion, row.cell("value"))
        if subject is None:
            return None
        user_id = optional_identifier(row.column("user_id"), row.cell("user_id"))
        group, at = rater_group("group", row.cell("group")), moment(row.column("at"), row.cell("at"))
        return ConversationRating(*subject, criterion, value, group, user_id, at)

    return _read(Path(path), conversations, ("conversation_id", "value"), rating, progress)


def read_turn_labels(
    path: Path | str,
    conversations: Conversations,
    *,
    criterion: str | None = None,
    error_below: float = 1,
    progress: Progress | None = None,
) -> tuple[tuple[TurnLabel, ...], tuple[str, ...]]:
    """Return the labels of replies in a file, and warnings. Rows without a `turn` are passed over.

    Columns: conversation_id (or prompt_id), turn (n-th reply of the chatbot, from 1), label (or value, rating);
    optionally chatbot (or system), criterion. A label is `correct`, `weakly related`, or one of the errors `incorrect`,
    `irrelevant` and `inappropriate`; or a number, which is an error below `error_below`.

    Raises ConversationFileError with every problem of the file.
    """
    criteria: set[str] = set()

    def label(row: _Row) -> TurnLabel | None:
        about = row.cell("criterion")
        if not row.cell("turn") or (criterion is not None and about != criterion):
            return None
        criteria.add(about)
        if len(criteria) > 1:
            hint = "Choose one with --label-criterion."
            raise RowProblem("criterion", f"the labels have several criteria ({listed(sorted(criteria))})", hint)
        erroneous = _is_error(row.column("value"), row.cell("value"), error_below)
        turn, subject = _turn_number(row.cell("turn")), row.subject()
        if subject is None:
            return None
        _refuse_unknown_turn(turn, conversations.get(subject[0]))
        return TurnLabel(*subject, turn, erroneous)

    return _read(Path(path), conversations, ("conversation_id", "value", "turn"), label, progress)


@dataclass(frozen=True, slots=True)
class RatingRow:
    """A row of a file of ratings: a number, or the label of the n-th reply (`turn`)."""

    conversation_id: str
    chatbot: str
    criterion: str
    turn: int | None
    value: float | None
    label: str
    group: RaterGroup
    user_id: str | None
    at: datetime | None


def is_rating_file(path: Path) -> bool:
    """Return whether the first row has a value and no turns, so that it is a rating and no conversation."""
    try:
        with open_source(path) as source:
            head = source.head().lstrip()
            if head.startswith(b"{") and any(b'"%s"' % name in head for name in _OF_CONVERSATIONS):
                return False
            record = next(iter(Records(source)), None)
    except FormatError:
        return False
    return record is not None and any(name in record.values for name in _ALIASES["value"])


def rating_rows(
    path: Path, *, scale: RatingScale, progress: Progress | None = None
) -> Iterator[tuple[int, RatingRow | ConversationProblem]]:
    """Yield each row of a file of ratings and labels, or the row's problem. Columns: as in the two readers above."""
    problems: list[ConversationProblem] = []
    for row, record in _records(path, progress, problems):
        try:
            if row == 1:
                _refuse_missing_columns(record, ("conversation_id", "value"))
            yield row, _rating_row(_Row(record, {}, {}), scale)
        except RowProblem as problem:
            yield row, problem.in_row(row)
            if problem.field == "":
                return
    yield from ((0, problem) for problem in problems)


def _rating_row(row: _Row, scale: RatingScale) -> RatingRow:
    text, criterion = row.cell("value"), row.cell("criterion")
    turn = _turn_number(row.cell("turn")) if row.cell("turn") else None
    is_word = turn is not None and text.lower() in ERRONEOUS | COHERENT
    if turn is None:
        value: float | None = scale.checked(row.column("value"), criterion or "rating", text)
    else:
        value = None if is_word else number(row.column("value"), text)
    return RatingRow(
        identifier(row.column("conversation_id"), row.cell("conversation_id")),
        row.cell("chatbot"),
        criterion or ("rating" if turn is None else "label"),
        turn,
        value,
        text.lower().replace("_", " ") if is_word else "",
        rater_group("group", row.cell("group")),
        optional_identifier(row.column("user_id"), row.cell("user_id")),
        moment(row.column("at"), row.cell("at")),
    )


class _Row:
    """A row with the file's names of its columns, and the conversation that it is about."""

    def __init__(self, record: Record, conversations: Conversations, apart: dict[str, int]) -> None:
        self._values = record.values
        self._conversations = conversations
        self._chatbots = apart

    def column(self, field: str) -> str:
        return next((name for name in _ALIASES.get(field, (field,)) if name in self._values), field)

    def cell(self, field: str) -> str:
        return self._values.get(self.column(field), "").strip()

    def subject(self) -> tuple[str, str] | None:
        """Return conversation and chatbot; None if the file of conversations does not have this chatbot."""
        conversation_id = identifier(self.column("conversation_id"), self.cell("conversation_id"))
        chatbot = self.cell("chatbot")
        known = self._conversations.get(conversation_id)
        if known is not None:
            if chatbot and chatbot != known.chatbot:
                message = f"{quoted(chatbot)} is not the chatbot of the conversation ({quoted(known.chatbot)})"
                raise RowProblem(self.column("chatbot"), message, "Correct the row, or the conversation.")
            return conversation_id, known.chatbot
        if not chatbot:
            message = f"{quoted(conversation_id)} is not in the file of conversations"
            raise RowProblem(self.column("conversation_id"), message, "Add the conversation, or a column chatbot.")
        self._chatbots[chatbot] = self._chatbots.get(chatbot, 0) + 1
        return conversation_id, chatbot


def _read(
    path: Path,
    conversations: Conversations,
    required: tuple[str, ...],
    parse: Callable[[_Row], Found | None],
    progress: Progress | None,
) -> tuple[tuple[Found, ...], tuple[str, ...]]:
    apart: dict[str, int] = {}
    chatbots = {one.chatbot for one in conversations.values()}
    found: list[Found] = []
    problems: list[ConversationProblem] = []
    for row, record in _records(path, progress, problems):
        try:
            if row == 1:
                _refuse_missing_columns(record, required)
            parsed = parse(_Row(record, conversations, apart))
            if parsed is not None and parsed.chatbot in chatbots:
                found.append(parsed)
        except RowProblem as problem:
            problems.append(problem.in_row(row))
            if problem.field in ("", "criterion"):
                break
    if problems:
        raise ConversationFileError(path, problems)
    return tuple(found), tuple(_warnings(path, apart, chatbots))


def _records(
    path: Path, progress: Progress | None, problems: list[ConversationProblem]
) -> Iterator[tuple[int, Record]]:
    records: Records | None = None
    try:
        with open_source(path, progress=progress) as source:
            records = Records(source)
            for record in records:
                yield record.row, record
    except FormatError as problem:
        hint = "" if problem.code == "empty_file" else problem.hint
        problems.append(ConversationProblem(records.row if records else None, "", problem.message, hint))


def _refuse_missing_columns(record: Record, required: tuple[str, ...]) -> None:
    for field in required:
        names = _ALIASES.get(field, (field,))
        if not any(name in record.values for name in names):
            hint = f"Add one of the columns {listed(names)}." if len(names) > 1 else f"Add a column {field}."
            raise RowProblem("", f"there is no column {field}", hint)


def _warnings(path: Path, apart: dict[str, int], chatbots: set[str]) -> Iterator[str]:
    known = {name: count for name, count in apart.items() if name in chatbots}
    unknown = {name: count for name, count in apart.items() if name not in chatbots}
    if known:
        yield (
            f"{path.name}: {sum(known.values()):,} rows are about conversations that are not in the file of "
            "conversations. They are counted by their chatbot."
        )
    if unknown:
        yield (
            f"{path.name}: {sum(unknown.values()):,} rows about chatbots without conversations are not counted "
            f"({listed(sorted(unknown), most=5)})."
        )


def _is_error(field: str, value: str, error_below: float) -> bool:
    word = value.lower()
    if word in ERRONEOUS or word in COHERENT:
        return word in ERRONEOUS
    try:
        return number(field, value) < error_below
    except RowProblem:
        names = ", ".join(sorted((ERRONEOUS | COHERENT) - {"weakly related"}))
        raise RowProblem(field, f"{quoted(value)} is not a label", f"Use {names} or a number.") from None


def _turn_number(value: str) -> int:
    found = number("turn", value)
    if found < 1 or found != int(found):
        raise RowProblem("turn", f"{quoted(value)} is not the number of a reply", "Count the chatbot's replies from 1.")
    return int(found)


def _refuse_unknown_turn(turn: int, conversation: ScoredConversation | None) -> None:
    if conversation is not None and turn > conversation.reply_count:
        message = f"{turn} is beyond the {conversation.reply_count} replies of the conversation"
        raise RowProblem("turn", message, "Count the chatbot's replies from 1.")
