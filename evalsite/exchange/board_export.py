"""The current state of a board as a table, and a chatbot's result for the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from evalsite.boards.rows import BoardRow
from evalsite.boards.selectors import BoardState
from evalsite.boards.withdrawn_rows import ranked_rows, unranked_rows
from evalsite.core.row_files import csv_text

COLUMNS = (
    *("rank", "rank_lower", "rank_upper", "name", "version", "organisation", "ability", "se", "lower", "upper"),
    *("judgments", "win_rate", "tier", "group", "preliminary", "withdrawn"),
)
PLACES = ("rank", "rank_lower", "rank_upper")


def board_table(board_state: BoardState) -> list[dict[str, Any]]:
    """Return a row for each chatbot, strongest first; then withdrawn ones, without a rank."""
    rows = board_state.rows
    return [_exported(row) for row in (*ranked_rows(rows), *unranked_rows(rows))]


def _exported(row: BoardRow) -> dict[str, Any]:
    gone = "withdrawn" in row
    values: dict[str, Any] = {name: row.get(name) for name in COLUMNS}
    places = dict.fromkeys(PLACES) if gone else {}
    return values | places | {"version": row.get("version_label"), "withdrawn": gone}


def board_csv(board_state: BoardState) -> str:
    cells = [[_cell(row[name]) for name in COLUMNS] for row in board_table(board_state)]
    return csv_text([COLUMNS, *cells])


def board_json(board_state: BoardState) -> Mapping[str, Any]:
    snapshot = board_state.snapshot
    return {
        "board": board_state.board.name,
        "question": board_state.aspect.question,
        "snapshot": snapshot.number if snapshot else None,
        "judgments": snapshot.judgments if snapshot else 0,
        "made_at": snapshot.created_at.isoformat() if snapshot else None,
        "rows": board_table(board_state),
    }


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value


def eval_results(board_state: BoardState, chatbot: str, *, address: str) -> str | None:
    """Return the text of `.eval_results/<name>.yaml` for a model's repository; None without such a chatbot."""
    snapshot = board_state.snapshot
    rows = board_state.rows
    row = next((one for one in (*ranked_rows(rows), *unranked_rows(rows)) if one["chatbot"] == chatbot), None)
    if snapshot is None or row is None:
        return None
    status = "preliminary" if row["preliminary"] else "established"
    place = f"rank {row['rank']} ({row['rank_lower']} to {row['rank_upper']}) of {len(ranked_rows(rows))}"
    entry = {
        "dataset": {"id": board_state.board.slug, "task_id": board_state.aspect.key, "revision": str(snapshot.number)},
        "value": round(row["ability"], 4),
        "date": snapshot.created_at.date().isoformat(),
        "source": {"url": address, "name": board_state.board.name},
        "notes": (
            f"Ability in logits, zero is the average of the board; 95 % interval {row['lower']:.3f} to "
            f"{row['upper']:.3f}; {'withdrawn' if 'withdrawn' in row else place}; "
            f"{row['judgments']} judgments; {status}."
        ),
    }
    text: str = yaml.safe_dump([entry], sort_keys=False, allow_unicode=True, width=1000)
    return text
