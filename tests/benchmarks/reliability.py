"""Careless annotators: do intervals cover in spite of them, and are held-out votes foreseen better?

    EVAL_DATA_DIR=... python -m tests.benchmarks.reliability [--data-sets 100] [--careless 0.9 0] [--sets NAME]

Simulated: 8 chatbots x 30 prompts, half of the cells, 2 votes each, 20 annotators of whom 4 are careless; the votes as
they were before, all votes alike, and with reliability. Held out: folds as in `prediction`; a vote of annotator a is
foreseen as careless with probability c_a.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irt_engine import EngineWarning, Posterior, Priors, ResponseTable, fit
from irt_engine.agreement.annotator_reliability import fit_reliability
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import Truth, draw_truth

from . import votes as published
from .predict import vote_probabilities
from .prediction import FOLDS, clustered, folds, load
from .report import say, table
from .workers import run

CHATBOTS, PROMPTS, ANNOTATORS, SOME = 8, 30, 20, 4
FITS = ("votes as before", "all alike", "reliability")


@dataclass(frozen=True, slots=True)
class Simulated:
    """One data set."""

    seed: int
    careless: float


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold of published votes."""

    votes: str
    fold: int


def one(job: Simulated) -> FloatArray:
    """(3, 3) of each fit: share of the 95 % intervals of differences that cover, mean square error, mean variance."""
    truth = draw_truth(CHATBOTS, PROMPTS, seed=job.seed, form="vote")
    clean = draw_votes(truth, some_cells(CHATBOTS, PROMPTS, 0.5, seed=1000 + job.seed), seed=2000 + job.seed, votes=2)
    share = np.where(np.arange(ANNOTATORS) < SOME, job.careless, 0.0)
    votes = with_careless(clean, share, seed=3000 + job.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        found = (fit(clean, form="vote"), fit(votes, form="vote"), fit_reliability(votes)[0])
    return np.array([_against(truth, posterior) for posterior in found])


def _against(truth: Truth, found: Posterior) -> tuple[float, float, float]:
    pairs = found.differences()
    off = pairs.mean - (truth.ability[pairs.b] - truth.ability[pairs.a])
    return float((np.abs(off) < 1.96 * pairs.se).mean()), float((off**2).mean()), float((pairs.se**2).mean())


def held_out(job: Fold) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rows (n,) of a fold and their losses (n,), all votes alike and with reliability."""
    return predicted(load(job.votes), job.fold)


def predicted(votes: ResponseTable, fold: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """As `held_out`, of a table."""
    out = folds(votes) == fold
    train, test = published.part(votes, ~out), published.part(votes, out)
    n, priors = np.arange(len(test)), Priors()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        alike, (found, reliability) = fit(train, form="vote"), fit_reliability(train)
    c = np.full(len(test), reliability.mean)
    for k, number in enumerate(reliability.annotator):
        c[test.annotator == number] = reliability.careless[k]
    tie = (train.outcome == 0).mean()
    guess = np.where(test.outcome == 0, tie, (1.0 - tie) / 2.0)
    p, careful = (vote_probabilities(x, test, priors)[n, test.outcome + 1] for x in (alike, found))
    return np.flatnonzero(out), -np.log(p), -np.log((1.0 - c) * careful + c * guess)


def _simulations(shares: Sequence[float], count: int, processes: int) -> None:
    rows = []
    for careless in shares:
        jobs = [Simulated(seed, careless) for seed in range(count)]
        found = np.array(run(one, jobs, f"careless {careless}", processes=processes))
        mean, se = found.mean(axis=0), found[:, :, 0].std(axis=0, ddof=1) / np.sqrt(count)
        for k, name in enumerate(FITS):
            cover = f"{100 * mean[k, 0]:.1f} ({100 * se[k]:.1f})"
            rows.append((f"{careless:g}: {name}", cover, *(f"{np.sqrt(x):.3f}" for x in mean[k, 1:])))
    say(table(("careless share of 4 in 20", "95 % cover", "error", "SE"), rows))


def _predictions(names: Sequence[str], processes: int) -> None:
    rows = []
    for name in names:
        parts = run(held_out, [Fold(name, fold) for fold in range(FOLDS)], name, processes=processes)
        order = np.argsort(np.concatenate([part[0] for part in parts]))
        alike, found = (np.concatenate([part[k] for part in parts])[order] for k in (1, 2))
        mean, se = clustered(found - alike, published.items(load(name)).index)
        rows.append((name, f"{alike.mean():.4f}", f"{found.mean():.4f}", f"{mean:+.4f} (SE {se:.4f})"))
    say(table(("votes", "all alike", "reliability", "difference"), rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; no targets."""
    parser = argparse.ArgumentParser(prog="reliability", description="Careless annotators.")
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--careless", type=float, nargs="*", default=(0.9, 0.0))
    parser.add_argument("--sets", nargs="*", default=("chateval_ncm_human",))
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.careless:
        _simulations(options.careless, options.data_sets, options.processes)
    if options.sets and published.folder() is not None:
        _predictions(options.sets, options.processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
