"""Rows of withdrawn chatbots, which a board shows apart and without a rank.

Their judgments count on, so snapshots rank them with the others. Readers see ranks of those that take part.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from evalsite.boards.rows import BoardRow


def rows_now(rows: Sequence[BoardRow], withdrawn: Mapping[str, str]) -> list[BoardRow]:
    """Return the rows of a snapshot in their order, with ranks and classes among those that take part.

    Rows of withdrawn versions have the key `withdrawn` with the reason; their ranks must not be shown. The snapshot
    does not store which pairs are different, so the possible ranks of the others are at least as wide as exact ones.

    withdrawn: public IDs of withdrawn versions, with the reason.
    """
    now = [_marked(row, withdrawn.get(row.get("version", ""))) for row in rows]
    gone = unranked_rows(now)
    if not gone:
        return now
    classes = _classes(ranked_rows(now))
    return [row if "withdrawn" in row else _moved(row, now, gone, classes) for row in now]


def ranked_rows(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Return the rows (of `rows_now`) that have a rank."""
    return [row for row in rows if "withdrawn" not in row]


def unranked_rows(rows: Sequence[BoardRow]) -> list[BoardRow]:
    """Return the rows (of `rows_now`) of withdrawn versions."""
    return [row for row in rows if "withdrawn" in row]


def _marked(row: BoardRow, reason: str | None) -> BoardRow:
    return row if reason is None else row | {"withdrawn": reason}


def _moved(
    row: BoardRow, rows: Sequence[BoardRow], gone: Sequence[BoardRow], classes: Mapping[tuple[int, int], int]
) -> BoardRow:
    """Return the row with its rank among those that take part."""
    lost = [other["rank"] for other in gone if other["group"] == row["group"]]
    above = sum(rank < row["rank"] for rank in lost)
    size = sum(other["group"] == row["group"] for other in rows) - len(lost)
    places = {
        "rank": row["rank"] - above,
        "rank_lower": max(1, row["rank_lower"] - above),
        "rank_upper": min(size, row["rank_upper"] - above),
    }
    if "rank_class" in row:
        places["rank_class"] = classes[row["group"], row["rank_class"]]
    return cast("BoardRow", row | places)


def _classes(rows: Sequence[BoardRow]) -> dict[tuple[int, int], int]:
    """Map the group and class of these rows to classes without gaps."""
    known = sorted({(row["group"], row["rank_class"]) for row in rows if "rank_class" in row})
    return {(group, number): sum(g == group and n <= number for g, n in known) for group, number in known}
