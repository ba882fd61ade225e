"""The protocol of stopping rules, and one of every kind. `planner.decide` lists the order in which rules are asked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import ClassVar, Protocol

from scheduler.plugins import WithPlugins
from scheduler.state import CampaignState, StoppingDecision
from scheduler.stopping.equivalence import Equivalence
from scheduler.stopping.futility import Futility
from scheduler.stopping.limits import Budget, Deadline, NothingLeft
from scheduler.stopping.precision import TargetSE
from scheduler.stopping.ranking import RankingResolved
from scheduler.stopping.sample_size import SampleSize


class StoppingRule(Protocol):
    """Describe a stopping rule; `order` is its place in the list of `planner.decide`."""

    order: ClassVar[int]

    def decide(self, state: CampaignState) -> StoppingDecision:
        """Return whether to stop, and why.

        Parameters
        ----------
        state : CampaignState
            The state.

        Returns
        -------
        StoppingDecision
            The decision with its reason.
        """
        ...


# One of every kind, at settings such as campaigns use. Who lists a rule here has it pass the contract test.
RULES: Mapping[str, StoppingRule] = WithPlugins(
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
    },
    "touchstone.stopping_rules",
)
