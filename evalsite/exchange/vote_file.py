"""Reader of vote files in the formats of `vote_formats`: tables, JSON, Parquet and Excel, plain or compressed.

The format is detected by content, not by name. `iter_votes` yields single votes in constant memory. `read_votes`
returns all of them in columns, with warnings. Every error is a VoteFileError with file, row and column. Nothing is
guessed or cut. Rows without a judgment, of formats that have such rows, are left out with a warning.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from evalsite.exchange.column_reading import columns_read
from evalsite.exchange.errors import FormatError, VoteFileError
from evalsite.exchange.file_opening import Progress, open_source
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_checks import Flags, Repeats, look_alikes
from evalsite.exchange.vote_reading import ColumnMapping, Options, VoteReader, Where
from evalsite.exchange.votes import Vote, Votes

__all__ = ["MAX_VOTES", "ColumnMapping", "Vote", "Votes", "iter_votes", "read_votes"]

MAX_VOTES = 5_000_000  # Limit of `read_votes`: about 2 GB of memory.


def iter_votes(
    path: Path | str,
    *,
    by: str | None = None,
    where: Where = (),
    without: Where = (),
    merge_turns: bool = False,
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    progress: Progress | None = None,
) -> Generator[Vote, None, None]:
    """Yield the votes of the file one by one, in constant memory.

    An error far down the file is raised when it is reached. So store votes in one transaction while reading.

    where: for each column, the allowed values. Other rows are not read any further.
    without: excluded words in columns that the file may have, such as ("note", "same_output"). The words of a cell are
        separated by semicolons.
    merge_turns: whether to ignore the column `turn`, which is otherwise part of the item.
    encoding: the encoding of a text file that is not in UTF-8.
    mapping: columns and labels that no format describes.

    Raises VoteFileError.
    """
    options = Options(by, where, without, merge_turns, encoding, mapping or ColumnMapping())
    yield from votes_one_by_one(Path(path), options, Flags(column for column, _ in where), progress)


def votes_one_by_one(
    path: Path, options: Options, flags: Flags, progress: Progress | None
) -> Generator[Vote, None, None]:
    """Yield the votes of the file one by one, and gather warnings in `flags`. Raises VoteFileError."""
    records: Records | None = None
    try:
        with open_source(path, progress=progress, encoding=options.encoding) as source:
            records = Records(source)
            yield from VoteReader(records, options, flags).votes()
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
    encoding: str | None = None,
    mapping: ColumnMapping | None = None,
    progress: Progress | None = None,
) -> Votes:
    """Return all votes of the file, with warnings about columns that say which votes should count, among others.

    Raises VoteFileError, also for more than MAX_VOTES votes.
    """
    path = Path(path)
    options = Options(by, where, without, merge_turns, encoding, mapping or ColumnMapping())
    chosen = {by, *(column for column, _ in where)}
    repeats = Repeats()
    fast = columns_read(path, options, chosen, MAX_VOTES, progress)
    if fast is not None and repeats.add_columns(fast[0]):
        columns, flags = fast
    else:
        flags = Flags(chosen)
        columns = _rows_read(path, options, flags, repeats, progress)
    repeats.refuse_ambiguous_prompts(path)
    named = {name: _fixed(columns.pop(name)) for name in Vote._fields}  # Not two copies of all columns at a time.
    warnings = (*repeats.warnings(), *flags.warnings(), *look_alikes(repeats.names))
    return Votes(path=path, by_column=by, warnings=warnings, looks_like=flags.looks_like, **named)


def _fixed(column: Sequence[Any]) -> Sequence[Any]:
    return tuple(column) if isinstance(column, list) else column


def _rows_read(
    path: Path, options: Options, flags: Flags, repeats: Repeats, progress: Progress | None
) -> dict[str, Sequence[Any]]:
    """Return the columns of all votes, read row by row."""
    columns: Sequence[list[Any]] = [[] for _ in Vote._fields]
    with closing(votes_one_by_one(path, options, flags, progress)) as votes:
        for vote in votes:
            if len(columns[0]) == MAX_VOTES:
                problem = FormatError(
                    f"has more than {MAX_VOTES:,} votes", code="too_big", hint="Split it or use --where."
                )
                raise VoteFileError(problem, path=path, row=vote.row)
            for column, value in zip(columns, vote, strict=True):
                column.append(value)
            repeats.add(vote, path)
    return dict(zip(Vote._fields, columns, strict=True))
