"""TargetSE: stop when the board is as precise as wanted.

How precise a board is hardly depends on its estimates, so that a target SE may be tested as often as one likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from irt_engine.arrays import FloatArray, check_fields
from irt_engine.posterior.differences import pair_variances
from scheduler.board_state import Over, board_estimates, check_over, neighbours, obstacle
from scheduler.errors import InvalidRequest
from scheduler.power import difference_se
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.feasibility import AttainablePrecision, Feasibility
from scheduler.stopping.validation import check_positive
from scheduler.targets import LargestSETarget, Target

# SD of the log of an SE that was looked ahead to: this much, and more by this share of the log of its fall. Measured on
# simulated campaigns of 4 to 12 chatbots and 30 to 80 prompts: .25 with a seventh of the votes in, .15 with most.
_ROUGH, _ROUGHER = 0.15, 0.2
_LEAST_PROGRESS = 1e-12  # of a target that is all but 0, so that what is to go stays a number


@dataclass(frozen=True, slots=True)
class TargetSE:
    """Stop when every SE is at most `value`.

    Evidence: `target`; `se`, the largest; `progress` = min(1, (target / se)^2), the share of the needed precision,
    since precision grows in proportion to votes; `judgments_to_go` = judgments (1 / progress - 1), rounded up. Before
    the first fit progress is 0 and the other numbers are absent.

    Parameters
    ----------
    value : float
        Target SE in units of ability, above 0.
    over : {"all", "neighbours"}
        SEs of abilities minus the board's mean, or of differences between neighbours.

    Raises
    ------
    InvalidRequest
        Unless value > 0.
    """

    value: float
    over: Over = "all"
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        check_positive(self.value, "target SE")
        check_over(self.over)

    @classmethod
    def for_difference(cls, difference: float, *, power: float = 0.8, alpha: float = 0.05) -> TargetSE:
        """Return the rule after which a pair of neighbours is distinguished with a given power.

        It uses the p value for any number of tests (`power.difference_se`). The power is for each pair, before the
        correction for the number of pairs.

        Parameters
        ----------
        difference : float
            Smallest relevant difference, in units of ability.
        power, alpha : float
            Power and level of the test.

        Returns
        -------
        TargetSE
            The rule.

        Raises
        ------
        InvalidRequest
            Unless difference > 0 and 0 < alpha < power < 1.
        """
        check_positive(difference, "difference")
        if not 0.0 < alpha < power < 1.0:
            raise InvalidRequest(
                f"alpha {alpha}, power {power}", code="bad_target", hint="give for example 0.05 and 0.8"
            )
        return cls(difference_se(difference, power=power, alpha=alpha), over="neighbours")

    @property
    def target(self) -> Target:
        """Return the target for which judgments are chosen: the largest SE."""
        return LargestSETarget(self.over)

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the target SE is reached; see `StoppingRule.decide`."""
        why = obstacle(state)
        if why or state.posterior is None:
            return StoppingDecision(False, why or Reason("no_fit"), {"target": self.value, "progress": 0.0})
        ability, covariance = board_estimates(state, state.posterior)
        se = self._largest(ability, covariance)
        progress = max(min(1.0, (self.value / se) ** 2), _LEAST_PROGRESS) if se > 0 else 1.0
        togo = math.ceil(state.judgments * (1.0 / progress - 1.0))
        evidence = {"target": self.value, "se": se, "progress": progress, "judgments_to_go": float(togo)}
        if se <= self.value:
            return StoppingDecision(True, self._reason("reached", se), evidence)
        return StoppingDecision(False, self._reason("missed", se), evidence)

    def feasibility(self, state: CampaignState, attainable: AttainablePrecision) -> Feasibility:
        """Return the probability that the attainable SE is small enough; see `GoalRule.feasibility`."""
        now, se = (max(self._largest(attainable.ability, C), 1e-12) for C in (attainable.now, attainable.then))
        sd = _ROUGH + _ROUGHER * max(math.log(now / se), 0.0)
        chance = float(ndtr(math.log(self.value / se) / sd))
        return Feasibility(chance, self._reason("feasible", se), {"reachable_se": se})

    def _reason(self, what: str, se: float) -> Reason:
        kind = "target_se" if self.over == "all" else "neighbour_se"
        return Reason(f"{kind}_{what}", {"se": se, "target": self.value})

    def _largest(self, ability: FloatArray, covariance: FloatArray) -> float:
        if self.over == "all":
            return float(np.sqrt(np.diag(covariance).max()))
        return float(np.sqrt(pair_variances(covariance, *neighbours(ability)).max()))
