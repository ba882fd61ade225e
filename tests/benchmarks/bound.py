"""What the choice of pairs and prompts would save if all parameters were known beforehand.

    EVAL_DATA_DIR=... python -m tests.benchmarks.bound [--sets NAME ...]

A pair is decided when its expected |z| reaches 1.96: d^2 / v >= 3.84 for its difference d of abilities in the fit on
all votes and the variance v that so many votes leave. `even` spreads votes over all pairs until 80 % of the pairs that
all votes separate are decided; `best` is the allocation with the fewest votes that decides as many, the largest
differences (a convex problem: each v is convex in the votes). Votes tell what the average prompt tells, or what the
better half of the prompts does. The ratios bound what a choice of pairs can be expected to save; the numbers of votes
are too small for a policy that has to learn prompts and scales as well.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, NonlinearConstraint, minimize

from irt_engine import Posterior
from irt_engine.arrays import BoolArray, FloatArray
from irt_engine.errors import EngineWarning
from scheduler.estimator import CAMPAIGN_PRIORS, estimate
from scheduler.prompt_information import prompt_table
from scheduler.replay_measures import reference_of
from scheduler.state import CampaignState

from . import votes as published
from .decide import DECIDED, SETS
from .report import say, table

_CRITICAL = 1.96**2
_LEAST, _MOST = 1.0, 1e8  # votes


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """P pairs low < high of M chatbots: differences (P,), information of a vote (P,), which must be decided (P,)."""

    chatbots: int
    difference: FloatArray
    information: FloatArray
    pair_variance: float
    wanted: BoolArray

    @classmethod
    def of(cls, posterior: Posterior, *, better_half: bool = False) -> Known:
        """The parameters of a fit, with its 80 % largest separated differences."""
        low, high = np.triu_indices(len(posterior.chatbots), 1)
        difference = posterior.ability[high] - posterior.ability[low]
        told = prompt_table(CampaignState(posterior.chatbots, posterior.prompts, posterior), posterior)
        of_prompts = np.stack([np.sort(told.of_pair(float(d), 1e-6)) for d in difference])
        half = of_prompts.shape[1] // 2 if better_half else 0
        separated = reference_of(posterior).separated
        ranked = np.argsort(-np.where(separated, np.abs(difference), -1.0), kind="stable")
        wanted = np.zeros(len(difference), bool)
        wanted[ranked[: math.ceil(DECIDED * separated.sum() - 1e-9)]] = True
        pair_sd = posterior.scales.pair or 0.0
        return cls(len(posterior.chatbots), difference, of_prompts[:, half:].mean(axis=1), float(pair_sd**2), wanted)

    def left(self, votes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """v d^-2 3.84 (W,) of the wanted pairs, decided at 1 and below, and its derivative by the votes (W, P)."""
        low, high = np.triu_indices(self.chatbots, 1)
        x = np.eye(self.chatbots)[high] - np.eye(self.chatbots)[low]
        shared = 1.0 + votes * self.information * self.pair_variance  # the pair's own effect is integrated out
        told = votes * self.information / shared
        covariance = np.linalg.inv((x.T * told) @ x + np.eye(self.chatbots) * CAMPAIGN_PRIORS.ability_sd**-2)
        across = x[self.wanted] @ covariance @ x.T
        variance = np.einsum("ij,ij->i", x[self.wanted] @ covariance, x[self.wanted])
        scale = _CRITICAL / self.difference[self.wanted] ** 2
        slope: FloatArray = -scale[:, None] * across**2 * (self.information / shared**2)
        return scale * variance, slope


def even(known: Known) -> float:
    """Votes in all when every pair has equally many; infinite where that never decides the wanted pairs."""
    pairs = len(known.difference)

    def decided(votes: float) -> bool:
        return bool((known.left(np.full(pairs, votes / pairs))[0] <= 1.0).all())

    low, high = _LEAST, _MOST
    if not decided(high):
        return math.inf
    while high / low > 1.0 + 1e-6:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high


def best(known: Known) -> FloatArray:
    """(P,) the fewest votes that decide the wanted pairs. Raises RuntimeError if none are found."""
    unit = even(known) / len(known.difference)
    one = np.ones(len(known.difference))
    decided = NonlinearConstraint(
        lambda votes: known.left(votes * unit)[0],
        -np.inf,
        1.0,
        jac=lambda votes: unit * known.left(votes * unit)[1],
    )
    found = minimize(  # type: ignore[call-overload]
        lambda votes: float(votes.sum()),
        one,
        jac=lambda votes: one,
        bounds=Bounds(0.0, np.inf),
        constraints=decided,
        method="SLSQP",
        options={"maxiter": 500},
    )
    if not found.success:
        raise RuntimeError(f"no best allocation: {found.message}")
    votes: FloatArray = found.x * unit
    return votes


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, optimise, print."""
    parser = argparse.ArgumentParser(prog="bound", description="What a choice of pairs and prompts can save.")
    parser.add_argument("--sets", nargs="+", choices=[votes.name for votes in SETS], metavar="NAME")
    options = parser.parse_args(arguments)
    folder = published.folder()
    if folder is None:
        say(published.MISSING)
        return 0
    rows = []
    for votes in SETS:
        if votes.name in (options.sets or [chosen.name for chosen in SETS]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EngineWarning)
                posterior = estimate(votes.read(folder))
            average, better = Known.of(posterior), Known.of(posterior, better_half=True)
            spread, chosen, both = even(average), float(best(average).sum()), float(best(better).sum())
            cells = (
                f"{spread:,.0f}",
                f"{chosen:,.0f}",
                f"{chosen / spread:.2f}",
                f"{both:,.0f}",
                f"{both / spread:.2f}",
            )
            rows.append((votes.name, str(int(average.wanted.sum())), *cells))
    head = ("set", "pairs to decide", "even", "best pairs", "of even", "and better half of prompts", "of even")
    say(table(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
