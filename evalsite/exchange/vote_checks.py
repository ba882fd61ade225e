"""Warnings about the votes of a file: columns that say which should count, repeats, and names that look the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import category, normalize

import numpy as np

from evalsite.exchange.coded_columns import counts_of, different, numbered
from evalsite.exchange.errors import FormatError, VoteFileError, escaped, listed, quoted
from evalsite.exchange.record_reading import Nested
from evalsite.exchange.votes import Vote
from irt_engine.responses.vote_qualifiers import NESTED_FLAGS, QUALIFIERS, QUESTIONS, doubt_text, is_doubtful

MOST_QUESTIONS = 100  # Number of remembered values for a warning.
CRITERION = "criterion"


class Flags:
    """Values of columns that say which votes should count, except columns that the caller filters by."""

    def __init__(self, chosen: Iterable[str | None]) -> None:
        self.looks_like = ""
        self.unjudged = 0
        self.why = ""
        self._chosen = set(chosen)
        self._rows = 0
        self._columns = 0
        self._watched: list[str] = []
        self._doubtful: dict[str, Counter[str]] = {}
        self._questions: dict[str, set[str]] = {}
        self._nested: set[str] = set()

    def add(self, values: Mapping[str, str], columns: Collection[str]) -> None:
        """Add a row.

        columns: those seen so far, because each JSON object may have new ones.
        """
        self._rows += 1
        if len(columns) != self._columns:
            self._columns = len(columns)
            self._watched = [column for column in columns if self.watches(column)]
        for column in self._watched:
            if column in values:
                self._look(column, values[column])

    def add_columns(self, columns: Mapping[str, Sequence[str]], rows: int) -> None:
        """Add rows, given in columns."""
        self._rows += rows
        for column in filter(self.watches, columns):
            for value, count in counts_of(columns[column]):
                self._look(column, value, count)

    def leave_out(self, why: str) -> None:
        """Count a row without a judgment."""
        self.unjudged += 1
        self.why = why

    def watches(self, column: str) -> bool:
        """Whether the column says which votes count, and the caller did not filter by it."""
        known = column.casefold() in QUALIFIERS or column in NESTED_FLAGS or column in QUESTIONS - {CRITERION}
        return known and column not in self._chosen

    def _look(self, column: str, value: str, count: int = 1) -> None:
        if column in NESTED_FLAGS:
            if isinstance(value, Nested):
                self._nested.add(column)
        elif column in QUESTIONS:
            found = self._questions.setdefault(column, set())
            if len(found) < MOST_QUESTIONS:
                found.add(value.strip())
        elif is_doubtful(column, value):
            self._doubtful.setdefault(column, Counter())[value.strip()] += count

    def warnings(self) -> Iterator[str]:
        if self.unjudged:
            rows = "1 row is" if self.unjudged == 1 else f"{self.unjudged:,} rows are"
            yield f"{rows} left out: {self.why}."
        for column, found in self._doubtful.items():
            yield f"{doubt_text(column, found, found.total(), self._rows)} Use --where {column}=VALUE."
        for column, names in self._questions.items():
            if len(names) > 1:
                yield (
                    f"The column {column} holds {listed(sorted(names))}: their votes are pooled. "
                    f"Choose with --where {column}=VALUE."
                )
        for column in sorted(self._nested):
            yield f"The column {column} holds objects that mark votes to leave out. It is not read: all are counted."


class Repeats:
    """Duplicates: a vote's own ID must be unique, but a person may judge an item twice."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._judged: set[tuple[str, ...]] = set()
        self._ids: dict[str, int] = {}
        self._repeated = 0
        self._without_prompt = 0
        self._like_a_row = ""

    def add(self, vote: Vote, path: Path) -> None:
        self.names |= {vote.system_a, vote.system_b}
        if vote.vote_id is not None and self._ids.setdefault(vote.vote_id, vote.row) != vote.row:
            first = self._ids[vote.vote_id]
            problem = FormatError(
                f"the id {quoted(vote.vote_id)} stands in row {first:,} too",
                code="repeated_vote",
                hint="Remove one of the rows, or give each an id of its own.",
            )
            raise VoteFileError(problem, path=path, row=vote.row)
        if vote.prompt_id is None:
            self._without_prompt += 1
            return
        if vote.prompt_id.startswith("row "):
            self._like_a_row = vote.prompt_id
        if vote.annotator_id is not None:
            pair = sorted((vote.system_a, vote.system_b))
            judged = (vote.annotator_id, *pair, vote.prompt_id, vote.by or "")
            self._repeated += judged in self._judged
            self._judged.add(judged)

    def add_columns(self, votes: Mapping[str, Sequence[Any]]) -> bool:
        """Add all votes, given in columns. Return False, with nothing added, if an ID stands twice."""
        if np.bincount(numbered(votes["vote_id"], {None: 0}))[1:].max(initial=0) > 1:
            return False
        self.names |= different(votes["system_a"]) | different(votes["system_b"])
        self._without_prompt += votes["prompt_id"].count(None)
        self._like_a_row = next((one for one in different(votes["prompt_id"]) if one and one.startswith("row ")), "")
        self._repeated += _repeats(votes)
        return True

    def refuse_ambiguous_prompts(self, path: Path) -> None:
        """Reject a prompt called "row 7" if rows without a prompt are named by their numbers."""
        if self._without_prompt and self._like_a_row:
            problem = FormatError(
                f"the prompt id {quoted(self._like_a_row)} looks like the name that a row without one is given",
                code="ambiguous_prompt",
                hint="Rename it, or give every row a prompt id.",
            )
            raise VoteFileError(problem, path=path)

    def warnings(self) -> Iterator[str]:
        if self._repeated:
            yield (
                f"{'1 vote repeats' if self._repeated == 1 else f'{self._repeated:,} votes repeat'} an earlier one: "
                "same annotator, chatbots and prompt. Repeats are kept and counted."
            )
        if self._without_prompt:
            votes = "1 vote has" if self._without_prompt == 1 else f"{self._without_prompt:,} votes have"
            yield f"{votes} no prompt id: each is taken as a prompt of its own."


def _repeats(votes: Mapping[str, Sequence[Any]]) -> int:
    """Count votes whose annotator, chatbots, prompt and comparison are those of an earlier one."""
    codes = [numbered(votes["by"], {})]
    names: dict[str, int] = {}
    pairs = np.sort(np.stack([numbered(votes[side], names) for side in ("system_a", "system_b")]), axis=0)
    known = np.ones(len(pairs[0]), bool)
    for name in ("annotator_id", "prompt_id"):
        codes.append(numbered(votes[name], {None: 0}))
        known &= codes[-1] != 0
    keys = np.vstack([*codes, pairs])[:, known]
    ordered = np.sort(_joined(keys))
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _joined(keys: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return one number for each column of `keys`, equal for equal columns."""
    joined = np.zeros(keys.shape[1], np.int64)
    for row in keys:
        joined = np.unique(joined, return_inverse=True)[1] if joined.size and joined.max() > 1 << 31 else joined
        joined = joined * (int(row.max(initial=0)) + 1) + row
    return joined


def look_alikes(names: Iterable[str]) -> Iterator[str]:
    """Warn about names that look the same. They are probably one chatbot, but the user has to decide."""
    alike: dict[str, set[str]] = {}
    for name in names:
        alike.setdefault(_appearance(name), set()).add(name)
    for group in sorted(sorted(group) for group in alike.values() if len(group) > 1):
        told_apart = len({normalize("NFC", name) for name in group}) == len(group)
        names = listed(group, show=quoted if told_apart else escaped)
        yield f"The names {names} are almost equal; they are ranked as different chatbots."


def _appearance(name: str) -> str:
    """Return the name without inconspicuous differences: case, spacing, Unicode form, and zero-width characters."""
    plain = normalize("NFKC", normalize("NFKC", name).casefold())
    return "".join(sign for sign in plain if not sign.isspace() and category(sign) != "Cf")
