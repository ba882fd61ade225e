"""The limits of a campaign as stopping rules: its budget, its deadline, and its open items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

from irt_engine.arrays import check_fields
from scheduler.errors import InvalidRequest, InvalidState
from scheduler.pool import Pool
from scheduler.reasons import Reason
from scheduler.state import CampaignState, StoppingDecision


@dataclass(frozen=True, slots=True)
class Budget:
    """Stop when at least `judgments` judgments are in.

    Parameters
    ----------
    judgments : int
        The budget; 0 stops at once.

    Raises
    ------
    InvalidRequest
        For a negative number.
    """

    judgments: int
    order: ClassVar[int] = 5

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not self.judgments >= 0:
            raise InvalidRequest(f"budget {self.judgments}", code="bad_budget", hint="give 0 or more judgments")

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the budget is spent; see `StoppingRule.decide`."""
        evidence = {"judgments": float(state.judgments), "budget": float(self.judgments)}
        if state.judgments >= self.judgments:
            return StoppingDecision(True, Reason("budget_spent", {"judgments": self.judgments}), evidence)
        return StoppingDecision(False, Reason("budget_left", {"judgments": self.judgments - state.judgments}), evidence)


@dataclass(frozen=True, slots=True)
class Deadline:
    """Stop at a time. The state says what time it is: no clock is read here.

    Evidence: `days_left`, 0 from the deadline on.

    Parameters
    ----------
    at : datetime
        The deadline, with its time zone.

    Raises
    ------
    InvalidRequest
        For a time without a time zone.
    """

    at: datetime
    order: ClassVar[int] = 6

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.at.utcoffset() is None:
            raise InvalidRequest(f"deadline {self.at} has no time zone", code="bad_deadline", hint="give it one")

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether the deadline is reached; see `StoppingRule.decide`."""
        if state.now is None:
            raise InvalidState("a deadline, and no time", code="no_time", hint="give the state's now")
        left = max((self.at - state.now).total_seconds() / 86_400.0, 0.0)
        when = f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        if state.now >= self.at:
            return StoppingDecision(True, Reason("deadline_reached", {"when": when}), {"days_left": left})
        return StoppingDecision(False, Reason("deadline_ahead", {"days": left, "when": when}), {"days_left": left})


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """Stop when no item is open and none is pending: an unanswered ask may open its item again.

    Parameters
    ----------
    withheld : int
        Items that are closed by skips alone. While there are any, the rule does not stop: annotators who skip must not
        end a campaign.
    """

    withheld: int = 0
    order: ClassVar[int] = 7

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether nothing is left to ask; see `StoppingRule.decide`."""
        open_items = Pool(state).total
        evidence = {"open_items": float(open_items), "pending": float(len(state.pending))}
        if open_items or len(state.pending):
            return StoppingDecision(
                False, Reason("items_open", {"items": open_items, "pending": len(state.pending)}), evidence
            )
        if self.withheld:
            reason = Reason("items_withheld", {"items": self.withheld})
            return StoppingDecision(False, reason, evidence | {"withheld_items": float(self.withheld)})
        return StoppingDecision(True, self._why(state), evidence)

    def _why(self, state: CampaignState) -> Reason:
        if len(state.chatbots) < 2:
            return Reason("nothing_left_one_chatbot")
        return Reason("nothing_left" if state.prompts else "nothing_left_no_prompts")
