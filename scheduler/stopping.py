"""StoppingRule and its kinds. The order in which they are asked is the numbered list in `planner.decide`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from .errors import InvalidRequest
from .pool import Pool
from .state import CampaignState, Decision


class StoppingRule(Protocol):
    """A frozen rule. `order` is its place in the list of `planner.decide`."""

    order: ClassVar[int]

    def decide(self, state: CampaignState) -> Decision:
        """Stop or not, with the reason in words and in numbers."""
        ...


@dataclass(frozen=True, slots=True)
class TargetSE:
    """Every chatbot's SE (ability minus the board's mean) is at most `value`. Raises InvalidRequest unless > 0.

    Evidence: target; se (the largest); progress = min(1, (target / se)^2), the share of the needed precision that is
    there, because precision grows in proportion to votes; judgments_to_go = judgments * (1 / progress - 1), rounded up.
    Before the first fit progress is 0 and the other numbers are absent.
    """

    value: float
    order: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value > 0):
            raise InvalidRequest(f"target SE {self.value}", code="bad_target", hint="give a positive number")

    def decide(self, state: CampaignState) -> Decision:
        posterior = state.posterior
        if posterior is None:
            return Decision(False, "there is no fit yet", {"target": self.value, "progress": 0.0})
        missing = sorted(set(state.chatbots) - set(posterior.chatbots))
        if missing:
            evidence = {"target": self.value, "progress": 0.0, "unseen": float(len(missing))}
            return Decision(False, f"no votes yet for {missing[0]}", evidence)
        where = [posterior.chatbots.index(name) for name in state.chatbots]
        return self._weigh(state, float(posterior.se[where].max()), int(posterior.group[where].max()))

    def _weigh(self, state: CampaignState, se: float, groups: int) -> Decision:
        progress = min(1.0, (self.value / se) ** 2) if se > 0 else 1.0
        togo = math.ceil(state.judgments * (1.0 / progress - 1.0))
        evidence = {"target": self.value, "se": se, "progress": progress, "judgments_to_go": float(togo)}
        assert state.posterior is not None  # noqa: S101 - the caller has looked
        if groups > 1:
            return Decision(False, f"the comparison graph has {groups} separate parts", evidence)
        if not state.posterior.converged:
            return Decision(False, "the last fit did not settle", evidence)
        if se <= self.value:
            return Decision(True, f"the largest SE {se:.3f} has reached the target {self.value:g}", evidence)
        return Decision(False, f"the largest SE {se:.3f} is above the target {self.value:g}", evidence)


@dataclass(frozen=True, slots=True)
class Budget:
    """At least `judgments` judgments are in. Raises InvalidRequest on a negative number; 0 stops at once."""

    judgments: int
    order: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.judgments < 0:
            raise InvalidRequest(f"budget {self.judgments}", code="bad_budget", hint="give 0 or more judgments")

    def decide(self, state: CampaignState) -> Decision:
        evidence = {"judgments": float(state.judgments), "budget": float(self.judgments)}
        if state.judgments >= self.judgments:
            return Decision(True, f"the budget of {self.judgments} judgments is spent", evidence)
        return Decision(False, f"{self.judgments - state.judgments} judgments of the budget are left", evidence)


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """No item is open and none is pending: an ask in flight may come back unanswered and open its item again."""

    order: ClassVar[int] = 3

    def decide(self, state: CampaignState) -> Decision:
        open_items = Pool(state).total
        evidence = {"open_items": float(open_items), "pending": float(len(state.pending))}
        if open_items == 0 and len(state.pending) == 0:
            return Decision(True, "nothing is left to ask", evidence)
        return Decision(False, f"{open_items} items are open and {len(state.pending)} pending", evidence)
