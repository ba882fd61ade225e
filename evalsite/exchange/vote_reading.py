"""One pass over the records of a vote file: its format, the selected rows and their votes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from sys import intern

from evalsite.exchange.errors import FormatError, listed, quoted
from evalsite.exchange.record_reading import Record, Records
from evalsite.exchange.vote_checks import CRITERION, Flags
from evalsite.exchange.vote_columns import (
    Layout,
    Outcome,
    optional_cell,
    order_cell,
    prompt_cell,
    systems_cells,
    text_cell,
)
from evalsite.exchange.vote_formats.base import VoteFormat
from evalsite.exchange.vote_formats.columns import mapped_layout
from evalsite.exchange.vote_formats.crowd_work import CrowdWork, crowd_columns
from evalsite.exchange.vote_formats.registry import format_of
from evalsite.exchange.votes import Vote

Where = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """What a person says about the columns and labels of a file that no format describes.

    columns: the columns `a`, `b` and `winner`, as far as they are named.
    labels: what other labels mean.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Outcome] = field(default_factory=dict)

    def apply(self, form: VoteFormat, records: Records, first: Mapping[str, str]) -> Layout:
        """Return the layout of the file. Raises FormatError for a column that is missing."""
        if len(self.columns) == len(_MAPPED):
            layout = mapped_layout(records.columns, self.columns, self.labels)
            return crowd_columns(layout) if isinstance(form, CrowdWork) else layout
        layout = form.layout(records, first)
        if self.columns:
            known = dict(zip(_MAPPED, layout.required, strict=True))
            mapped = mapped_layout(records.columns, {**known, **self.columns}, self.labels)
            return replace(mapped, prompt=layout.prompt, annotator=layout.annotator, vote_id=layout.vote_id)
        return replace(layout, labels={**layout.labels, **self.labels}) if self.labels else layout


_MAPPED = ("a", "b", "winner")


@dataclass(frozen=True, slots=True)
class Options:
    """The caller's options; see `iter_votes`."""

    by: str | None = None
    where: Where = ()
    without: Where = ()
    merge_turns: bool = False
    encoding: str | None = None
    mapping: ColumnMapping = ColumnMapping()


class VoteReader:
    """One pass over the records: selected rows, their votes, and checks at the end."""

    def __init__(self, records: Records, options: Options, flags: Flags) -> None:
        self._records = records
        self._flags = flags
        self._options = options
        self._by = options.by
        self._without = options.without
        self._merge_turns = options.merge_turns
        self._wanted: dict[str, set[str]] = {}
        for column, value in options.where:
            self._wanted.setdefault(column, set()).add(value)
        self._criteria: dict[str, None] = {}
        self._layout: Layout | None = None
        self._bound = 0
        self._rows = 0
        self._kept = 0
        self._left_out = 0

    def votes(self) -> Iterator[Vote]:
        stream = iter(self._records)
        first = next(stream, None)
        if first is not None:
            form = self._begin()
            for record in form.rows(self._records, chain([first], stream)):
                self._rows += 1
                vote = self._vote_of(record, form)
                if vote is not None:
                    yield vote
        self._records.row = self._records.line = None  # An error of the whole file has no row.
        self._finish()

    def _vote_of(self, record: Record, form: VoteFormat) -> Vote | None:
        if form.expands:
            self._records.columns |= dict.fromkeys(record.values)
        layout = self._layout_for(record, form)
        if self._records.repeated:
            self._refuse_repeated(layout)
        if not self._is_wanted(record.values) or not self._criterion_is_one(record.values):
            return None
        self._kept += 1
        self._flags.add(record.values, self._records.columns)
        vote = _vote(record, layout, self._by, self._merge_turns)
        if vote is None:
            self._flags.leave_out(layout.unjudged)
        return vote

    def _begin(self) -> VoteFormat:
        """Detect the format from the header or from the keys of the first object."""
        place = self._records.row, self._records.line
        form = format_of(self._records)
        if self._records.has_header:
            self._records.row = self._records.line = None
            if not form.expands:
                self._refuse_unknown_columns()
        if not self._options.mapping.columns:
            form.check(self._records)
        self._flags.looks_like = form.title
        if self._records.has_header and not form.expands:
            self._layout = self._options.mapping.apply(form, self._records, {})
        self._records.row, self._records.line = place
        return form

    def _layout_for(self, record: Record, form: VoteFormat) -> Layout:
        """Return the layout, with optional columns as far as they have been seen."""
        if self._layout is None:
            self._layout = self._options.mapping.apply(form, self._records, record.values)
        if len(self._records.columns) != self._bound:
            self._bound = len(self._records.columns)
            self._bound_layout = self._layout.bound(self._records.columns)
        return self._bound_layout

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
                form = self._begin()
                for _ in form.rows(self._records, ()):
                    pass
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
        if self._kept and self._kept == self._flags.unjudged:
            raise FormatError("holds no votes", code="empty_file", hint=f"All rows are left out: {self._flags.why}.")
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
            raise FormatError(
                "this column stands twice", code="repeated_column", column=column, hint="Rename or remove one of them."
            )


def _vote(record: Record, layout: Layout, by: str | None, merge_turns: bool) -> Vote | None:
    values = record.values
    a, b = systems_cells(values, layout)
    outcome = layout.outcome_of(values)
    if outcome is None:
        return None
    return Vote(
        row=record.row,
        system_a=intern(a),
        system_b=intern(b),
        outcome=outcome[0],
        both_bad=outcome[1],
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
