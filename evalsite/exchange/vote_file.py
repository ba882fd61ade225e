"""Reader of vote files: plain or gzipped; CSV, JSON lines or a JSON array; native or arena columns.

The format is detected by content, not by name. `iter_votes` yields single votes in constant memory. `read_votes`
returns all of them in columns, with warnings. Every error is a VoteFileError with file, row and column. Nothing is
skipped, guessed or cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from typing import NamedTuple
from unicodedata import category, normalize

from evalsite.exchange.errors import FormatError, VoteFileError, escaped, listed, quoted
from evalsite.exchange.file_opening import Progress, open_source
from evalsite.exchange.record_reading import NESTED, Record, Records
from evalsite.exchange.vote_columns import (
    Layout,
    layout_of,
    optional_cell,
    order_cell,
    outcome_cell,
    prompt_cell,
    systems_cells,
    text_cell,
)
from irt_engine.responses.vote_qualifiers import NESTED_FLAGS, QUALIFIERS, QUESTIONS, doubt_text, is_doubtful

MAX_VOTES = 5_000_000  # Limit of `read_votes`: about 2 GB of memory.
MOST_QUESTIONS = 100  # Number of remembered values for a warning.
CRITERION = "criterion"

Where = Sequence[tuple[str, str]]


class Vote(NamedTuple):
    """One judgment of the file; None means unknown."""

    row: int  # The data row, from 1.
    system_a: str
    system_b: str
    outcome: int  # -1 A better, 0 tie, 1 B better.
    both_bad: bool  # The tie was called "both bad".
    prompt_id: str | None  # None: the row has its own prompt.
    annotator_id: str | None
    a_first: int | None  # 1: A was displayed first.
    category: str | None
    timestamp: str | None  # As in the file.
    vote_id: str | None  # The file's own ID of the vote.
    by: str | None  # The value of the column in `by`; None without `by`.

    @property
    def prompt_key(self) -> str:
        """Return a name for the prompt, even if the file has none."""
        return self.prompt_id if self.prompt_id is not None else f"row {self.row}"


@dataclass(frozen=True, slots=True)
class Votes:
    """All votes of a file in columns of equal length, in the order of the file. `Vote` describes the columns."""

    path: Path
    by_column: str | None
    row: tuple[int, ...]
    system_a: tuple[str, ...]
    system_b: tuple[str, ...]
    outcome: tuple[int, ...]
    both_bad: tuple[bool, ...]
    prompt_id: tuple[str | None, ...]
    annotator_id: tuple[str | None, ...]
    a_first: tuple[int | None, ...]
    category: tuple[str | None, ...]
    timestamp: tuple[str | None, ...]
    vote_id: tuple[str | None, ...]
    by: tuple[str | None, ...]
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.row)

    def rows(self) -> Iterator[Vote]:
        """Yield the same votes one by one."""
        return map(Vote._make, zip(*(getattr(self, name) for name in Vote._fields), strict=True))

    @property
    def prompt_key(self) -> tuple[str, ...]:
        """Return a name for each vote's prompt. A row without one has its own prompt."""
        return tuple(
            prompt if prompt is not None else f"row {row}" for prompt, row in zip(self.prompt_id, self.row, strict=True)
        )


def iter_votes(
    path: Path | str,
    *,
    by: str | None = None,
    where: Where = (),
    without: Where = (),
    merge_turns: bool = False,
    progress: Progress | None = None,
) -> Generator[Vote, None, None]:
    """Yield the votes of the file one by one, in constant memory.

    An error far down the file is raised when it is reached. So store votes in one transaction while reading.

    where: for each column, the allowed values. Other rows are not read any further.
    without: excluded words in columns that the file may have, such as ("note", "same_output"). The words of a cell are
        separated by semicolons.
    merge_turns: whether to ignore the column `turn`, which is otherwise part of the item.

    Raises VoteFileError.
    """
    options = _Options(by, where, without, merge_turns)
    yield from _iter_votes(Path(path), options, _Flags(column for column, _ in where), progress)


def _iter_votes(path: Path, options: _Options, flags: _Flags, progress: Progress | None) -> Generator[Vote, None, None]:
    records: Records | None = None
    try:
        with open_source(path, progress=progress) as source:
            records = Records(source)
            yield from _Reading(records, options, flags).votes()
    except FormatError as problem:
        row, line = (records.row, records.line) if records is not None else (None, None)
        raise VoteFileError(problem, path=path, row=row, line=line) from problem


def read_votes(
    path: Path | str,
    *,
    by: str | None = None,
    where: Where = (),
    without: Where = (),
    merge_turns: bool = False,
    progress: Progress | None = None,
) -> Votes:
    """Return all votes of the file, with warnings about columns that say which votes should count, among others.

    Raises VoteFileError, also for more than MAX_VOTES votes.
    """
    path = Path(path)
    options = _Options(by, where, without, merge_turns)
    flags = _Flags({by, *(column for column, _ in where)})
    columns: tuple[list[object], ...] = tuple([] for _ in Vote._fields)
    repeats = _Repeats()
    with closing(_iter_votes(path, options, flags, progress)) as votes:
        for vote in votes:
            if len(columns[0]) == MAX_VOTES:
                problem = FormatError(
                    f"has more than {MAX_VOTES:,} votes", code="too_big", hint="Split it or use --where."
                )
                raise VoteFileError(problem, path=path, row=vote.row)
            for column, value in zip(columns, vote, strict=True):
                column.append(value)
            repeats.add(vote, path)
    repeats.refuse_ambiguous_prompts(path)
    named = {name: tuple(column) for name, column in zip(Vote._fields, columns, strict=True)}
    warnings = (*repeats.warnings(), *flags.warnings(), *_look_alikes(repeats.names))
    return Votes(path=path, by_column=by, warnings=warnings, **named)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class _Options:
    """The caller's options; see `iter_votes`."""

    by: str | None
    where: Where
    without: Where
    merge_turns: bool


class _Flags:
    """Values of columns that say which votes should count, except columns that the caller filters by."""

    def __init__(self, chosen: Iterable[str | None]) -> None:
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
            self._watched = [column for column in columns if self._watches(column)]
        for column in self._watched:
            if column in values:
                self._look(column, values[column])

    def _watches(self, column: str) -> bool:
        known = column.casefold() in QUALIFIERS or column in NESTED_FLAGS or column in QUESTIONS - {CRITERION}
        return known and column not in self._chosen

    def _look(self, column: str, value: str) -> None:
        if column in NESTED_FLAGS:
            if value is NESTED:
                self._nested.add(column)
        elif column in QUESTIONS:
            found = self._questions.setdefault(column, set())
            if len(found) < MOST_QUESTIONS:
                found.add(value.strip())
        elif is_doubtful(column, value):
            self._doubtful.setdefault(column, Counter())[value.strip()] += 1

    def warnings(self) -> Iterator[str]:
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


class _Reading:
    """One pass over the records: selected rows, their votes, and checks at the end."""

    def __init__(self, records: Records, options: _Options, flags: _Flags) -> None:
        self._records = records
        self._flags = flags
        self._by = options.by
        self._without = options.without
        self._merge_turns = options.merge_turns
        self._wanted: dict[str, set[str]] = {}
        for column, value in options.where:
            self._wanted.setdefault(column, set()).add(value)
        self._criteria: dict[str, None] = {}
        self._rows = 0
        self._kept = 0
        self._left_out = 0

    def votes(self) -> Iterator[Vote]:
        layout: Layout | None = None
        for record in self._records:
            layout = layout or self._begin()
            self._rows += 1
            if self._records.repeated:
                self._refuse_repeated(layout)
            if self._is_wanted(record.values) and self._criterion_is_one(record.values):
                self._kept += 1
                self._flags.add(record.values, self._records.columns)
                yield _vote(record, layout, self._by, self._merge_turns)
        self._records.row = self._records.line = None  # An error of the whole file has no row.
        self._finish()

    def _begin(self) -> Layout:
        """Detect the layout from the header or from the keys of the first object."""
        place = self._records.row, self._records.line
        if self._records.has_header:
            self._records.row = self._records.line = None
            self._refuse_unknown_columns()
        layout = layout_of(self._records.columns)
        self._records.row, self._records.line = place
        return layout

    def _is_wanted(self, values: Mapping[str, str]) -> bool:
        if not all(values.get(column, "").strip() in wanted for column, wanted in self._wanted.items()):
            return False
        without = any(word in map(str.strip, values.get(column, "").split(";")) for column, word in self._without)
        self._left_out += without
        return not without

    def _criterion_is_one(self, values: Mapping[str, str]) -> bool:
        """Return False from the second value on. The rest of the file is read only to name all values."""
        if self._by != CRITERION and CRITERION in self._records.columns:
            self._criteria[text_cell(values, CRITERION)] = None
        return len(self._criteria) <= 1

    def _finish(self) -> None:
        if not self._rows:
            if self._records.has_header:
                layout_of(self._records.columns)
            raise FormatError(
                "holds no votes", code="empty_file", hint="A file of votes has one row for each judgment."
            )
        self._refuse_unknown_columns()
        if len(self._criteria) > 1:
            first = next(filter(None, self._criteria))
            raise FormatError(
                f"holds several criteria: {listed(self._criteria)}",
                code="several_criteria",
                column=CRITERION,
                hint=f"They are different questions; choose one, as with --where {CRITERION}={first}.",
            )
        if not self._kept:
            if self._left_out:
                asked = " that --where asks for" if self._wanted else ""
                rows = f"the only row{asked} has" if self._left_out == 1 else f"all {self._left_out:,} rows{asked} have"
                noted = " or ".join(f"{word} in {column}" for column, word in self._without)
                raise FormatError(
                    f"no row is left: {rows} {noted}",
                    code="nothing_left",
                    hint="Give a file that has other rows too.",
                )
            asked = " ".join(f"--where {column}={value}" for column, values in self._wanted.items() for value in values)
            raise FormatError(f"no row is left by {asked}", code="nothing_left", hint="Compare the values in the file.")

    def _refuse_unknown_columns(self) -> None:
        columns = [("--where", column) for column in self._wanted]
        columns += [("--by", self._by)] if self._by is not None else []
        for option, column in columns:
            if column not in self._records.columns:
                raise FormatError(
                    f"there is no column {quoted(column)}, which {option} asks for",
                    code="unknown_column",
                    hint=f"The columns are {listed(self._records.columns, most=30)}.",
                )

    def _refuse_repeated(self, layout: Layout) -> None:
        used = layout.known.union({CRITERION}, self._wanted, filter(None, [self._by]))
        for column in sorted(self._records.repeated & used):
            raise FormatError("this column stands twice", code="repeated_column", column=column)


def _vote(record: Record, layout: Layout, by: str | None, merge_turns: bool) -> Vote:
    values = record.values
    a, b = systems_cells(values, layout)
    outcome, both_bad = outcome_cell(values, layout)
    return Vote(
        row=record.row,
        system_a=intern(a),
        system_b=intern(b),
        outcome=outcome,
        both_bad=both_bad,
        prompt_id=_shared(prompt_cell(values, layout, merge_turns=merge_turns)),
        annotator_id=_shared(optional_cell(values, layout.annotator)),
        a_first=order_cell(values, layout),
        category=_shared(optional_cell(values, layout.category)),
        timestamp=optional_cell(values, layout.timestamp),
        vote_id=optional_cell(values, layout.vote_id),
        by=None if by is None else intern(text_cell(values, by)),
    )


def _shared(text: str | None) -> str | None:
    """Return one object for equal texts, because a file can repeat its names a million times."""
    return None if text is None else intern(text)


class _Repeats:
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
            problem = FormatError(f"the id {quoted(vote.vote_id)} stands in row {first:,} too", code="repeated_vote")
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


def _look_alikes(names: Iterable[str]) -> Iterator[str]:
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
