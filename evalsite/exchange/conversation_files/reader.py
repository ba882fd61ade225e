"""Reader of files of conversations: JSON lines, plain or gzipped.

Every row is checked before anything is returned. So a file is read as a whole, or refused with all its problems.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from evalsite.exchange.conversation_files.conversation_row import conversation_of
from evalsite.exchange.conversation_files.layouts import Row, native_rows
from evalsite.exchange.conversation_files.problems import ConversationFileError, ConversationProblem, RowProblem
from evalsite.exchange.conversation_files.values import RatingScale
from evalsite.exchange.errors import FormatError, quoted
from evalsite.exchange.file_opening import BUFFER, OpenedFile, Progress, open_source
from evalsite.scorecards.conversations import ScoredConversation

MAX_LINE = 16_000_000  # Bytes of one conversation.
NO_CONVERSATIONS = ConversationProblem(None, "", "has no conversations", "Give one conversation in each line.")


@dataclass(frozen=True, slots=True)
class ConversationFile:
    """The conversations of a file, and how many rows repeat another row word by word."""

    path: Path
    conversations: tuple[ScoredConversation, ...]
    repeats: int


def read_conversations(
    path: Path | str, *, scale: RatingScale | None = None, progress: Progress | None = None
) -> ConversationFile:
    """Return the conversations of a file.

    Parameters
    ----------
    path
        JSON lines in the project's own layout, or in one that `layouts` knows; plain or gzipped.
    scale
        Which criterion is the rating, and its scale; by default `rating` or `overall`, 1 to 5.
    progress
        Called with the bytes read and the size of the file.

    Raises
    ------
    ConversationFileError
        With every problem of the file. Nothing is read by half.
    """
    path, reading = Path(path), _Reading()
    for row, found in conversation_rows(path, scale=scale, progress=progress):
        reading.take(row, found)
    if not reading.problems and not reading.found:
        reading.problems.append(NO_CONVERSATIONS)
    if reading.problems:
        raise ConversationFileError(path, reading.problems)
    return ConversationFile(path, tuple(one for _, one in reading.found.values()), reading.repeats)


def conversation_rows(
    path: Path | str, *, scale: RatingScale | None = None, chatbot: str = "", progress: Progress | None = None
) -> Iterator[tuple[int, ScoredConversation | ConversationProblem]]:
    """Yield each conversation of a file with its row, or the row's problem. Only one row is in memory.

    chatbot: of rows that name none. A problem of the whole file ends the rows.
    """
    scale, row = scale or RatingScale(), 0
    try:
        with open_source(Path(path), progress=progress) as source:
            for row, line in enumerate(_lines(source), start=1):
                yield from _in_row(row, line, scale, chatbot)
    except FormatError as problem:
        hint = "Give JSON lines with one conversation each." if problem.code == "empty_file" else problem.hint
        yield row, ConversationProblem(None, "", problem.message, hint)


def _in_row(
    row: int, line: bytes, scale: RatingScale, chatbot: str
) -> Iterator[tuple[int, ScoredConversation | ConversationProblem]]:
    try:
        for native in native_rows(_json_object(line)):
            if chatbot and native.get("chatbot") is None:
                native["chatbot"] = chatbot
            yield row, conversation_of(native, scale)
    except RowProblem as problem:
        yield row, problem.in_row(row)


class _Reading:
    """Conversations and problems of the rows so far."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, ScoredConversation]] = {}
        self.problems: list[ConversationProblem] = []
        self.repeats = 0

    def take(self, row: int, found: ScoredConversation | ConversationProblem) -> None:
        if isinstance(found, ConversationProblem):
            self.problems.append(found)
            return
        try:
            self._add(row, found)
        except RowProblem as problem:
            self.problems.append(problem.in_row(row))

    def _add(self, row: int, conversation: ScoredConversation) -> None:
        first, other = self.found.setdefault(conversation.conversation_id, (row, conversation))
        if other is conversation:
            return
        if other == conversation:
            self.repeats += 1
            return
        name = quoted(conversation.conversation_id)
        if other.chatbot != conversation.chatbot:
            message = (
                f"{name} has the chatbot {quoted(conversation.chatbot)}, but in row {first:,} {quoted(other.chatbot)}"
            )
            raise RowProblem("chatbot", message, "A conversation has one chatbot. Give each conversation its own ID.")
        what = "text" if other.turns != conversation.turns else "details"
        hint = "Give each conversation its own ID, or remove one of the rows."
        raise RowProblem("conversation_id", f"{name} has other {what} in row {first:,}", hint)


def _lines(source: OpenedFile) -> Iterator[bytes]:
    """Yield lines that are not blank. A line beyond MAX_LINE is passed over and yielded as its beginning."""
    parts: list[bytes] = []
    size = 0
    while chunk := source.stream.readline(BUFFER):
        source.record_done()
        size += len(chunk)
        if size <= MAX_LINE + BUFFER:
            parts.append(chunk)
        if chunk.endswith(b"\n"):
            if size > 1 and (line := b"".join(parts)).strip():
                yield line
            parts, size = [], 0
    if (line := b"".join(parts)).strip():
        yield line


def _json_object(line: bytes) -> Row:
    if len(line) > MAX_LINE:
        raise RowProblem("", f"is longer than {MAX_LINE:,} bytes", "Split it into several conversations.")
    try:
        value = json.loads(line.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RowProblem("", f"byte {error.start + 1:,} is not UTF-8", "Save the file as text in UTF-8.") from None
    except (ValueError, RecursionError) as error:
        reason = str(error).split(":")[0]
        raise RowProblem("", f"is not valid JSON ({reason})", "Write one JSON object in each line.") from None
    if not isinstance(value, dict):
        raise RowProblem("", "is not a JSON object", "Write one JSON object in each line.")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
