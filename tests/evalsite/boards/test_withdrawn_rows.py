"""Withdrawn chatbots: no rank of their own, and none that they take from others."""

from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evalsite.boards.rows import BoardRow
from evalsite.boards.withdrawn_rows import ranked_rows, rows_now, unranked_rows


def row(name: str, rank: int, lower: int, upper: int, **more: Any) -> BoardRow:
    given = {"version": name, "rank": rank, "rank_lower": lower, "rank_upper": upper, "group": 1, **more}
    return cast("BoardRow", given)


ROWS = [row("a", 1, 1, 1, rank_class=1), row("b", 2, 2, 3, rank_class=2), row("c", 3, 2, 3, rank_class=2)]


def places(rows: list[BoardRow]) -> list[tuple[int, int, int]]:
    return [(one["rank"], one["rank_lower"], one["rank_upper"]) for one in rows]


def test_rows_are_unchanged_while_nobody_has_left() -> None:
    assert rows_now(ROWS, {}) == ROWS
    assert rows_now(ROWS, {"elsewhere": "gone"}) == ROWS


def test_others_move_up_past_a_withdrawn_chatbot() -> None:
    found = rows_now(ROWS, {"a": "its maker asked"})
    assert places(ranked_rows(found)) == [(1, 1, 2), (2, 1, 2)]
    assert [one["rank_class"] for one in ranked_rows(found)] == [1, 1]
    assert [(one["version"], one["withdrawn"]) for one in unranked_rows(found)] == [("a", "its maker asked")]
    assert [one["version"] for one in found] == ["a", "b", "c"], "pairs of the chart data count rows in this order"


def test_other_groups_keep_their_ranks() -> None:
    apart = [*ROWS, row("x", 1, 1, 1, group=2)]
    assert places(ranked_rows(rows_now(apart, {"a": ""})))[-1] == (1, 1, 1)


@given(
    st.integers(2, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, 2**30), st.sets(st.integers(0, n - 1))))
)
def test_ranks_without_the_withdrawn_hold_the_exact_ones(drawn: tuple[int, int, set[int]]) -> None:
    size, seed, gone = drawn
    better = np.triu(np.random.default_rng(seed).random((size, size)) < 0.5, 1)
    names = [str(n) for n in range(size)]
    rows = [row(names[m], m + 1, 1 + int(better[:, m].sum()), size - int(better[m].sum())) for m in range(size)]
    stay = [m for m in range(size) if m not in gone]
    found = ranked_rows(rows_now(rows, {names[m]: "" for m in gone}))
    assert [one["rank"] for one in found] == list(range(1, len(stay) + 1))
    for one, m in zip(found, stay, strict=True):
        exact = 1 + better[stay, m].sum(), len(stay) - better[m, stay].sum()
        assert 1 <= one["rank_lower"] <= exact[0] <= one["rank"] <= exact[1] <= one["rank_upper"] <= len(stay)
