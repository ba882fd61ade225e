"""Futility: stop when what is left to ask cannot reach the goal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from irt_engine.arrays import check_fields
from scheduler.board_state import obstacle
from scheduler.errors import InvalidRequest
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.feasibility import GoalRule, attainable_precision


@dataclass(frozen=True, slots=True)
class Futility:
    """Stop when the goal cannot be reached: its probability with the judgments that are left is below `chance`.

    What is left is bounded by open items and by the budget. Asks in flight are counted in. Judgments go where they help
    most (`feasibility`). Evidence: `chance`; `out_of_reach`, 1 or 0; `judgments_left`; the `prompts` that are asked
    about; for a target SE `reachable_se`.

    Parameters
    ----------
    aim : GoalRule
        The goal.
    budget : int or None
        Judgments at the most; None for no limit.
    chance : float
        Probability below which the goal counts as out of reach.
    stops : bool
        False to report without stopping.

    Raises
    ------
    InvalidRequest
        For a negative budget, or unless 0 < chance < 1.
    """

    aim: GoalRule
    budget: int | None = None
    chance: float = 0.05
    stops: bool = True
    order: ClassVar[int] = 8

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.budget is not None and not self.budget >= 0:
            raise InvalidRequest(f"budget {self.budget}", code="bad_budget", hint="give 0 or more judgments")
        if not 0.0 < self.chance < 1.0:
            raise InvalidRequest(f"chance {self.chance}", code="bad_target", hint="give for example 0.05")

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the goal is out of reach; see `StoppingRule.decide`."""
        why = obstacle(state) or (None if state.prompts else Reason("no_prompts_ahead"))
        if why:
            return StoppingDecision(False, why, {})
        if self.aim.decide(state).stop:
            return StoppingDecision(False, Reason("goal_reached"), {})
        spent = state.judgments + len(state.pending)
        attainable = attainable_precision(state, None if self.budget is None else self.budget - spent)
        feasibility = self.aim.feasibility(state, attainable)
        futile = feasibility.chance < self.chance
        evidence = {
            **feasibility.evidence,
            "chance": feasibility.chance,
            "out_of_reach": float(futile),
            "judgments_left": float(attainable.judgments),
            "prompts": float(len(state.prompts) - len(state.retired)),
        }
        left = Reason("with_judgments_left", {"judgments": attainable.judgments, "rest": feasibility.reason})
        reason = Reason("goal_chance", {"rest": left, "chance": _percent_at_most(feasibility.chance)})
        if futile:
            return StoppingDecision(self.stops, Reason("goal_out_of_reach", {"rest": reason}), evidence)
        return StoppingDecision(False, reason, evidence)


def _percent_at_most(chance: float) -> int:
    """Return whole percent, rounded up, so that an unlikely goal is not called impossible."""
    return math.ceil(round(100.0 * chance, 6))
