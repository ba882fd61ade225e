"""Check of variance estimation: at the true SD, the score of a log SD is 0 on average.

    python -m tests.benchmarks.scale_scores [--boards 24]

Boards drawn from known SDs and fitted with them. In shares of what the votes determine of a group of effects: the score
of log discriminations and of replies (0 is right; below it, too small an SD is learned), from the variances under the
fit's q, from those at its mean, and from those that the fit uses.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import warnings
from collections.abc import Sequence

import numpy as np

from irt_engine import EngineError, EngineWarning, Priors
from irt_engine.arrays import FloatArray
from irt_engine.fitting.design import FitDesign, design
from irt_engine.fitting.everyday import _find
from irt_engine.fitting.expectations import CellEvaluator
from irt_engine.fitting.schur_complement import factored
from irt_engine.fitting.variance_estimation import estimation_variances
from irt_engine.models.parameters import Point
from irt_engine.simulate import draw_votes, some_cells
from irt_engine.truth import draw_truth

from .report import Check, conclude, say, table

SHAPES = {
    "8 x 60, 240 votes": (8, 60, 0.143),
    "20 x 100, 1,900 votes": (20, 100, 0.1),
    "8 x 12, all once": (8, 12, 1.0),
}
SLOPES, REPLIES = (0.25, 0.5, 1.0), (0.35, 0.7, 1.5)
GROUPS = ("log_discrimination", "reply")
WAYS = ("under q", "at the mean", "as learned")
NEARER = 0.5  # as far from 0, root mean square over all kinds of boards, as those under q


def drawn(shape: tuple[int, int, float], slope_sd: float, reply_sd: float, seed: int) -> FitDesign:
    """One vote on each of some cells, of known SDs, to be fitted with them."""
    chatbots, prompts, share = shape
    priors = Priors(cell_sd=0.25, pair_sd=0.1, log_discrimination_sd=slope_sd, reply_sd=reply_sd, learn=False)
    truth = draw_truth(
        chatbots, prompts, seed=seed, form="vote", priors=priors, pair_sd=0.1, cell_sd=0.25, reply_sd=reply_sd
    )
    votes = draw_votes(truth, some_cells(chatbots, prompts, share, seed=seed + 1), seed=seed + 2)
    return design(votes, "board", "vote", priors, None)


def scores(made: FitDesign) -> FloatArray:
    """(groups, 3 ways, 2): the score without its prior, and what is determined by the spread of the means."""
    found, _ = _find(made, None, None, None)
    state, problem = found.state, made.problem
    prior, at_mean = made.effects.precision(state.log_sd), found.at_mean
    under_q, mean = (factored(problem, one, prior) for one in (at_mean.plus(state.excess), at_mean))
    points = [Point(np.diag(one.covariance()), one.own_variances(one.covariance())) for one in (under_q, mean)]
    with CellEvaluator(problem, made.effects) as cells:
        points.append(estimation_variances(cells, at_mean, prior, points[0]))
    told = np.empty((len(GROUPS), len(WAYS), 2))
    for g, name in enumerate(GROUPS):
        group = next(one for one in made.effects.groups if one.name == name)
        for w, variance in enumerate(points):
            m, v = made.effects._members(group, state.point, variance)
            told[g, w] = ((m @ m + v.sum()) / group.sd**2 - m.size, m @ m / group.sd**2)
    return told


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, fit, print, judge."""
    parser = argparse.ArgumentParser(prog="scale_scores", description="Scores of log SDs at the truth.")
    parser.add_argument("--boards", type=int, default=24, help="of every kind; a third as many of the larger ones")
    asked = parser.parse_args(arguments)
    rows, found = [], []
    for slope_sd, reply_sd, name in itertools.product(SLOPES, REPLIES, SHAPES):
        boards = asked.boards if SHAPES[name][0] < 20 else max(asked.boards // 3, 2)
        told = []
        for k in range(boards):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EngineWarning)
                try:
                    told.append(scores(drawn(SHAPES[name], slope_sd, reply_sd, 9000 + 10 * k)))
                except EngineError:
                    continue
        if not told:
            rows.append((f"{slope_sd:g}, {reply_sd:g}: {name}", "0", *["no fit"] * 6))
            continue
        total = np.sum(told, axis=0)
        share = total[..., 0] / total[..., 1]
        found.append(share)
        rows.append((f"{slope_sd:g}, {reply_sd:g}: {name}", str(len(told)), *(f"{x:+.2f}" for x in share.ravel())))
    head = [f"{group}: {way}" for group in ("slopes", "replies") for way in WAYS]
    say(table(("SD of log slopes, of replies", "boards", *head), rows))
    off = np.sqrt(np.mean(np.square(found), axis=0))
    say("root mean square: " + "  ".join(f"{name} {x:.2f}" for name, x in zip(head, off.ravel(), strict=True)))
    checks = [
        Check(
            f"{name}: as learned / under q",
            f"{off[g, 2] / off[g, 0]:.2f}",
            f"<= {NEARER}",
            bool(off[g, 2] <= NEARER * off[g, 0]),
        )
        for g, name in enumerate(GROUPS)
    ]
    return conclude("Scores of log SDs at the truth, in shares of what is determined", checks)


if __name__ == "__main__":
    sys.exit(main())
