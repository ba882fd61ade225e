"""Import of conversations and their ratings into a set of the database: every row or none, and once.

A first pass checks each row and stores it in a temporary file, without a transaction. A second pass writes the rows, a
few at a time, in one transaction. Memory does not grow with the file.
"""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any

from evalsite.accounts.models import User
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.row_files import csv_text
from evalsite.exchange.conversation_files.judgment_tables import RatingRow, is_rating_file, rating_rows
from evalsite.exchange.conversation_files.problems import ConversationProblem
from evalsite.exchange.conversation_files.reader import NO_CONVERSATIONS, conversation_rows
from evalsite.exchange.conversation_files.values import RatingScale
from evalsite.exchange.errors import quoted
from evalsite.exchange.file_opening import Progress
from evalsite.scorecards.conversations import ScoredConversation
from evalsite.scorecards.models import ConversationSet, ImportedConversation, ImportedRating
from evalsite.scorecards.services import Placed, conversations_add, scorecard_request
from evalsite.scorecards.stored_conversations import erased_among

CHUNK = 1_000
MOST_PROBLEMS = 1_000  # Kept for the report; all are counted.
OUTCOMES = ("added", "unchanged", "erased", "problem")


@dataclass(slots=True)
class ImportReport:
    """What became of the rows of a file.

    counts: by outcome: `added`, `unchanged` (known or repeated), `erased` (of an erased user, left out), `problem`.
    problems: the first ones. If there is any, nothing was imported.
    """

    what: str
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[ConversationProblem] = field(default_factory=list)

    def add_problem(self, problem: ConversationProblem) -> None:
        self.counts["problem"] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


class RowReport:
    """A CSV file with what became of each row."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._file.write(csv_text([["row", "id", "outcome", "field", "message", "hint"]]))

    def add(self, row: int | None, key: str, outcome: str, problem: ConversationProblem | None = None) -> None:
        why = (problem.field, problem.message, problem.hint) if problem is not None else ("", "", "")
        self._file.write(csv_text([[row or "", key, outcome, *why]]))


Tell = Callable[[int | None, str, str, ConversationProblem | None], None]


def file_import(
    *,
    path: Path,
    conversation_set: ConversationSet,
    source: str = "",
    chatbot: str = "",
    check: bool = False,
    report: RowReport | None = None,
    by: User | None = None,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a file of conversations, or of ratings of conversations that the set has.

    Importing the same file again changes nothing. A changed conversation or rating is a problem, and a file with a
    problem is not imported at all.

    Parameters
    ----------
    source
        Name of a file of ratings, by default its own: a rating is identified by source and row.
    chatbot
        Chatbot of conversations that name none.
    check
        Only report what an import would do.
    report
        Takes a line for each row.
    by
        Who imports it.
    """
    scale = RatingScale(conversation_set.criterion or None, conversation_set.lowest, conversation_set.highest)
    tell: Tell = report.add if report is not None else lambda *_: None
    if is_rating_file(path):
        rows: Iterable[tuple[int, Any]] = rating_rows(path, scale=scale, progress=progress)
        loading = _Loading(ImportReport("ratings"), tell, _RatingWriter(conversation_set, (source or path.name)[:200]))
    else:
        rows = conversation_rows(path, scale=scale, chatbot=chatbot, progress=progress)
        loading = _Loading(ImportReport("conversations"), tell, _ConversationWriter(conversation_set))
    with tempfile.TemporaryFile() as checked:
        loading.check(rows, checked)
        if not loading.found.problems:
            loading.write(checked, keep=not check)
    if not loading.found.problems and loading.found.counts["added"] and not check:
        after = {"what": loading.found.what, "file": (source or path.name)[:200], "rows": loading.found.counts["added"]}
        with write_transaction():
            audit_record(act="import_conversations", subject=conversation_set.public_id, by=by, after=after)
            scorecard_request(conversation_set)
    return loading.found


class _RollBack(Exception):
    """Ends the transaction of an import that is only checked or has problems."""


class _Loading:
    """The two passes over the rows of a file."""

    def __init__(self, found: ImportReport, tell: Tell, writer: _ConversationWriter | _RatingWriter) -> None:
        self.found, self._tell, self._writer = found, tell, writer

    def check(self, rows: Iterable[tuple[int, Any]], checked: IO[bytes]) -> None:
        empty = True
        for chunk in batched_rows(rows):
            kept = []
            for row, one in chunk:
                empty = False
                if isinstance(one, ConversationProblem):
                    self._problem(row, "", one)
                else:
                    kept.append((row, one))
            pickle.dump(kept, checked)
        if empty:
            self._problem(0, "", NO_CONVERSATIONS)

    def write(self, checked: IO[bytes], *, keep: bool) -> None:
        checked.seek(0)
        try:
            with write_transaction():
                for chunk in _chunks(checked):
                    for row, key, outcome in self._writer.write(chunk):
                        if isinstance(outcome, ConversationProblem):
                            self._problem(row, key, outcome)
                        else:
                            self.found.counts[outcome] += 1
                            self._tell(row, key, outcome, None)
                if self.found.problems or not keep:
                    raise _RollBack
        except _RollBack:
            pass

    def _problem(self, row: int, key: str, problem: ConversationProblem) -> None:
        self.found.add_problem(problem)
        self._tell(row, key, "problem", problem)


def batched_rows(rows: Iterable[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    """Yield the rows in lists of CHUNK."""
    left = iter(rows)
    while chunk := list(islice(left, CHUNK)):
        yield chunk


def _chunks(checked: IO[bytes]) -> Iterator[list[tuple[int, Any]]]:
    while True:
        try:
            yield pickle.load(checked)  # noqa: S301  our own file, which nobody else can open
        except EOFError:
            return


class _ConversationWriter:
    def __init__(self, conversation_set: ConversationSet) -> None:
        self._set = conversation_set

    def write(
        self, chunk: list[tuple[int, ScoredConversation]]
    ) -> Iterator[tuple[int, str, str | ConversationProblem]]:
        placed = conversations_add(conversation_set=self._set, conversations=[one for _, one in chunk])
        for (row, one), result in zip(chunk, placed, strict=True):
            yield row, one.conversation_id, _refused(row, one, result) or result.outcome


def _refused(row: int, one: ScoredConversation, placed: Placed) -> ConversationProblem | None:
    name = quoted(one.conversation_id)
    if placed.outcome == "other_chatbot":
        message = f"{name} is of {quoted(one.chatbot)}, but of {quoted(placed.known_chatbot)} in another row or the set"
        return ConversationProblem(
            row, "chatbot", message, "A conversation has one chatbot. Give each conversation its own ID."
        )
    if placed.outcome == "other_text":
        message = f"{name} is in another row or in the set with other content"
        return ConversationProblem(
            row, "conversation_id", message, "Give each conversation its own ID, or use another set."
        )
    return None


class _RatingWriter:
    def __init__(self, conversation_set: ConversationSet, source: str) -> None:
        self._set, self._source = conversation_set, source

    def write(self, chunk: list[tuple[int, RatingRow]]) -> Iterator[tuple[int, str, str | ConversationProblem]]:
        keys = {one.conversation_id for _, one in chunk}
        stored = ImportedConversation.objects.filter(conversation_set=self._set, key__in=keys)
        known = {
            key: (number, chatbot, replies)
            for number, key, chatbot, replies in stored.values_list("pk", "key", "chatbot", "replies")
        }
        earlier = {
            (one.conversation_id, one.row): one
            for one in ImportedRating.objects.filter(
                conversation__in=[number for number, _, _ in known.values()],
                source=self._source,
                row__in=[row for row, _ in chunk],
            )
        }
        erased = erased_among(self._set, {one.user_id for _, one in chunk if one.user_id})
        new: list[ImportedRating] = []
        for row, one in chunk:
            found = known.get(one.conversation_id)
            problem = _rating_problem(row, one, found)
            if problem is not None or found is None:
                yield row, one.conversation_id, problem or "problem"
                continue
            if one.user_id in erased:
                yield row, one.conversation_id, "erased"
                continue
            made = _rating(one, found[0], self._source, row)
            before = earlier.get((found[0], row))
            if before is None:
                new.append(made)
                yield row, one.conversation_id, "added"
            elif _values(before) == _values(made):
                yield row, one.conversation_id, "unchanged"
            else:
                message = f"was imported from {quoted(self._source)} with another rating"
                yield (
                    row,
                    one.conversation_id,
                    ConversationProblem(row, "", message, "Import it under another --source."),
                )
        ImportedRating.objects.bulk_create(new)


def _rating_problem(row: int, one: RatingRow, found: tuple[int, str, int] | None) -> ConversationProblem | None:
    if found is None:
        message = f"{quoted(one.conversation_id)} is not in the set"
        return ConversationProblem(row, "conversation_id", message, "Import its conversation first.")
    _, chatbot, replies = found
    if one.chatbot and one.chatbot != chatbot:
        message = f"{quoted(one.chatbot)} is not the chatbot of the conversation ({quoted(chatbot)})"
        return ConversationProblem(row, "chatbot", message, "Correct the row, or the conversation.")
    if one.turn is not None and one.turn > replies:
        message = f"{one.turn} is beyond the {replies} replies of the conversation"
        return ConversationProblem(row, "turn", message, "Count the chatbot's replies from 1.")
    return None


def _rating(one: RatingRow, conversation: int, source: str, row: int) -> ImportedRating:
    return ImportedRating(
        conversation_id=conversation,
        source=source,
        row=row,
        turn=one.turn,
        criterion=one.criterion,
        value=one.value,
        label=one.label,
        group=one.group.value,
        user_key=one.user_id or "",
        at=one.at,
    )


def _values(one: ImportedRating) -> tuple[object, ...]:
    return (one.turn, one.criterion, one.value, one.label, one.group, one.user_key, one.at)
