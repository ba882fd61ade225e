"""Equivalence: stop when every pair is told apart or shown to differ by less than a margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields
from irt_engine.posterior.differences import pair_variances
from irt_engine.posterior.sequential_tests import log_p_apart, log_p_equal
from scheduler.board_state import (
    Over,
    ability_sd_of,
    board_estimates,
    check_over,
    neighbours,
    obstacle,
    separated_pairs,
)
from scheduler.errors import InvalidRequest
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.feasibility import AttainablePrecision, Feasibility, least_chance
from scheduler.stopping.validation import check_count, check_positive, check_probability
from scheduler.targets import Target


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Stop when every pair is told apart, or shown to differ by less than a margin.

    Evidence: `margin`; `equivalent`, `different` and `undecided` pairs; `progress`, the share that is decided.

    Parameters
    ----------
    margin : float
        Least difference that matters, in units of ability.
    probability : float
        1 - alpha of both statements.
    looks : int or None
        How many times the board may be tested; None for any number.
    over : {"all", "neighbours"}
        All pairs, or neighbours.

    Raises
    ------
    InvalidRequest
        Unless margin > 0, 0 < probability < 1 and looks >= 1.
    """

    margin: float
    probability: float = 0.95
    looks: int | None = None
    over: Over = "all"
    order: ClassVar[int] = 4

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        check_positive(self.margin, "margin")
        check_probability(self.probability)
        check_count(self.looks, "looks")
        check_over(self.over)

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen: undecided pairs."""
        return DEFAULT_DESIGN.target

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether all pairs are decided; see `StoppingRule.decide`."""
        why = obstacle(state)
        if why or state.posterior is None:
            return StoppingDecision(False, why or Reason("no_fit"), {"margin": self.margin, "progress": 0.0})
        better, _ = separated_pairs(state, state.posterior, 1.0 - self.probability, self.looks)
        ability, covariance = board_estimates(state, state.posterior)
        upper, lower = self._pairs(ability)
        different = better[upper, lower] | better[lower, upper]
        mean, se = ability[upper] - ability[lower], np.sqrt(pair_variances(covariance, upper, lower))
        equivalent = ~different & self._equivalent(mean, se, ability_sd_of(state.posterior))
        undecided = len(upper) - int(different.sum()) - int(equivalent.sum())
        evidence = {
            "margin": self.margin,
            "different": float(different.sum()),
            "equivalent": float(equivalent.sum()),
            "undecided": float(undecided),
            "progress": 1.0 - undecided / len(upper),
        }
        counts = {"same": int(equivalent.sum()), "apart": int(different.sum()), "margin": self.margin}
        if undecided:
            return StoppingDecision(False, Reason("equivalence_open", {**counts, "open": undecided}), evidence)
        return StoppingDecision(True, Reason("equivalence_decided", counts), evidence)

    def feasibility(self, state: CampaignState, attainable: AttainablePrecision) -> Feasibility:
        """Return the probability that the least clear pair will be decided; see `GoalRule.feasibility`."""
        enough = math.log1p(-self.probability)

        def decided(mean: FloatArray, se: FloatArray) -> BoolArray:
            apart = log_p_equal(mean, se, looks=self.looks, ability_sd=attainable.ability_sd) <= enough
            return apart | self._equivalent(mean, se, attainable.ability_sd)

        chance = least_chance(attainable, *self._pairs(attainable.ability), decided)
        return Feasibility(chance, Reason("equivalence_feasible", {"margin": self.margin}), {})

    def _equivalent(self, mean: FloatArray, se: FloatArray, ability_sd: float) -> BoolArray:
        log_p = log_p_apart(mean, se, self.margin, looks=self.looks, ability_sd=ability_sd)
        small: BoolArray = log_p <= math.log1p(-self.probability)
        return small

    def _pairs(self, ability: FloatArray) -> tuple[IntArray, IntArray]:
        if self.over == "neighbours":
            return neighbours(ability)
        low, high = np.triu_indices(len(ability), 1)
        return low, high
