"""The notebook of the guide runs, cell by cell, and shows what it says."""

import json
from typing import Any

import matplotlib as mpl
import pandas as pd

from irt_engine import Posterior
from tests.processes import ROOT

mpl.use("Agg")  # no window


def test_cells_of_the_notebook_run() -> None:
    notebook = json.loads((ROOT / "docs" / "example.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = []
    for cell in cells:
        *body, last = cell.splitlines()
        exec("\n".join(body), names)  # noqa: S102  our own file
        shown.append(eval(last, names))  # noqa: S307
    board, frame, *pictures = shown[1:6]
    assert isinstance(board, Posterior)
    assert "<table>" in board._repr_html_()
    assert isinstance(frame, pd.DataFrame)
    assert frame["chatbot"].iloc[0] == "shrdlu", "the strongest of the simulation"
    assert all(axes.has_data() for axes in pictures)
    assert shown[6].mean > 0
    assert len(shown[7]) == 5
    assert all(not cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"), "kept without outputs"
