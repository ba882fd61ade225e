"""Arguments of commands that read a vote file: its encoding, its columns and labels, and standard input as the file."""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evalsite.core.encodings import ENCODINGS
from evalsite.exchange.errors import VoteFileError
from evalsite.exchange.vote_columns import LABELS, Outcome, label_outcome
from evalsite.exchange.vote_file import ColumnMapping

STANDARD_INPUT = "-"


def format_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--encoding", metavar="NAME", help=f"of a text file that is not in UTF-8: {', '.join(ENCODINGS[1:])}"
    )
    parser.add_argument("--a", metavar="COLUMN", help="the column of the first chatbot, if it is not recognised")
    parser.add_argument("--b", metavar="COLUMN", help="the column of the second chatbot")
    parser.add_argument("--winner", metavar="COLUMN", help="the column that says who won")
    parser.add_argument(
        "--map",
        metavar="LABEL=OUTCOME",
        action="append",
        default=[],
        type=label_argument,
        help=f"what a label means: {', '.join(LABELS)} (may be repeated)",
    )


def condition(text: str) -> tuple[str, str]:
    """Return the column and the value of `--where`."""
    column, sign, value = text.partition("=")
    if not sign or not column.strip():
        raise ArgumentTypeError(f"{text!r} is not COLUMN=VALUE")
    return column.strip(), value.strip()


def merge_turns_argument(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--merge-turns",
        action="store_true",
        help="take all turns of a prompt as one item (by default a column turn keeps them apart)",
    )


def label_argument(text: str) -> tuple[str, Outcome]:
    """Return the label and its outcome."""
    label, _, meaning = text.rpartition("=")
    outcome = label_outcome(meaning.strip())
    if not label.strip() or outcome is None:
        raise ArgumentTypeError(f"{text!r} is not LABEL=OUTCOME, where OUTCOME is one of {', '.join(LABELS)}")
    return label.strip(), outcome


def mapping_of(options: Mapping[str, Any]) -> ColumnMapping:
    """Return what the arguments say about columns and labels."""
    columns = {name: options[name] for name in ("a", "b", "winner") if options.get(name)}
    return ColumnMapping(columns, dict(options.get("map") or ()))


@contextmanager
def vote_path(name: str | Path) -> Iterator[Path]:
    """Return the file of this name. Standard input ("-") is copied to a file, because some formats are read twice.

    Errors in it name standard input.
    """
    if str(name) != STANDARD_INPUT:
        yield Path(name)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "votes"
        with path.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        try:
            yield path
        except VoteFileError as error:
            raise error.moved(Path("standard input")) from error
