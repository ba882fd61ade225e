"""Held-out votes: does the board predict them better than Davidson's model, Bradley-Terry and the pair model?

    EVAL_DATA_DIR=... python -m tests.benchmarks.prediction [--sets vicuna80_human] [--variants | --tiers]

Ten folds by unordered pair and prompt, across all runs, so that no held-out vote is about two replies that were seen
together in training; rows whose two outputs were the same are left out, and so is the order shown. Losses are per vote;
differences are paired, with SEs clustered by pair and prompt. All models learn their SDs from the training votes alone.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from irt_engine import DEFAULT_PRIORS, EngineError, EngineWarning, Priors, ResponseTable, fit
from irt_engine.arrays import FloatArray, IntArray
from scheduler.tiers import place

from . import votes as published
from .baselines import bradley_terry, davidson
from .predict import vote_probabilities
from .report import Check, conclude, say, table
from .workers import run

FOLDS = 10
# Of wmt15_human the three language pairs with the fewest votes, which take the least time.
SETS = (
    "chateval_ncm_human", "vicuna80_human", "e2e_quality_human",
    "wmt15_human:fre-eng", "wmt15_human:fin-eng", "wmt15_human:eng-fin",
)  # fmt: skip
MODELS = ("board", "pair", "davidson", "bradley-terry")
VARIANTS = {
    "board": DEFAULT_PRIORS,
    "no pair effect": Priors(pair_sd=0.0),
    "scales as given": Priors(learn=False),
    "as given, no pair effect": Priors(learn=False, pair_sd=0.0),
    "as given, cell 0.01": Priors(learn=False, cell_sd=0.01),
    "as given, cell 1.2": Priors(learn=False, cell_sd=1.2),
    "as given, log alpha 0.25": Priors(learn=False, log_discrimination_sd=0.25),
    "as given, log alpha 1": Priors(learn=False, log_discrimination_sd=1.0),
}
TIERS = (2, 3)  # that discriminations may differ by, as the posterior of a first fit places the chatbots


@lru_cache(maxsize=2)
def load(name: str) -> ResponseTable:
    """NAME or NAME:category."""
    file, _, category = name.partition(":")
    rows = [row for row in published.read(file) if not category or row["category"] == category]
    return published.table_of([row for row in rows if "same_output" not in (row.get("note") or "").split(";")])


def folds(votes: ResponseTable, seed: int = 0) -> IntArray:
    """(n,) the fold of each vote; votes on one pair and prompt share theirs."""
    found = published.items(votes)
    of_item = np.random.default_rng(seed).permutation(np.arange(found.count) % FOLDS)
    fold: IntArray = of_item[found.index]
    return fold


@dataclass(frozen=True, slots=True)
class Job:
    """One model without one fold."""

    votes: str
    fold: int
    model: str
    priors: Priors = DEFAULT_PRIORS
    tiers: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Predicted:
    """Held-out losses: rows (n,), three-way and half-win (n,) each. Bradley-Terry has no three-way loss: NaN."""

    rows: IntArray
    three_way: FloatArray
    half_win: FloatArray
    settled: bool
    seconds: float


def one(job: Job) -> Predicted:
    """Fit and predict."""
    return predicted(load(job.votes), job)


def predicted(votes: ResponseTable, job: Job) -> Predicted:
    """The losses of the votes of one fold under a model of all others."""
    out = folds(votes) == job.fold
    train, test = published.part(votes, ~out), published.part(votes, out)
    began = time.perf_counter()
    p, half, settled = _probabilities(job, train, test)
    n, y = np.arange(len(test)), (test.outcome + 1) / 2.0
    three_way = np.full(len(test), np.nan) if p is None else -np.log(p[n, test.outcome + 1])
    half_win = -(y * np.log(half) + (1.0 - y) * np.log1p(-half))
    return Predicted(np.flatnonzero(out), three_way, half_win, settled, time.perf_counter() - began)


def _probabilities(job: Job, train: ResponseTable, test: ResponseTable) -> tuple[FloatArray | None, FloatArray, bool]:
    """(n, 3) or None, P(b) + P(tie) / 2 (n,), and whether the fit settled."""
    if job.model == "bradley-terry":
        return None, bradley_terry(train).half_win(test.a, test.b), True
    if job.model == "davidson":
        p, settled = davidson(train).probabilities(test.a, test.b), True
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EngineWarning)
            found = fit(train, "pair" if job.model == "pair" else "board", form="vote", priors=job.priors)
            if job.tiers > 1:
                of = place(found, count=job.tiers)
                tiers = [of[name] for name in found.chatbots]
                found = fit(train, "board", form="vote", priors=job.priors, tiers=tiers)
        p, settled = vote_probabilities(found, test, job.priors), found.converged
    return p, p[:, 2] + p[:, 1] / 2.0, settled


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """All votes of a set, each predicted by the fit that had not seen it."""

    three_way: FloatArray
    half_win: FloatArray
    unsettled: int
    seconds: float


def together(parts: list[Predicted]) -> Losses:
    """The folds' losses in the rows' order."""
    order = np.argsort(np.concatenate([part.rows for part in parts]))
    return Losses(
        np.concatenate([part.three_way for part in parts])[order],
        np.concatenate([part.half_win for part in parts])[order],
        sum(not part.settled for part in parts),
        sum(part.seconds for part in parts),
    )


def clustered(difference: FloatArray, cluster: IntArray) -> tuple[float, float]:
    """Mean of a difference per vote, and its SE when votes of a cluster hang together."""
    mean = float(difference.mean())
    sums = np.bincount(cluster, difference - mean)
    K = len(sums)
    return mean, float(np.sqrt((sums**2).sum() * K / (K - 1)) / len(difference))


def compare(name: str, votes: ResponseTable, losses: dict[str, Losses]) -> list[Check]:
    """The board against each of the others, where it should win."""
    cluster = published.items(votes).index
    board = losses["board"]
    against = [(other, "three-way", board.three_way, losses[other].three_way) for other in ("davidson", "pair")]
    against.append(("bradley-terry", "half-win", board.half_win, losses["bradley-terry"].half_win))
    checks = []
    for other, loss, ours, theirs in against:
        mean, se = clustered(ours - theirs, cluster)
        checks.append(Check(f"{name}: board - {other}, {loss}", f"{mean:+.5f} (SE {se:.5f})", "< 0", mean < 0.0))
    return checks


def _row(name: str, model: str, found: Losses) -> tuple[str, ...]:
    three_way = "-" if np.isnan(found.three_way).any() else f"{found.three_way.mean():.4f}"
    return (name, model, three_way, f"{found.half_win.mean():.4f}", str(found.unsettled), f"{found.seconds:.0f}")


_HEAD = ("votes", "model", "three-way", "half-win", "folds not settled", "seconds")


def measure(name: str, models: dict[str, Job], processes: int) -> dict[str, Losses]:
    """Losses by the models' names."""
    jobs = [replace(job, fold=fold) for job in models.values() for fold in range(FOLDS)]
    parts = run(one, jobs, name, processes=processes)
    return {key: together(parts[FOLDS * k : FOLDS * (k + 1)]) for k, key in enumerate(models)}


def _priors(name: str) -> dict[str, Job]:
    return {key: Job(name, 0, "board", priors) for key, priors in VARIANTS.items()}


def _tiers(name: str) -> dict[str, Job]:
    return {"board": Job(name, 0, "board")} | {f"{T} tiers": Job(name, 0, "board", tiers=T) for T in TIERS}


def _variants(name: str, models: dict[str, Job], processes: int) -> None:
    """What helps and what does not, for whoever changes the model."""
    losses, cluster = measure(name, models, processes), published.items(load(name)).index
    rows = []
    for key, found in losses.items():
        mean, se = clustered(found.three_way - losses["board"].three_way, cluster)
        rows.append((*_row(name, key, found), f"{mean:+.5f} (SE {se:.5f})"))
    say(table((*_HEAD, "three-way minus board's"), rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="prediction", description="Held-out log loss per vote.")
    parser.add_argument("--sets", nargs="+", default=SETS, help="NAME or NAME:category")
    parser.add_argument("--variants", action="store_true", help="compare priors instead of models; no targets")
    parser.add_argument("--tiers", action="store_true", help="compare discriminations by tier; no targets")
    parser.add_argument("--processes", type=int, default=0)
    options = parser.parse_args(arguments)
    if published.folder() is None:
        return conclude("Prediction", [Check("published votes", published.MISSING, "", None)])
    checks: list[Check] = []
    for name in options.sets:
        if options.variants or options.tiers:
            _variants(name, _priors(name) if options.variants else _tiers(name), options.processes)
            continue
        try:
            losses = measure(name, {model: Job(name, 0, model) for model in MODELS}, options.processes)
        except EngineError as error:  # the other sets still have something to say
            checks.append(Check(name, str(error), "a prediction", False))
            continue
        say(table(_HEAD, [_row(name, model, losses[model]) for model in MODELS]))
        checks += compare(name, load(name), losses)
    return 0 if options.variants or options.tiers else conclude("Prediction: loss per held-out vote", checks)


if __name__ == "__main__":
    sys.exit(main())
