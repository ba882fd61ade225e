"""How a posterior shows itself: one line, an HTML table, a frame and pictures."""

import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from irt_engine import EngineError, NotIdentified, ResponseTable, fit
from tests.irt_engine.cast import small_board
from tests.irt_engine.posteriors import random_board

mpl.use("Agg")  # no window


def test_it_is_one_line_without_its_arrays() -> None:
    text = repr(random_board(6, 1))
    assert text.startswith("<Posterior of 6 chatbots, ")
    assert text.count("±") == 4
    assert len(text) < 250


def test_frame_has_the_answers_of_the_methods_best_first() -> None:
    board = random_board(5, 2, group=[1, 1, 2, 1, 2])
    frame = board.to_frame(0.8)
    assert list(frame["group"]) == sorted(frame["group"])
    for row in frame.to_dict("records"):
        m = board.chatbots.index(row["chatbot"])
        assert (row["rank"], row["rank_lower"], row["rank_upper"]) == tuple(board.rank_bounds(0.8)[m])
        assert (row["lower"], row["upper"]) == pytest.approx(tuple(board.interval(0.8)[m]))
        assert row["class"] == board.interval_classes(0.8)[m]
    for _, group in frame.groupby("group"):
        assert list(group["ability"]) == sorted(group["ability"], reverse=True)


def test_names_are_escaped_in_html() -> None:
    votes = {"system_a": ["<b>x"] * 6, "system_b": ["y&"] * 6, "prompt_id": [1, 2, 3] * 2, "outcome": [1, -1, 0] * 2}
    html = fit(ResponseTable.from_votes(votes), seed=1)._repr_html_()
    assert "&lt;b&gt;x" in html
    assert "<b>" not in html
    assert "y&amp;" in html


def test_long_tables_are_cut() -> None:
    html = random_board(60, 3)._repr_html_()
    assert html.count("<tr>") == 51
    assert "10 more rows" in html


def test_comparisons_have_rows_of_their_own() -> None:
    pairs = fit(small_board(), model="pair", seed=1)
    frame = pairs.to_frame()
    assert len(frame) == len(pairs.comparisons)
    assert list(frame["theta"]) == list(pairs.theta)
    assert " : " in repr(pairs)
    with pytest.raises(NotIdentified, match="no abilities"):
        pairs.plot()


def test_plots_show_every_chatbot() -> None:
    board = random_board(4, 4)
    figure: Any = board.plot()
    assert {text.get_text() for text in figure.get_yticklabels()} == set(board.chatbots)
    matrix: Any = board.plot("matrix").images[0].get_array()
    probabilities = np.ma.filled(matrix, np.nan)
    off = ~np.eye(4, dtype=bool)
    assert np.allclose((probabilities + probabilities.T)[off], 1.0)
    assert (probabilities[np.triu_indices(4, 1)] >= 0.5).all(), "better ones stand first"
    lines: Any = board.plot("densities").get_lines()
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in lines if len(line.get_xdata()) > 2]
    assert areas == pytest.approx([1.0] * 3, abs=1e-3)


def test_unknown_plot_is_refused() -> None:
    with pytest.raises(EngineError, match="use one of intervals, matrix, densities"):
        random_board(3, 5).plot("pie")


@pytest.mark.parametrize(("library", "call"), [("pandas", "to_frame"), ("matplotlib", "plot")])
def test_absent_library_is_named(monkeypatch: pytest.MonkeyPatch, library: str, call: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EngineError, match="pip install"):
        getattr(random_board(3, 6), call)()
