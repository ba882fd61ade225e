"""The fixed cast of the engine's tests: small tables, and bytes to compare posteriors by."""

from __future__ import annotations

from typing import Any

import numpy as np

from irt_engine import ResponseTable, WarmStart, fit_with_warm_start
from irt_engine.fitting.expectations import Expectations
from irt_engine.fitting.problem import FitProblem
from irt_engine.models.parameters import Information
from irt_engine.simulate import all_cells, draw_votes, some_cells
from irt_engine.truth import draw_truth


def small_board(seed: int = 3, share: float = 0.5, votes: int = 2) -> ResponseTable:
    """Five chatbots on twelve prompts."""
    truth = draw_truth(5, 12, seed=seed)
    return draw_votes(truth, some_cells(5, 12, share, seed=seed + 1), seed=seed + 2, votes=votes)


def start_of(table: ResponseTable, model: Any = "board", **options: Any) -> WarmStart:
    """Return the warm start that a fit leaves."""
    return fit_with_warm_start(table, model, **options).warm_start


def everything(chatbots: int, prompts: int, seed: int) -> ResponseTable:
    """Every cell once."""
    return draw_votes(draw_truth(chatbots, prompts, seed=seed), all_cells(chatbots, prompts), seed=seed + 1)


def rows(table: ResponseTable) -> dict[str, np.ndarray]:
    """The columns of a table as writable copies."""
    names = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return {name: getattr(table, name).copy() for name in names}


def rebuilt(table: ResponseTable, columns: dict[str, np.ndarray]) -> ResponseTable:
    """The same names with other columns."""
    return ResponseTable(table.chatbots, table.prompts, table.labels, **columns)


def ladder() -> ResponseTable:
    """good > middle > bad by 120 votes on ten prompts: three comparisons, four votes a cell."""
    counts = {("middle", "good"): (30, 5, 5), ("bad", "good"): (36, 2, 2), ("middle", "bad"): (5, 5, 30)}
    rows = [
        (a, b, f"p{i % 10}", outcome)
        for (a, b), (wins, ties, losses) in counts.items()
        for i, outcome in enumerate([1] * wins + [0] * ties + [-1] * losses)
    ]
    a, b, prompt, outcome = zip(*rows, strict=True)
    return ResponseTable.from_votes(a, b, prompt, outcome)


def random_votes(chatbots: int, prompts: int, votes: int, *, seed: int, spread: float = 0.0) -> ResponseTable:
    """Votes on random pairs and prompts; `spread` 0 is at random, 1e6 lets the stronger of two always win."""
    rng = np.random.default_rng(seed)
    ability = spread * rng.standard_normal(chatbots)
    a = rng.integers(0, chatbots, votes)
    b = (a + rng.integers(1, chatbots, votes)) % chatbots
    win = ability[b] - ability[a] > rng.logistic(size=votes)
    names = np.array([f"m{k}" for k in range(chatbots)])
    return ResponseTable.from_votes(
        names[a].tolist(),
        names[b].tolist(),
        [f"p{j}" for j in rng.integers(0, prompts, votes)],
        np.where(win, 1, -1).tolist(),
    )


def observed_information(problem: FitProblem, told: Expectations) -> Information:
    """Return the edges' information less their scores times their second derivatives, written down once more."""
    gaps, size = problem.prompts.gaps, told.d_phi.shape[1]
    cross = np.zeros((len(told.d_theta), size))
    cross[:, 0] = -told.d_theta
    phi = np.zeros((len(told.d_phi), size, size))
    phi[:, 0, :] = phi[:, :, 0] = -told.d_phi
    for gap in range(size - gaps, size):
        phi[:, gap, gap] = -told.d_phi[:, gap]
    nothing = np.zeros_like(told.information.i_theta)
    bends = problem.gathered(told.d_phi, Information(nothing, cross, phi))[1]
    seen = told.information
    return Information(seen.i_theta, seen.cross + bends.cross, seen.i_phi + bends.i_phi)
