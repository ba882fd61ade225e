"""Careless annotators: do intervals cover in spite of them, and are held-out votes foreseen better?

    EVAL_DATA_DIR=... python -m tests.benchmarks.annotators [--data-sets 100] [--careless 0 2 4] [--sets NAME]

Simulated: 8 chatbots x 30 prompts, half of the cells, 2 votes each, 20 annotators of whom some are careless nine times
in ten; the votes as they were before, all votes alike, and with effects of annotators. Held out: folds as in
`prediction`; each vote is foreseen with the effects of its annotator. Time: 100,000 votes, processor time beside the
plain fit's.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from irt_engine import EngineWarning, Posterior, Priors, ResponseTable, fit, fit_with_warm_start
from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models import AnnotatorEffects
from irt_engine.simulate import draw_votes, some_cells, with_careless
from irt_engine.truth import Truth, draw_truth

from . import votes as published
from .predict import vote_probabilities
from .prediction import FOLDS, clustered, folds, load
from .report import Check, conclude, say, table
from .scale import Size, drawn
from .workers import run

CHATBOTS, PROMPTS, ANNOTATORS, CARELESS = 8, 30, 20, 0.9
FITS = ("votes as before", "all alike", "with effects")
MOST_LOSS, MOST_TIME, COVER, MOST_WIDER = 0.940, 1.5, (0.93, 0.97), 1.03
TIMED = Size(100_000, 20, 1000)


@dataclass(frozen=True, slots=True)
class Simulated:
    """One data set."""

    seed: int
    careless: int


@dataclass(frozen=True, slots=True)
class Fold:
    """One fold of published votes."""

    votes: str
    fold: int


def one(job: Simulated) -> FloatArray:
    """(3, 3) of each fit: share of the 95 % intervals of differences that cover, mean square error, mean variance."""
    truth = draw_truth(CHATBOTS, PROMPTS, seed=job.seed, form="vote")
    clean = draw_votes(truth, some_cells(CHATBOTS, PROMPTS, 0.5, seed=1000 + job.seed), seed=2000 + job.seed, votes=2)
    share = np.where(np.arange(ANNOTATORS) < job.careless, CARELESS, 0.0)
    votes = with_careless(clean, share, seed=3000 + job.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        found = (fit(clean, form="vote"), fit(votes, form="vote"), fit(votes, form="vote", annotators=True))
    return np.array([_against(truth, posterior) for posterior in found])


def _against(truth: Truth, found: Posterior) -> tuple[float, float, float]:
    pairs = found.differences()
    off = pairs.mean - (truth.ability[pairs.b] - truth.ability[pairs.a])
    return float((np.abs(off) < 1.96 * pairs.se).mean()), float((off**2).mean()), float((pairs.se**2).mean())


def held_out(job: Fold) -> tuple[IntArray, FloatArray, FloatArray]:
    """Rows (n,) of a fold and their losses (n,), all votes alike and with effects."""
    return predicted(load(job.votes), job.fold)


def predicted(votes: ResponseTable, fold: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """As `held_out`, of a table."""
    out = folds(votes) == fold
    train, test = published.part(votes, ~out), published.part(votes, out)
    n, priors = np.arange(len(test)), Priors()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        alike = fit(train, form="vote")
        found = fit_with_warm_start(train, form="vote", annotators=True)
    plain = vote_probabilities(alike, test, priors)[n, test.outcome + 1]
    assert found.annotators is not None
    own = with_effects(vote_probabilities(found.posterior, test, priors), found.posterior, found.annotators, test)
    return np.flatnonzero(out), -np.log(plain), -np.log(own)


def with_effects(p: FloatArray, board: Posterior, found: AnnotatorEffects, test: ResponseTable) -> FloatArray:
    """(n,) the chances of the test's votes; p (n, 3) are those of an annotator without effects."""
    K, n = len(found.annotator), np.arange(len(test))
    place = np.minimum(np.searchsorted(found.annotator, test.annotator), K - 1)
    who = np.where(found.annotator[place] == test.annotator, place, K)
    shown = np.where(test.a_first == 1, -1.0, np.where(test.a_first == 0, 1.0, 0.0))
    liked = found.expected_preference(who, test.b) - found.expected_preference(who, test.a)
    move = board.discrimination[test.prompt] * (np.append(found.side, 0.0)[who] * shown + liked)
    above, below = logit(1.0 - p[:, 0]), logit(p[:, 2])
    middle = 0.5 * (above + below) + move
    half = 0.5 * (above - below) * np.exp(np.append(found.tie, 0.0)[who])
    F0, F1 = expit(middle + half), expit(middle - half)
    careful = np.stack([1.0 - F0, F0 - F1, F1], axis=1)[n, test.outcome + 1]
    shares = np.vstack([found.shares, found.shares.mean(axis=0)])[who]
    outcome = np.where(test.a_first == 1, test.outcome + 1, 1 - test.outcome)
    unordered = (test.a_first < 0) & (test.outcome != 0)
    guess = np.where(unordered, 0.5 * (shares[:, 0] + shares[:, 2]), shares[n, outcome])
    c = np.append(found.careless, found.mean)[who]
    chance: FloatArray = (1.0 - c) * careful + c * guess
    return chance


def processor_times() -> tuple[float, float]:
    """Seconds of processor time of the plain fit of many votes, and of the fit with effects of 200 annotators."""
    votes = with_careless(drawn(TIMED), np.where(np.arange(200) < 20, CARELESS, 0.0), seed=3)
    fit(votes, form="vote", annotators=True)
    begun = time.process_time()
    fit(votes, form="vote")
    plain = time.process_time()
    fit(votes, form="vote", annotators=True)
    return plain - begun, time.process_time() - plain


def _simulations(numbers: Sequence[int], count: int, processes: int) -> list[Check]:
    rows, checks = [], []
    for careless in numbers:
        jobs = [Simulated(seed, careless) for seed in range(count)]
        found = np.array(run(one, jobs, f"{careless} careless", processes=processes))
        mean, se = found.mean(axis=0), found[:, :, 0].std(axis=0, ddof=1) / np.sqrt(count)
        for k, name in enumerate(FITS):
            cover = f"{100 * mean[k, 0]:.1f} ({100 * se[k]:.1f})"
            rows.append((f"{careless}: {name}", cover, *(f"{np.sqrt(x):.3f}" for x in mean[k, 1:])))
        share, near = float(mean[2, 0]), 2.0 * float(se[2])
        fits = COVER[0] - near <= share <= COVER[1] + near
        checks.append(Check(f"cover, {careless} of {ANNOTATORS} careless", f"{share:.3f}", ".93 to .97", fits))
        if careless == 0:
            wider = float(np.sqrt(mean[2, 2] / mean[1, 2]))
            checks.append(Check("SE, nobody careless", f"x {wider:.3f}", f"<= x {MOST_WIDER}", wider <= MOST_WIDER))
    say(table(("careless of 20", "95 % cover", "error", "SE"), rows))
    return checks


def _predictions(names: Sequence[str], processes: int) -> list[Check]:
    rows, checks = [], []
    for name in names:
        parts = run(held_out, [Fold(name, fold) for fold in range(FOLDS)], name, processes=processes)
        order = np.argsort(np.concatenate([part[0] for part in parts]))
        alike, found = (np.concatenate([part[k] for part in parts])[order] for k in (1, 2))
        mean, se = clustered(found - alike, published.items(load(name)).index)
        rows.append((name, f"{alike.mean():.4f}", f"{found.mean():.4f}", f"{mean:+.4f} (SE {se:.4f})"))
        most = MOST_LOSS if name == "chateval_ncm_human" else float(alike.mean()) + 0.001
        checks.append(Check(f"loss, {name}", f"{found.mean():.4f}", f"<= {most:.4f}", float(found.mean()) <= most))
    say(table(("votes", "all alike", "with effects", "difference"), rows))
    return checks


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and compare with the targets."""
    parser = argparse.ArgumentParser(prog="annotators", description="Effects of annotators.")
    parser.add_argument("--data-sets", type=int, default=100)
    parser.add_argument("--careless", type=int, nargs="*", default=(0, 2, 4))
    parser.add_argument("--sets", nargs="*", default=("chateval_ncm_human",))
    parser.add_argument("--no-time", action="store_true", help="measure no processor time")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    checks = _simulations(options.careless, options.data_sets, options.processes) if options.careless else []
    if options.sets and published.folder() is not None:
        checks += _predictions(options.sets, options.processes)
    if not options.no_time:
        plain, own = processor_times()
        ratio = own / plain
        say(f"100,000 votes: {plain:.2f} s plain, {own:.2f} s with effects of annotators")
        checks.append(Check("time at 100,000 votes", f"x {ratio:.2f}", f"<= x {MOST_TIME}", ratio <= MOST_TIME))
    return conclude("Effects of annotators", checks)


if __name__ == "__main__":
    sys.exit(main())
