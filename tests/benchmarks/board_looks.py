"""Boards of stopped campaigns: the share of equals among the pairs that a board shows as different at the stop.

    python -m tests.benchmarks.board_looks [--campaigns 5000]

Each campaign ranks 8 chatbots on 5 categories, with 1,000 planned judgments in batches of 100. After each batch, the
exact posterior of normal votes is computed for the whole board and for one category. Half of a batch compares random
pairs, and half compares neighbours on the board at that moment. Three truths: abilities from the prior, four pairs of
equals, and all equal. Six courses:

- budget: the campaign ends with its budget.
- precision: it ends at the first look with a small enough SE.
- first pair shown: its owner ends it when the running board, whose tests hold at any look, shows any pair.
- extended: if nothing is shown at the end, its owner doubles the budget.
- small batches: the batches close by age, so that more looks are taken than planned.
- tested as stopped: its owner tests each look as if it were the stop, which no page does, and ends at the first pair.

At the stop, the pairs are tested with the larger of planned and taken looks, as boards are. Targets: the mean share of
equals among the shown pairs (the false discovery rate) is at most 5 % for every truth, board and course but the last.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.posterior.sequential_tests import discoveries, log_p_equal
from scheduler.estimator import CAMPAIGN_PRIORS

from .report import Check, conclude, say, table

CHATBOTS, CATEGORIES, BUDGET, BATCH = 8, 5, 1000, 100
PLANNED = BUDGET // BATCH
SD = CAMPAIGN_PRIORS.ability_sd
INFORMATION = 0.2  # of a vote about a difference: about that of a logistic vote between near equals
ENOUGH_SE = 0.35  # of all differences: reached after half of the budget
ALPHA = 0.05
TRUTHS = ("unequal", "pairs of equals", "all equal")
COURSES = ("budget", "precision", "first pair shown", "extended", "small batches")
UNCHECKED = "tested as stopped"
_LOW, _HIGH = np.triu_indices(CHATBOTS, 1)
_BETWEEN = np.zeros((len(_LOW), CHATBOTS))
_BETWEEN[np.arange(len(_LOW)), _HIGH], _BETWEEN[np.arange(len(_LOW)), _LOW] = 1.0, -1.0


@dataclass(slots=True)
class Votes:
    """The votes of n campaigns on one board: precision matrices (n, M, M) and score vectors (n, M)."""

    precision: FloatArray
    score: FloatArray

    @classmethod
    def none(cls, campaigns: int) -> Votes:
        """The prior alone."""
        prior = np.tile(np.eye(CHATBOTS) / SD**2, (campaigns, 1, 1))
        return cls(prior, np.zeros((campaigns, CHATBOTS)))

    def add(self, count: IntArray, mean: FloatArray, rng: np.random.Generator) -> None:
        """Add count (n, P) votes per pair with true differences mean (n, P)."""
        weight = INFORMATION * count
        score = weight * mean + np.sqrt(weight) * rng.standard_normal(weight.shape)
        self.precision += np.einsum("np,pi,pj->nij", weight, _BETWEEN, _BETWEEN)
        self.score += score @ _BETWEEN

    def differences(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Abilities (n, M), and means and SEs of all differences (n, P)."""
        covariance = np.linalg.inv(self.precision)
        ability = np.einsum("nij,nj->ni", covariance, self.score)
        variance = np.einsum("pi,nij,pj->np", _BETWEEN, covariance, _BETWEEN)
        return ability, ability @ _BETWEEN.T, np.sqrt(variance)


def abilities(truth: str, campaigns: int, rng: np.random.Generator) -> FloatArray:
    """True abilities (n, M)."""
    drawn = SD * rng.standard_normal((campaigns, CHATBOTS))
    if truth == "pairs of equals":
        drawn[:, 1::2] = drawn[:, ::2]
    return np.zeros_like(drawn) if truth == "all equal" else drawn


def chosen(ability: FloatArray, size: int, rng: np.random.Generator) -> IntArray:
    """Votes (n, P) of a batch: half on random pairs, half on neighbours in the order of `ability`."""
    random = rng.multinomial(size // 2, np.full(len(_LOW), 1 / len(_LOW)), size=len(ability))
    place = np.argsort(np.argsort(-ability, axis=1), axis=1)
    near = (np.abs(place[:, _LOW] - place[:, _HIGH]) == 1).astype(float)
    return random + rng.multinomial(size - size // 2, near / near.sum(axis=1, keepdims=True))


def shown(mean: FloatArray, se: FloatArray, looks: int | None) -> BoolArray:
    """Pairs (n, P) that a board shows as different."""
    log_p = log_p_equal(mean, se, looks=looks, ability_sd=SD)
    return np.array([discoveries(row, ALPHA) for row in log_p])


@dataclass(frozen=True, slots=True)
class Stopped:
    """A board of n campaigns at the stop: equal (n, P), mean, se (n, P), and the looks for its tests (n,)."""

    equal: BoolArray
    mean: FloatArray
    se: FloatArray
    looks: IntArray

    def tested(self, rule: str) -> BoolArray:
        """Pairs (n, P) shown by a rule: the looks of the board, a single look, or any number."""
        if rule != "looks of the board":
            return shown(self.mean, self.se, 1 if rule == "a single look" else None)
        found = np.zeros_like(self.equal)
        for looks in np.unique(self.looks).tolist():
            here = self.looks == looks
            found[here] = shown(self.mean[here], self.se[here], looks)
        return found

    def false(self, rule: str) -> tuple[float, float]:
        """False discovery rate and its Monte Carlo SE."""
        found = self.tested(rule)
        rate = (found & self.equal).sum(axis=1) / np.maximum(found.sum(axis=1), 1)
        return float(rate.mean()), float(max(rate.std(ddof=1), len(rate) ** -0.5) / len(rate) ** 0.5)

    def right(self, rule: str) -> float:
        """Share of the different pairs that are shown; nan where all are equal."""
        different = ~self.equal
        return float(self.tested(rule)[different].mean()) if different.any() else float("nan")


def judged(whole: Votes, category: Votes, count: IntArray, true: FloatArray, rng: np.random.Generator) -> None:
    """Add a batch to the board, and its votes in the category to the category's board, too."""
    inside = rng.binomial(count, 1 / CATEGORIES)
    shared = Votes(np.zeros_like(whole.precision), np.zeros_like(whole.score))
    shared.add(inside, true, rng)
    for votes in (whole, category):
        votes.precision += shared.precision
        votes.score += shared.score
    whole.add(count - inside, true, rng)


def ends(course: str, votes: int, budget: IntArray, mean: FloatArray, se: FloatArray) -> BoolArray:
    """Which campaigns (n,) end at this look. An extension doubles their budget (n,) instead."""
    ended: BoolArray = votes >= budget
    if course == "extended":
        more = ended & (budget == BUDGET) & ~shown(mean, se, PLANNED).any(axis=1)
        budget[more] *= 2
        ended &= ~more
    if course == "precision":
        ended |= se.max(axis=1) <= ENOUGH_SE
    tests = {"first pair shown": None, UNCHECKED: PLANNED}
    if course in tests:
        ended |= shown(mean, se, tests[course]).any(axis=1)
    return ended


@cache
def boards(truth: str, course: str, campaigns: int) -> dict[str, Stopped]:
    """Simulate the campaigns of one truth and course to their stops: the whole board, and one category."""
    rng = np.random.default_rng([TRUTHS.index(truth), (*COURSES, UNCHECKED).index(course), campaigns])
    true = abilities(truth, campaigns, rng) @ _BETWEEN.T
    size = BATCH // 4 if course == "small batches" else BATCH
    whole, category = Votes.none(campaigns), Votes.none(campaigns)
    ability = np.zeros((campaigns, CHATBOTS))
    budget = np.full(campaigns, BUDGET)
    stopped = np.zeros(campaigns, bool)
    kept = {name: [np.zeros_like(true), np.zeros_like(true)] for name in ("whole board", "category")}
    looks = np.zeros(campaigns, np.int64)
    for taken in range(1, 2 * BUDGET // size + 1):
        judged(whole, category, chosen(ability, size, rng), true, rng)
        ability, mean, se = whole.differences()
        own = category.differences()[1:]
        ended = ends(course, taken * size, budget, mean, se)
        now = ended & ~stopped
        looks[now] = np.maximum(budget[now] // BATCH, taken)
        for name, found in (("whole board", (mean, se)), ("category", own)):
            for values, at_stop in zip(found, kept[name], strict=True):
                at_stop[now] = values[now]
        stopped |= now
        if stopped.all():
            break
    return {name: Stopped(true == 0.0, mean, se, looks) for name, (mean, se) in kept.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate, print, judge."""
    parser = argparse.ArgumentParser(prog="board_looks", description="What boards of stopped campaigns show.")
    parser.add_argument("--campaigns", type=int, default=5000, help="of each truth and course")
    options = parser.parse_args(arguments)
    if options.campaigns < 2:
        parser.error("--campaigns must be 2 or more: one campaign has no Monte Carlo SE")
    rules = ("looks of the board", "any number of looks", "a single look")
    rows, checks = [], []
    for truth in TRUTHS:
        for course in (*COURSES, UNCHECKED):
            for name, board in boards(truth, course, options.campaigns).items():
                cells = [f"{100 * board.false(rule)[0]:.1f} / {100 * board.right(rule):.0f}" for rule in rules]
                rows.append((f"{truth}, {course}, {name}", *cells))
                if course == UNCHECKED:
                    continue
                rate, se = board.false(rules[0])
                passed = rate <= ALPHA if rate - 2 * se > ALPHA or rate + 2 * se <= ALPHA else rate <= ALPHA or None
                measured = f"{100 * rate:.1f} % (SE {100 * se:.1f})"
                checks.append(Check(f"{truth}, {course}, {name}", measured, "<= 5 %", passed))
    say("Equals among the pairs shown at the stop / different pairs that are shown, percent")
    say(table(("truth, course, board", *rules), rows))
    return conclude("Boards of stopped campaigns: false discovery rate", checks)


if __name__ == "__main__":
    sys.exit(main())
