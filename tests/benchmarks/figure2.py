"""The first paper's Figure 2: how precise a comparison is after so many prompts, by how the prompts are chosen.

    EVAL_DATA_DIR=... python -m tests.benchmarks.figure2 [--sets NAME ...] [--svg docs/pictures/figure2-NAME.svg]
                                                         [--as-given]

Leave a comparison out: prompts are learned without it (model `pair`, net ratings; on AlpacaEval without its fold of
six, which is quicker and leaves a little less to learn from; each fit begins where the one of all comparisons ended,
which shortens the way and changes no result). Its SE is the posterior SD of its theta given its own
net ratings on the first k prompts, with the prompts' parameters as learned. Prompts come

- at random (the mean over DRAWS orders),
- by prompt: by their expected information over the thetas of all other comparisons,
- by prompt and tier: the comparisons are halved by theta; the expected information is over those of the half in which
  the one left out stands after its first FIRST prompts, with parameters learned from that half alone,
- one by one: the expected information under what is known of this very theta so far,
- by an oracle: the expected information under what all of its ratings say of theta. Nobody can choose so beforehand: it
  is the most that choosing by these prompts' information can be worth.

SEs rest on the parameters learned from all other comparisons, whichever way prompts are chosen: curves differ by the
prompts alone, and all end at the same SE.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from irt_engine import EngineWarning, FitResult, Posterior, ResponseTable, WarmStart, fit_with_warm_start
from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.models.graded_response import category_probabilities, item_information
from irt_engine.models.priors import DEFAULT_PRIORS, Priors

from . import votes as published
from . import workers
from .curves import Curve, drawing
from .report import Check, conclude, say, table

CHATEVAL, ALPACAEVAL = "chateval_ncm_human", "alpacaeval_weighted_alpaca_eval_gpt4_turbo"
BASELINE = "gpt4_1106_preview"  # all others are compared with it, and its own row is itself against itself
SETS = {"AlpacaEval": ALPACAEVAL, "ChatEval": CHATEVAL}
FOLDS = {"AlpacaEval": 10, "ChatEval": 100}  # of 57 and 19 comparisons: every one by itself on ChatEval
ORACLE = "by an oracle"
WAYS = ("at random", "by prompt", "by prompt and tier", "one by one", ORACLE)
MOST_OF_FULL, MOST_OF_RANDOM = 1.08, 0.95
DRAWS, FIRST, EVERY = 20, 20, 10
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
_GRID = np.linspace(-12.0, 12.0, 481)
_MOST = 3  # of a net rating


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """Net ratings (C, J) of C comparisons on J prompts, whole numbers -3..3, and which of them there are (C, J)."""

    names: tuple[str, ...]
    net: IntArray
    known: BoolArray

    def responses(self, rows: IntArray) -> ResponseTable:
        """Some comparisons as votes: a net rating u is that of three votes, |u| for its side and ties."""
        c, j = np.nonzero(self.known[rows])
        net = self.net[rows[c], j]
        vote = np.arange(_MOST)
        outcome = np.where(vote < np.abs(net)[:, None], np.sign(net)[:, None], 0).ravel()
        a, b = (np.repeat([f"{side} {self.names[k]}" for k in rows[c]], _MOST) for side in "AB")
        prompt = np.repeat([f"{k:05d}" for k in j], _MOST)
        return ResponseTable.from_votes(a.tolist(), b.tolist(), prompt.tolist(), outcome.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Prompts:
    """Discrimination (J,) and thresholds (J, 6) as others learned them, and the thetas of those others."""

    discrimination: FloatArray
    thresholds: FloatArray
    theta: FloatArray

    @classmethod
    def of(cls, found: Posterior, count: int) -> Prompts:
        """By number; a prompt without ratings is a typical one."""
        number = np.array([int(name) for name in found.prompts])
        slope = np.full(count, float(np.exp(np.log(found.discrimination).mean())))
        steps = np.tile(np.median(found.thresholds, axis=0), (count, 1))
        slope[number], steps[number] = found.discrimination, found.thresholds
        return cls(slope, steps, found.theta)

    def information(self) -> FloatArray:
        """(G, J) at every theta of the grid."""
        return item_information(_GRID[:, None], self.discrimination[None, :], self.thresholds[None, :, :])

    def log_likelihood(self, net: IntArray) -> FloatArray:
        """(G, J) of net ratings (J,) at every theta of the grid."""
        p = category_probabilities(_GRID[:, None], self.discrimination[None, :], self.thresholds[None, :, :])
        return np.log(np.maximum(p[:, np.arange(len(net)), net + _MOST], 1e-300))


def posterior_on_grid(log_likelihood: FloatArray) -> FloatArray:
    """(..., G) probabilities of theta on the grid, under its prior, from summed log-likelihoods (..., G)."""
    log_p = log_likelihood - 0.5 * (_GRID / DEFAULT_PRIORS.theta_sd) ** 2
    p = np.exp(log_p - log_p.max(axis=-1, keepdims=True))
    weights: FloatArray = p / p.sum(axis=-1, keepdims=True)
    return weights


def spread(weights: FloatArray) -> FloatArray:
    """(...,) SD of theta under probabilities (..., G)."""
    mean = weights @ _GRID
    return np.sqrt(np.maximum(weights @ _GRID**2 - mean**2, 0.0))


def ses_along(log_likelihood: FloatArray, order: IntArray) -> FloatArray:
    """(len(order),) SE after the first 1, 2, ... prompts of an order."""
    return spread(posterior_on_grid(np.cumsum(log_likelihood[:, order], axis=1).T))


def one_by_one(log_likelihood: FloatArray, information: FloatArray, asked: IntArray) -> IntArray:
    """An order of the prompts `asked`: the next few tell most about theta as the earlier ones have it."""
    total, left, order = np.zeros(len(_GRID)), list(asked), []
    while left:
        value = posterior_on_grid(total) @ information[:, left]
        best = [left[k] for k in np.argsort(-value, kind="stable")[:EVERY]]
        order += best
        total += log_likelihood[:, best].sum(axis=1)
        left = [j for j in left if j not in set(best)]
    return np.array(order, np.int64)


def by_value(information: FloatArray, thetas: FloatArray, asked: IntArray) -> IntArray:
    """The prompts `asked` by their mean information over thetas, the highest first."""
    nearest = np.abs(_GRID[:, None] - thetas[None, :]).argmin(axis=0)
    return _descending(information[nearest].mean(axis=0), asked)


def _descending(value: FloatArray, asked: IntArray) -> IntArray:
    """The prompts `asked` by their value (J,), the highest first."""
    return asked[np.argsort(-value[asked], kind="stable")]


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What the comparisons outside a fold teach: all of them together, those below their median theta, and the rest."""

    every: Prompts
    lower: Prompts
    upper: Prompts

    @classmethod
    def of(
        cls, ratings: Ratings, others: IntArray, priors: Priors = DEFAULT_PRIORS, near: Near | None = None
    ) -> Learned:
        """Three fits, model `pair`, of the comparisons `others`."""
        near = near or Near()
        every = _fitted(ratings, others, priors, near.every).posterior
        above = every.theta >= np.median(every.theta)
        lower, upper = (
            _fitted(ratings, others[half], priors, start).posterior
            for half, start in ((~above, near.lower), (above, near.upper))
        )
        return cls(*(Prompts.of(found, ratings.net.shape[1]) for found in (every, lower, upper)))

    def half(self, told: FloatArray, first: IntArray) -> Prompts:
        """The half in which a comparison stands after its prompts `first`."""
        mean = float(posterior_on_grid(told[:, first].sum(axis=1)) @ _GRID)
        return self.upper if mean >= float(np.median(self.every.theta)) else self.lower


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Fits of all comparisons and of either half of them, from which those without one of them begin."""

    every: WarmStart | None = None
    lower: WarmStart | None = None
    upper: WarmStart | None = None

    @classmethod
    def of(cls, ratings: Ratings, priors: Priors) -> Near:
        """Three fits from nowhere; the halves take most of the time."""
        rows = np.arange(len(ratings.names))
        every = _fitted(ratings, rows, priors)
        above = every.posterior.theta >= np.median(every.posterior.theta)
        halves = (_fitted(ratings, rows[half], priors).warm_start for half in (~above, above))
        return cls(every.warm_start, *halves)


def _fitted(ratings: Ratings, rows: IntArray, priors: Priors, start: WarmStart | None = None) -> FitResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return fit_with_warm_start(ratings.responses(rows), "pair", priors=priors, start=start)


def left_out(ratings: Ratings, k: int, learned: Learned) -> dict[str, FloatArray]:
    """SE (J_k,) after 1, 2, ... prompts of comparison k, for every way of choosing them."""
    asked = np.flatnonzero(ratings.known[k])
    told, information = learned.every.log_likelihood(ratings.net[k]), learned.every.information()
    by_prompt = by_value(information, learned.every.theta, asked)
    first = by_prompt[:FIRST]
    half = learned.half(told, first)
    rest = by_value(half.information(), half.theta, np.setdiff1d(asked, first))
    known = posterior_on_grid(told[:, asked].sum(axis=1))
    rng = np.random.default_rng(k)
    return {
        "at random": np.mean([ses_along(told, rng.permutation(asked)) for _ in range(DRAWS)], axis=0),
        "by prompt": ses_along(told, by_prompt),
        "by prompt and tier": ses_along(told, np.concatenate([first, rest])),
        "one by one": ses_along(told, one_by_one(told, information, asked)),
        ORACLE: ses_along(told, _descending(known @ information, asked)),
    }


def alpaca(folder: Path) -> Ratings:
    """Net ratings 6 (pref - 0.5), rounded, halves away from 0; positive where the chatbot beats the baseline."""
    with np.load(folder / f"{ALPACAEVAL}.npz") as file:
        names, pref = file["models"].tolist(), np.asarray(file["pref"], np.float64)
    rows = [k for k, name in enumerate(names) if name != BASELINE]
    known = np.isfinite(pref[rows])
    graded = np.where(known, 6.0 * (pref[rows] - 0.5), 0.0)
    net = (np.sign(graded) * np.floor(np.abs(graded) + 0.5)).astype(np.int64)
    return Ratings(tuple(names[k] for k in rows), net, known)


def chateval() -> Ratings:
    """Net ratings of the crowd's votes, one comparison a run; positive where the second is better."""
    rows = published.read(CHATEVAL)
    runs, prompts = sorted({row["category"] for row in rows}), sorted({row["prompt_id"] for row in rows})
    run, prompt = {name: c for c, name in enumerate(runs)}, {name: j for j, name in enumerate(prompts)}
    total, votes = np.zeros((len(runs), len(prompts))), np.zeros((len(runs), len(prompts)))
    for row in rows:
        at = run[row["category"]], prompt[row["prompt_id"]]
        total[at] += int(row["outcome"])
        votes[at] += 1.0
    mean = _MOST * np.divide(total, votes, out=np.zeros_like(total), where=votes > 0)
    net = (np.sign(mean) * np.floor(np.abs(mean) + 0.5)).astype(np.int64)
    return Ratings(tuple(runs), net, votes > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Comparisons to leave out together, by number, and where the fits without them begin."""

    ratings: Ratings
    rows: IntArray
    priors: Priors
    near: Near


def of_fold(fold: Fold) -> list[dict[str, FloatArray]]:
    """(100,) for each comparison of the fold and every way: SEs at 1 %, 2 %, ..., 100 % of its prompts."""
    others = np.setdiff1d(np.arange(len(fold.ratings.names)), fold.rows)
    learned = Learned.of(fold.ratings, others, fold.priors, fold.near)
    found = []
    for k in fold.rows.tolist():
        along = left_out(fold.ratings, k, learned)
        at = np.ceil(np.arange(1, 101) / 100.0 * len(along[WAYS[0]]) - 1e-9).astype(np.int64) - 1
        found.append({way: se[at] for way, se in along.items()})
    return found


def curves_of(
    ratings: Ratings, folds: int, priors: Priors = DEFAULT_PRIORS, *, processes: int = 1
) -> dict[str, FloatArray]:
    """(C, 100) for every way: SEs of each comparison at 1 %, 2 %, ..., 100 % of its prompts."""
    C, near = len(ratings.names), Near.of(ratings, priors)
    number = np.random.default_rng(0).permutation(np.arange(C) % min(folds, C))
    jobs = [Fold(ratings, np.flatnonzero(number == k), priors, near) for k in range(number.max() + 1)]
    found: dict[str, FloatArray] = {way: np.empty((C, 100)) for way in WAYS}
    for job, of_rows in zip(jobs, workers.run(of_fold, jobs, "folds", processes=processes), strict=True):
        for k, along in zip(job.rows.tolist(), of_rows, strict=True):
            for way, se in along.items():
                found[way][k] = se
    return found


def ratio(own: FloatArray, other: FloatArray) -> tuple[float, float, float]:
    """Mean over comparisons (C,) of own over the mean of other, with its 95 % bootstrap interval over comparisons."""
    drawn = np.random.default_rng(0).integers(len(own), size=(2000, len(own)))
    low, high = np.quantile(own[drawn].mean(axis=1) / other[drawn].mean(axis=1), [0.025, 0.975])
    return float(own.mean() / other.mean()), float(low), float(high)


def _text(value: tuple[float, float, float]) -> str:
    return f"{value[0]:.3f} [{value[1]:.3f}, {value[2]:.3f}]"


def checks_of(name: str, curves: Mapping[str, FloatArray]) -> list[Check]:
    """At half of the prompts: beside all prompts, beside random, and what tiers add (no target of their own)."""
    half, full = {way: se[:, 49] for way, se in curves.items()}, curves["at random"][:, 99]
    checks = []
    for way in WAYS[1:]:
        of_full, of_random = ratio(half[way], full), ratio(half[way], half["at random"])
        full_target, random_target = (
            (f"<= {MOST_OF_FULL}", "") if name == "AlpacaEval" else ("", f"<= {MOST_OF_RANDOM}")
        )
        if way == ORACLE:  # what there is to be had, and no way of choosing
            full_target = random_target = ""
        checks += [
            Check(f"{name}, half, {way}: SE of the full set's", _text(of_full), full_target or "-",
                  of_full[0] <= MOST_OF_FULL if full_target else None),
            Check(f"{name}, half, {way}: SE of random's", _text(of_random), random_target or "-",
                  of_random[0] <= MOST_OF_RANDOM if random_target else None),
        ]  # fmt: skip
    tiers = ratio(half["by prompt and tier"], half["by prompt"])
    return [*checks, Check(f"{name}, half: with tiers, of without", _text(tiers), "-", None)]


def svg_of(name: str, curves: Mapping[str, FloatArray]) -> str:
    """The figure: mean SE over comparisons against the share of the prompts."""
    shares = np.arange(1, 101)
    lines = [Curve(way, shares[4:].tolist(), curves[way].mean(axis=0)[4:].tolist()) for way in WAYS]
    return drawing(f"{name}: SE of a left-out comparison", "share of the prompts, %", "posterior SD", lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Learn, choose, print, draw, judge."""
    parser = argparse.ArgumentParser(prog="figure2", description="The first paper's Figure 2.")
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS), metavar="NAME")
    parser.add_argument("--as-given", action="store_true", help="prompts differ as the prior says, not as learned")
    parser.add_argument("--processes", type=int, default=0, help="0: one a core")
    parser.add_argument("--svg", help="where to draw; NAME stands for the set")
    options = parser.parse_args(arguments)
    folder = published.folder()
    if folder is None:
        return conclude("Figure 2", [Check("published votes", published.MISSING, "", None)])
    checks = []
    for name in options.sets:
        ratings = alpaca(folder) if name == "AlpacaEval" else chateval()
        priors = replace(DEFAULT_PRIORS, learn=not options.as_given)
        curves = curves_of(ratings, FOLDS[name], priors, processes=options.processes)
        rows = [(way, *(f"{curves[way][:, round(100 * share) - 1].mean():.3f}" for share in SHARES)) for way in WAYS]
        say(f"\n{name}: {len(ratings.names)} comparisons, {ratings.net.shape[1]} prompts; mean SE")
        say(table(("prompts", *(f"{share:.0%}" for share in SHARES)), rows))
        checks += checks_of(name, curves)
        if options.svg:
            Path(options.svg.replace("NAME", name.lower())).write_text(svg_of(name, curves))
    return conclude("The first paper's Figure 2", checks)


if __name__ == "__main__":
    sys.exit(main())
