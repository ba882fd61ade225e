"""PairPolicies of the scheduler's own: at random, balanced, and by what a judgment is expected to teach."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, check_fields
from irt_engine.fit import MOST_TIERS
from scheduler.belief import Belief
from scheduler.errors import InvalidRequest, is_count
from scheduler.policies.exposure import Balance
from scheduler.policies.item_sampling import even, shortlisted
from scheduler.policies.placement import Welcome
from scheduler.policies.retirement import Retirement
from scheduler.pool import Pool
from scheduler.targets import Both, Precision, Ranking, Target


@dataclass(frozen=True, slots=True)
class Design:
    """What an adaptive campaign wants, and what keeps its choice honest.

    target      what is worth learning; by default who is above whom, and for a fifth how large all abilities are
    floor       share of asks that go to open pairs at random: what a greedy choice alone would never look at again
    cap         largest share of all judgments that one pair may take (or four times an even share, if that is more)
    best        how many of the most valuable pairs share a draw
    exposure    how many times an even share of all judgments one prompt may take, even over the prompts in use
    depth       how many votes the prompts in use get on average before another joins them (0: all are in use). On real
                votes no gain is shown (docs/decide.md): a chatbot's reply to a prompt is met again with every opponent
    repeats     whether an item may get a second vote before all prompts of its pair have one, where that is expected to
                tell more
    balance     shares of the prompts' categories; None: whatever the values say
    retirement  when a prompt is asked about no more; None: never
    welcome     how a chatbot that joins a standing board is placed; None: as any other
    tiers       of quality, in each of which a prompt may discriminate otherwise: who fits the board by this design fits
                it so (`estimator`), and pairs' prompts are valued by the tiers of the fit; 1: alike in all
    Raises InvalidRequest unless 0 <= floor <= 1, 0 < cap <= 1, best >= 1, exposure >= 1, depth >= 0, 1 <= tiers <= 10.
    """

    target: Target = field(default_factory=lambda: Both(Ranking(), Precision(), 0.8))
    floor: float = 0.3
    cap: float = 0.1
    best: int = 5
    exposure: float = 4.0
    depth: float = 0.0
    repeats: bool = False
    balance: Balance | None = None
    retirement: Retirement | None = None
    welcome: Welcome | None = field(default_factory=Welcome)
    tiers: int = 1

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        shares = math.isfinite(self.floor + self.cap) and 0.0 <= self.floor <= 1.0 and 0.0 < self.cap <= 1.0
        if not shares or not is_count(self.best, least=1):
            raise InvalidRequest(
                f"floor {self.floor}, cap {self.cap}, best {self.best}",
                code="bad_design",
                hint="floor is a share from 0 to 1, cap a share above 0, best at least 1",
            )
        if not self.exposure >= 1.0:
            raise InvalidRequest(
                f"an exposure of {self.exposure} even shares leaves prompts for too few judgments",
                code="contradictory_caps",
                hint="at least 1, where all prompts are asked about equally often",
            )
        if not (math.isfinite(self.depth) and self.depth >= 0.0):
            raise InvalidRequest(
                f"a depth of {self.depth} votes", code="bad_design", hint="depth is a number of votes, or 0 for none"
            )
        if not 1 <= self.tiers <= MOST_TIERS:
            raise InvalidRequest(
                f"{self.tiers} tiers", code="bad_design", hint=f"1, where prompts discriminate alike, to {MOST_TIERS}"
            )


DEFAULT_DESIGN = Design()


class UniformPairs:
    """In proportion to open items: every open item is equally likely."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        p: FloatArray = pool.open_per_pair / pool.open_per_pair.sum()
        return p


class BalancedPairs:
    """Before the first fit: first join separate parts of the graph, then level the votes per chatbot and pair."""

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        joining = joining_pairs(pool)
        candidates = joining if joining.any() else pool.open_per_pair > 0
        degree = pool.degrees()
        load = np.stack([pool.pair_votes, degree[pool.low] + degree[pool.high]])
        for row in load if not joining.any() else load[1:]:
            candidates = candidates & (row == row[candidates].min())
        return even(candidates)


class LeastCertainPairs:
    """The pairs about which one typical judgment is expected to tell most: log(1 + I Var(s_b - s_a)) in nats.

    That is the least certain pair among those that a judgment can inform: a lopsided pair is uncertain too, but its
    outcome is known beforehand and its I is near 0.
    """

    def __init__(self, belief: Belief) -> None:
        self.belief = belief

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        gain = np.log1p(self.belief.typical * self.belief.variance)
        return shortlisted(np.where(pool.open_per_pair > 0, gain, -np.inf))


class AdaptivePairs:
    """The pairs whose next judgment is expected to lower the target's variance most, with a floor and a cap.

    While the comparisons (judged or on their way) fall into separate parts, only pairs that join two of them are drawn:
    what a board cannot compare is worth more than what it knows too roughly.
    """

    def __init__(self, belief: Belief, design: Design) -> None:
        self.belief, self.design = belief, design

    def probabilities(self, pool: Pool, rng: np.random.Generator) -> FloatArray:
        joining = joining_pairs(pool)
        allowed = joining if joining.any() else pool.below_cap(self.design.cap)
        value = np.where(allowed, self.belief.falls(), -np.inf)
        return shortlisted(value, self.design.floor, self.design.best)


def joining_pairs(pool: Pool) -> BoolArray:
    """(N,) open pairs between separate parts of the graph of judged and pending pairs; none once it is connected."""
    group = pool.groups()
    joining: BoolArray = (pool.open_per_pair > 0) & (group[pool.low] != group[pool.high])
    return joining
