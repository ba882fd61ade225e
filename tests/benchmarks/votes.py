"""The published votes of EVAL_DATA_DIR as tables. None of them is part of the project."""

from __future__ import annotations

import csv
import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from irt_engine import ResponseTable
from irt_engine.arrays import BoolArray, IntArray

_COLUMNS = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
MISSING = "EVAL_DATA_DIR names no folder with the published votes"


def folder() -> Path | None:
    """Where the votes are, or None."""
    named = os.environ.get("EVAL_DATA_DIR")
    return Path(named) if named and Path(named).is_dir() else None


def read(name: str) -> list[dict[str, str]]:
    """The rows of NAME.csv.gz. Raises FileNotFoundError."""
    where = folder()
    if where is None:
        raise FileNotFoundError(MISSING)
    with gzip.open(where / f"{name}.csv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file))


def table_of(rows: list[dict[str, str]], by: str | None = None) -> ResponseTable:
    """Rows as votes; `by` names the column that keeps repeated experiments on a pair apart. Without orders."""
    return ResponseTable.from_votes(
        [row["system_a"] for row in rows],
        [row["system_b"] for row in rows],
        [row["prompt_id"] for row in rows],
        [int(row["outcome"]) for row in rows],
        annotator_id=[row.get("annotator_id") or None for row in rows],
        label=[row[by] for row in rows] if by else None,
    )


def part(table: ResponseTable, rows: BoolArray) -> ResponseTable:
    """Some rows, under the same names: a chatbot or prompt that only the others have keeps its index."""
    return ResponseTable(
        table.chatbots, table.prompts, table.labels,
        **{name: getattr(table, name)[rows] for name in _COLUMNS},
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Distinct (unordered pair, prompt) and the number of each vote's, (n,)."""

    index: IntArray
    count: int


def items(table: ResponseTable) -> Items:
    """The replies that each vote is about, whatever its run."""
    low, high = np.minimum(table.a, table.b), np.maximum(table.a, table.b)
    key = (low * len(table.chatbots) + high) * len(table.prompts) + table.prompt
    distinct, index = np.unique(key, return_inverse=True)
    return Items(index, len(distinct))
