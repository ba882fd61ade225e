"""Style of the replies in a vote file: given covariates, or counts of the texts.

A covariate NAME has the columns NAME_a and NAME_b. Without names, the texts of the replies are counted, or the columns
of the usual covariates are read. The file is read once more, because votes do not keep such columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evalsite.exchange.errors import FormatError, VoteFileError, listed, quoted
from evalsite.exchange.file_opening import Progress, open_source
from evalsite.exchange.record_reading import Records
from evalsite.exchange.votes import Votes
from irt_engine.arrays import FloatArray
from irt_engine.responses.style import STYLE_COUNTS, StyleDifferences, style_counts, style_differences

TEXTS = ("reply", "response", "answer", "output", "text")  # Columns of replies, with _a and _b.


def read_style(
    path: Path | str,
    votes: Votes,
    covariates: Sequence[str] = (),
    *,
    encoding: str | None = None,
    progress: Progress | None = None,
) -> StyleDifferences:
    """Return the differences of style of the votes that `read_votes` read from this file.

    covariates: names of covariates; none for those of the texts, or the usual ones.

    Raises VoteFileError for a missing column or a cell that is no count.
    """
    path = Path(path)
    place = {row: number for number, row in enumerate(votes.row)}
    records: Records | None = None
    try:
        if len(place) != len(votes):
            raise FormatError("has several votes in a row", code="several_votes", hint="Give one row for each vote.")
        with open_source(path, progress=progress, encoding=encoding) as source:
            records = Records(source)
            reader = _StyleReader(tuple(covariates), len(votes))
            for record in records:
                if record.row in place:
                    reader.add(place[record.row], record.values)
    except FormatError as problem:
        row, line = (records.row, records.line) if records is not None else (None, None)
        raise VoteFileError(problem, path=path, row=row, line=line) from problem
    return style_differences(reader.counts())


class _StyleReader:
    """Counts of the covariates, (2, n) each: of A and of B."""

    def __init__(self, covariates: tuple[str, ...], votes: int) -> None:
        self._covariates = covariates
        self._votes = votes
        self._text: str | None = None
        self._found: dict[str, FloatArray] = {}

    def add(self, vote: int, values: Mapping[str, str]) -> None:
        if not self._found:
            self._begin(values)
        for side, letter in enumerate("ab"):
            for name, value in self._counts(values, letter).items():
                self._found[name][side, vote] = value

    def counts(self) -> dict[str, tuple[FloatArray, FloatArray]]:
        return {name: (both[0], both[1]) for name, both in self._found.items()}

    def _begin(self, columns: Mapping[str, str]) -> None:
        """Choose the columns by those of the first vote."""
        names = list(self._covariates)
        if not names:
            self._text = next((name for name in TEXTS if _has_both(columns, name)), None)
            names = [name for name in STYLE_COUNTS if self._text or _has_both(columns, name)]
        if not names:
            raise FormatError(
                "has neither texts of replies nor counts of their style",
                code="missing_column",
                hint=f"Add the columns {TEXTS[0]}_a and {TEXTS[0]}_b, or {STYLE_COUNTS[0]}_a and {STYLE_COUNTS[0]}_b.",
            )
        missing = [f"{name}_{side}" for name in names for side in "ab" if f"{name}_{side}" not in columns]
        if missing and not self._text:
            raise FormatError(
                f"there is no column {quoted(missing[0])}, which --style asks for",
                code="missing_column",
                hint=f"The columns are {listed(columns, most=30)}.",
            )
        self._found = {name: np.full((2, self._votes), np.nan) for name in names}

    def _counts(self, values: Mapping[str, str], side: str) -> dict[str, float]:
        if self._text is not None:
            text = values.get(f"{self._text}_{side}", "")
            counted = style_counts(text) if text.strip() else (math.nan,) * len(STYLE_COUNTS)
            return dict(zip(STYLE_COUNTS, counted, strict=True))
        return {name: _number(values, f"{name}_{side}") for name in self._found}


def _has_both(columns: Mapping[str, str], name: str) -> bool:
    return f"{name}_a" in columns and f"{name}_b" in columns


def _number(values: Mapping[str, str], column: str) -> float:
    """Return the count in a cell; NaN if the cell is empty."""
    cell = values.get(column, "").strip()
    try:
        number = float(cell) if cell else math.nan
    except ValueError:
        number = math.inf
    if math.isinf(number) or number < 0.0 or (cell and math.isnan(number)):
        raise FormatError(
            f"holds {quoted(cell)}, which is no count",
            code="bad_value",
            column=column,
            hint="Give a number of at least 0, or leave the cell empty if it is unknown.",
        )
    return number
