"""RankingResolved: stop when neighbours, or the best k and the others, are told apart.

Which chatbots differ depends on the estimates. These statements hold at all tests together (sequential tests).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields
from irt_engine.posterior.sequential_tests import log_p_equal
from scheduler.board_state import board_estimates, neighbours, obstacle, separated_pairs
from scheduler.errors import InvalidRequest
from scheduler.policies.design import DEFAULT_DESIGN
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.feasibility import AttainablePrecision, Feasibility, least_chance
from scheduler.stopping.validation import check_count, check_probability
from scheduler.targets import CombinedTarget, PrecisionTarget, Target, TopKTarget

_PRECISION_TOO = 0.2  # of what is learnt beside who the best are: as beside the ranking in the usual design


@dataclass(frozen=True, slots=True)
class RankingResolved:
    """Stop when all neighbours are told apart, or with `top` each of the best k from each of the others.

    Evidence: `undecided` pairs; `progress`, the share of pairs that are told apart; `log_p` of the least clear pair.

    Parameters
    ----------
    probability : float
        1 - alpha of the sequential tests.
    looks : int or None
        How many times the board may be tested; None for any number.
    top : int or None
        k; None for the whole ranking.

    Raises
    ------
    InvalidRequest
        Unless 0 < probability < 1, and looks and top are whole numbers of at least 1.
    """

    probability: float = 0.95
    looks: int | None = None
    top: int | None = None
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        check_probability(self.probability)
        check_count(self.looks, "looks")
        check_count(self.top, "top")

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen: the order, or the best k."""
        if self.top is None:
            return DEFAULT_DESIGN.target
        return CombinedTarget(TopKTarget(self.top), PrecisionTarget(), 1.0 - _PRECISION_TOO)

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether all pairs in question are distinguished; see `StoppingRule.decide`."""
        why = obstacle(state)
        if not why and self.top is not None and self.top >= len(state.chatbots):
            why = Reason("top_is_everybody", {"top": self.top, "all": len(state.chatbots)})
        if why or state.posterior is None:
            return StoppingDecision(False, why or Reason("no_fit"), {"probability": self.probability, "progress": 0.0})
        better, log_p = separated_pairs(state, state.posterior, 1.0 - self.probability, self.looks)
        upper, lower = self._pairs(board_estimates(state, state.posterior)[0])
        undecided = int((~better[upper, lower]).sum())
        evidence = {
            "probability": self.probability,
            "undecided": float(undecided),
            "progress": 1.0 - undecided / len(upper),
            "log_p": float(log_p[upper, lower].max()),
        }
        if undecided:
            return StoppingDecision(False, self._reason("unresolved", pairs=undecided, all=len(upper)), evidence)
        return StoppingDecision(True, self._reason("resolved", all=len(upper)), evidence)

    def feasibility(self, state: CampaignState, attainable: AttainablePrecision) -> Feasibility:
        """Return the probability that the least clear pair will be distinguished; see `GoalRule.feasibility`."""
        enough = math.log1p(-self.probability)

        def decided(mean: FloatArray, se: FloatArray) -> BoolArray:
            apart: BoolArray = log_p_equal(mean, se, looks=self.looks, ability_sd=attainable.ability_sd) <= enough
            return apart

        chance = least_chance(attainable, *self._pairs(attainable.ability), decided)
        return Feasibility(chance, self._reason("feasible"), {})

    def _reason(self, what: str, **counts: int) -> Reason:
        if self.top is None:
            return Reason(f"ranking_{what}", counts)
        return Reason(f"top_{what}", {**counts, "top": self.top})

    def _pairs(self, ability: FloatArray) -> tuple[IntArray, IntArray]:
        """The upper and the lower of each pair that must be told apart."""
        if self.top is None:
            return neighbours(ability)
        order = np.argsort(-ability, kind="stable")
        upper, lower = np.meshgrid(order[: self.top], order[self.top :], indexing="ij")
        return upper.ravel(), lower.ravel()
