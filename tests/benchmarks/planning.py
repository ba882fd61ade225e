"""How long a plan takes: 200 asks of policy `adaptive`, by the size of the board.

    python -m tests.benchmarks.planning [--chatbots 20 200 1000] [--prompts 100 1000 10000 100000] [--repeats 3]

Planning needs a posterior, not votes, so boards are drawn and not fitted: abilities from the campaign's priors, known
as VOTES_EACH judgments of a chatbot at random make them known (the inverse of their information), prompts as different
as the priors have them. Times are processor seconds of this process, the least of the repeats, with the making of the
pool, the belief and the prompt table in them. Memory is what plans add to the peak of the process: 0 where an earlier
one took more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from irt_engine import Posterior
from irt_engine.arrays import IntArray
from irt_engine.posterior import Comparison, Scales
from scheduler import CampaignState, plan
from scheduler.estimator import CAMPAIGN_PRIORS as PRIORS

from .memory import peak
from .report import Check, conclude, say, table

ASKS, VOTES_EACH, MOST_SECONDS = 200, 50, 0.5
CHATBOTS, PROMPTS = (20, 200, 1000), (100, 1000, 10_000, 100_000)
TARGET = (200, 1000)
_INFORMATION = 0.2  # of a typical vote


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds and bytes of a plan on a board."""

    chatbots: int
    prompts: int
    judgments: int
    seconds: float
    memory: int


def state_of(chatbots: int, prompts: int, seed: int = 0) -> CampaignState:
    """A campaign in its middle: VOTES_EACH judgments a chatbot on items at random, and the board they could have."""
    rng = np.random.default_rng(seed)
    judged = _judged(rng, chatbots, prompts)
    names = tuple(f"c{m}" for m in range(chatbots))
    pairs, votes = np.unique(judged[:, :2], axis=0, return_counts=True)
    precision = np.eye(chatbots) * PRIORS.ability_sd**-2.0
    for a, b, weight in ((0, 1, -1.0), (1, 0, -1.0), (0, 0, 1.0), (1, 1, 1.0)):
        np.add.at(precision, (pairs[:, a], pairs[:, b]), weight * _INFORMATION * votes)
    middle = np.eye(chatbots) - 1.0 / chatbots
    ability = middle @ rng.normal(0.0, PRIORS.ability_sd, chatbots)
    alpha = np.exp(rng.normal(0.0, PRIORS.log_discrimination_sd, prompts))
    half = np.exp(rng.normal(0.0, PRIORS.log_gap_sd, prompts))
    posterior = Posterior(
        model="board",
        chatbots=names,
        ability=ability,
        covariance=middle @ np.linalg.inv(precision) @ middle,
        group=np.ones(chatbots, np.int64),
        chatbot_judgments=np.bincount(judged[:, :2].ravel(), minlength=chatbots),
        comparisons=tuple(
            Comparison(names[a], names[b], None, int(n)) for (a, b), n in zip(pairs.tolist(), votes, strict=True)
        ),
        theta=ability[pairs[:, 1]] - ability[pairs[:, 0]],
        theta_se=np.ones(len(pairs)),
        prompts=tuple(f"p{j}" for j in range(prompts)),
        discrimination=alpha,
        discrimination_se=0.4 * alpha,
        thresholds=np.stack([-half, half], axis=1),
        judgments=len(judged),
        cells=len(judged),
        converged=True,
        iterations=0,
        seed=seed,
        form="vote",
        side=0.0,
        side_se=0.0,
        scales=Scales(PRIORS.log_discrimination_sd, PRIORS.log_gap_sd, pair=PRIORS.pair_sd, cell=PRIORS.cell_sd),
    )
    return CampaignState(names, posterior.prompts, posterior, judged=judged, judgments=len(judged))


def _judged(rng: np.random.Generator, chatbots: int, prompts: int) -> IntArray:
    """(n, 3) items a < b: a ring, which connects all, and pairs at random."""
    a = np.concatenate([np.arange(chatbots), rng.integers(0, chatbots, chatbots * (VOTES_EACH // 2 - 1))])
    away = np.where(np.arange(len(a)) < chatbots, 1, rng.integers(1, chatbots, len(a)))
    ends = np.sort(np.stack([a, (a + away) % chatbots], axis=1), axis=1)
    return np.column_stack([ends, rng.integers(0, prompts, len(a))])


def timed(chatbots: int, prompts: int, repeats: int) -> Timed:
    """The least of some repeats, each with another seed; every plan must have all of its asks."""
    state = state_of(chatbots, prompts)
    before, seconds = peak(), []
    for seed in range(repeats):
        began = time.process_time()
        made = plan(state, policy="adaptive", count=ASKS, seed=seed)
        seconds.append(time.process_time() - began)
        if len(made.asks) != ASKS:
            raise RuntimeError(f"{len(made.asks)} asks: {made.reason}")
    return Timed(chatbots, prompts, state.judgments, min(seconds), peak() - before)


def checks_of(found: Sequence[Timed]) -> list[Check]:
    """The target, where its size was timed."""
    name = f"plan {ASKS} asks for {TARGET[0]} chatbots x {TARGET[1]:,} prompts"
    at = [t.seconds for t in found if (t.chatbots, t.prompts) == TARGET]
    if not at:
        return [Check(name, "not among the sizes", f"<= {MOST_SECONDS} s", None)]
    return [Check(name, f"{at[0]:.2f} s", f"<= {MOST_SECONDS} s", at[0] <= MOST_SECONDS)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Time every size, print, judge."""
    parser = argparse.ArgumentParser(prog="planning", description="How long a plan takes, by size.")
    parser.add_argument("--chatbots", nargs="+", type=int, default=list(CHATBOTS), metavar="M")
    parser.add_argument("--prompts", nargs="+", type=int, default=list(PROMPTS), metavar="J")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    found = [timed(m, j, options.repeats) for m in options.chatbots for j in options.prompts]
    rows = [
        (f"{t.chatbots:,}", f"{t.prompts:,}", f"{t.judgments:,}", f"{t.seconds:.3f}", f"{t.memory / 2**20:,.0f}")
        for t in found
    ]
    say(table(("chatbots", "prompts", "judgments so far", "seconds", "MB more"), rows))
    return conclude("Planning", checks_of(found))


if __name__ == "__main__":
    sys.exit(main())
