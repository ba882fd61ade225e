"""StoppingRule and its kinds. The order in which they are asked is the numbered list in `planner.decide`.

What a campaign wants to know are the `aims`; here are the limits to which it may go, and the registry of all rules.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import ClassVar, Protocol

from irt_engine.arrays import check_fields
from scheduler.board_state import obstacle
from scheduler.errors import InvalidRequest, InvalidState
from scheduler.pool import Pool
from scheduler.state import CampaignState, Decision
from scheduler.stopping.aims import Equivalence, RankingResolved, SampleSize, TargetSE
from scheduler.stopping.feasibility import Aim, reachable


class StoppingRule(Protocol):
    """A frozen rule. `order` is its place in the list of `planner.decide`."""

    order: ClassVar[int]

    def decide(self, state: CampaignState) -> Decision:
        """Stop or not, with the reason in words and in numbers."""
        ...


@dataclass(frozen=True, slots=True)
class Budget:
    """At least `judgments` judgments are in. Raises InvalidRequest on a negative number; 0 stops at once."""

    judgments: int
    order: ClassVar[int] = 5

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if not self.judgments >= 0:
            raise InvalidRequest(f"budget {self.judgments}", code="bad_budget", hint="give 0 or more judgments")

    def decide(self, state: CampaignState) -> Decision:
        evidence = {"judgments": float(state.judgments), "budget": float(self.judgments)}
        if state.judgments >= self.judgments:
            return Decision(True, f"the budget of {self.judgments} judgments is spent", evidence)
        return Decision(False, f"{self.judgments - state.judgments} judgments of the budget are left", evidence)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time `at` has come. The state says what time it is: nothing here reads a clock.

    Evidence: days_left, 0 from the deadline on. Raises InvalidRequest on a time without a time zone, and InvalidState
    when it is asked about a state that does not say its time.
    """

    at: datetime
    order: ClassVar[int] = 6

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        if self.at.utcoffset() is None:
            raise InvalidRequest(f"deadline {self.at} has no time zone", code="bad_deadline", hint="give it one")

    def decide(self, state: CampaignState) -> Decision:
        if state.now is None:
            raise InvalidState("a deadline, and no time", code="no_time", hint="give the state's now")
        left = max((self.at - state.now).total_seconds() / 86_400.0, 0.0)
        when = f"{self.at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
        if state.now >= self.at:
            return Decision(True, f"the deadline {when} is reached", {"days_left": left})
        return Decision(False, f"{left:.1f} days are left until the deadline {when}", {"days_left": left})


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """No item is open and none is pending: an ask in flight may come back unanswered and open its item again.

    `withheld` items are closed by skips alone. As long as there are any, the rule does not stop: people who skip must
    not end a campaign.
    """

    withheld: int = 0
    order: ClassVar[int] = 7

    def decide(self, state: CampaignState) -> Decision:
        open_items = Pool(state).total
        evidence = {"open_items": float(open_items), "pending": float(len(state.pending))}
        if open_items or len(state.pending):
            return Decision(False, f"{open_items} items are open and {len(state.pending)} pending", evidence)
        if self.withheld:
            words = f"nothing is left to ask but {self.withheld} items that annotators skipped"
            return Decision(False, words, evidence | {"withheld_items": float(self.withheld)})
        return Decision(True, self._why(state), evidence)

    def _why(self, state: CampaignState) -> str:
        if len(state.chatbots) < 2:
            return "nothing is left to ask: a comparison needs two chatbots"
        return "nothing is left to ask" if state.prompts else "nothing is left to ask: there are no prompts"


@dataclass(frozen=True, slots=True)
class Futility:
    """What is wanted cannot be reached: `aim` has a chance below `chance` with the judgments that are left.

    Left is what can still be asked, and what the budget allows (None: no bound); asks in flight are counted in, and
    judgments go where they teach most (`reach`). Who would rather have what can be reached has it tell without
    stopping (`stops`). Evidence: chance, out_of_reach (1 or 0), judgments_left, the prompts that are asked about, and
    for a target SE reachable_se. Raises InvalidRequest on a negative budget, or unless 0 < chance < 1.
    """

    aim: Aim
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

    def decide(self, state: CampaignState) -> Decision:
        why = obstacle(state) or ("" if state.prompts else "there are no prompts to look ahead to")
        if why:
            return Decision(False, why, {})
        if self.aim.decide(state).stop:
            return Decision(False, "what is wanted is reached", {})
        spent = state.judgments + len(state.pending)
        reach = reachable(state, None if self.budget is None else self.budget - spent)
        outlook = self.aim.outlook(state, reach)
        futile = outlook.chance < self.chance
        evidence = {
            **outlook.evidence,
            "chance": outlook.chance,
            "out_of_reach": float(futile),
            "judgments_left": float(reach.judgments),
            "prompts": float(len(state.prompts) - len(state.retired)),
        }
        words = f"with the {reach.judgments} judgments that are left {outlook.words}: {_at_most(outlook.chance)}"
        if futile:
            return Decision(self.stops, f"what is wanted is out of reach: {words}", evidence)
        return Decision(False, words, evidence)


def _at_most(chance: float) -> str:
    """In whole percent, never less than it is: what is unlikely is not called impossible."""
    return f"a chance of {math.ceil(round(100.0 * chance, 6))}% at most"


# One of every kind, at settings such as campaigns use. Who lists a rule here has it pass the contract test.
RULES: Mapping[str, StoppingRule] = MappingProxyType(
    {
        "target_se": TargetSE(0.15),
        "neighbours_se": TargetSE(0.25, over="neighbours"),
        "ranking_resolved": RankingResolved(),
        "top_resolved": RankingResolved(top=1),
        "sample_size": SampleSize(1000),
        "sample_size_of_pairs": SampleSize(196, of="pair"),
        "equivalence": Equivalence(0.5),
        "budget": Budget(2000),
        "deadline": Deadline(datetime(2030, 1, 1, tzinfo=UTC)),
        "nothing_left": NothingLeft(),
        "futility": Futility(TargetSE(0.15), budget=2000),
    }
)
