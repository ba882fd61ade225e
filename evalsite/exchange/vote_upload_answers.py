"""What the worker answers about uploaded vote files: what is in one, and the import of one.

A fault of the file is an answer, too: its place, the columns to choose from, and the labels to explain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.encodings import ENCODINGS
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.core.models import Upload
from evalsite.exchange.errors import FormatError, VoteFileError
from evalsite.exchange.file_opening import open_source
from evalsite.exchange.record_reading import Records
from evalsite.exchange.vote_columns import LABELS, label_outcome
from evalsite.exchange.vote_file import ColumnMapping, Votes, read_votes
from evalsite.exchange.vote_import import votes_import
from evalsite.exchange.vote_uploads import PURPOSE, VoteFileOptions

MOST_LISTED, MOST_COLUMNS, MOST_LABELS = 50, 200, 20
ROWS_FOR_LABELS = 100_000
# Faults that a choice of columns, of labels or of the encoding can mend.
_BY_COLUMNS = frozenset({"missing_column", "unknown_column", "ambiguous_layout", "ambiguous_column", "blank_value"})
_BY_ENCODING = frozenset({"bad_encoding", "unknown_encoding", "unknown_format"})


def votes_read(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the counts of an uploaded file, or its fault."""
    options = VoteFileOptions(**args["options"])
    with _file(args) as (path, upload):
        try:
            votes = read_votes(path, **_reading(options))
        except VoteFileError as error:
            return {"problem": _problem(error.moved(Path(upload.name)), path, options)}
    return {"problem": None, **_counts(votes)}


def votes_take(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Import an uploaded file and return its board, or its fault. Nothing of a faulty file is stored."""
    options = VoteFileOptions(**args["options"])
    with _file(args) as (path, upload):
        try:
            imported = votes_import(
                path=path,
                name=args["name"],
                organisation=args["organisation"],
                visibility=Campaign.Visibility(args["visibility"]),
                source=upload.name,
                by=User.objects.filter(pk=args["by"]).first(),
                **_reading(options),
            )
        except VoteFileError as error:
            return {"problem": _problem(error.moved(Path(upload.name)), path, options)}
        upload.delete()
    campaign = imported.board.default_of
    return {
        "problem": None,
        "board": str(imported.board.public_id),
        "campaign": campaign.slug if campaign else "",
        "votes": imported.votes,
        "created": imported.created,
        "looks_like": imported.looks_like,
        "warnings": list(imported.warnings),
    }


def _reading(options: VoteFileOptions) -> dict[str, Any]:
    columns = {name: getattr(options, name) for name in ("a", "b", "winner") if getattr(options, name)}
    labels = {label: LABELS[meaning] for label, meaning in options.labels.items()}
    mapping = ColumnMapping(columns, labels)
    return {"encoding": options.encoding or None, "mapping": mapping, "merge_turns": options.merge_turns}


@contextmanager
def _file(args: Mapping[str, Any]) -> Iterator[tuple[Path, Upload]]:
    upload = Upload.objects.filter(public_id=args["upload"], purpose=PURPOSE).first()
    if upload is None:
        raise NotFound(_("There is no such file any more."), hint=_("Files are kept for a day. Send it again."))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "votes"
        path.write_bytes(bytes(upload.content))
        yield path, upload


def _counts(votes: Votes) -> dict[str, Any]:
    outcomes = Counter(zip(votes.outcome, votes.both_bad, strict=True))
    chatbots = sorted({*votes.system_a, *votes.system_b})
    return {
        "looks_like": votes.looks_like,
        "votes": len(votes),
        "a_better": outcomes[-1, False],
        "b_better": outcomes[1, False],
        "ties": outcomes[0, False],
        "both_bad": outcomes[0, True],
        "prompts": len(set(votes.prompt_key)),
        "annotators": len({one for one in votes.annotator_id if one is not None}),
        "chatbots": len(chatbots),
        "names": chatbots[:MOST_LISTED],
        "warnings": list(votes.warnings),
    }


def _problem(error: VoteFileError, path: Path, options: VoteFileOptions) -> dict[str, Any]:
    """Return a fault with its place, and what a person can choose to mend it."""
    columns, labels = _columns_and_labels(path, options, error.column or "")
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "row": error.row,
        "line": error.line,
        "column": error.column or "",
        "columns": columns if error.code in _BY_COLUMNS or error.code == "unknown_label" else [],
        "labels": labels if error.code == "unknown_label" else [],
        "encodings": list(ENCODINGS[1:]) if error.code in _BY_ENCODING else [],
    }


def _columns_and_labels(path: Path, options: VoteFileOptions, column: str) -> tuple[list[str], list[str]]:
    """Return the columns of the file, and the labels of a column that no table has."""
    found: dict[str, None] = {}
    columns: list[str] = []
    try:
        with open_source(path, encoding=options.encoding or None) as source:
            records = Records(source)
            stream = iter(records)
            for record in islice(stream, ROWS_FOR_LABELS):
                columns = list(records.columns)
                label = record.values.get(column, "").strip()
                if label and label_outcome(label) is None and len(found) < MOST_LABELS:
                    found[label[:100]] = None
            columns = columns or list(records.columns)
    except (FormatError, InvalidInput):
        pass  # What was read until then.
    return columns[:MOST_COLUMNS], list(found)
