"""Pure choice: which judgments to collect next, and when to stop.

Modules are loaded when something of theirs is first asked for: `scheduler.blocks` needs the standard library alone, and
a process that serves pages uses it without paying for numpy and the engine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.errors import InvalidRequest, InvalidState, NotSolvable, SchedulerError
    from scheduler.forecasting.forecast import Forecast, Range, Terms, forecast, unjudged
    from scheduler.forecasting.goals import AllAbilities, Goal, Neighbours, Separated
    from scheduler.forecasting.simulation import simulate
    from scheduler.overlap import Overlap
    from scheduler.planner import decide, plan
    from scheduler.policies.exposure import Balance
    from scheduler.policies.pair_selection import DEFAULT_DESIGN, Design
    from scheduler.policies.placement import Welcome
    from scheduler.policies.registry import POLICIES
    from scheduler.policies.retirement import Retirement, with_retired
    from scheduler.state import Ask, CampaignState, Decision, Plan
    from scheduler.stopping.aims import Equivalence, RankingResolved, SampleSize, TargetSE
    from scheduler.stopping.limits import RULES, Budget, Deadline, Futility, NothingLeft, StoppingRule
    from scheduler.targets import Both, LargestSE, NewEntrant, Precision, Ranking, Target, TopK

_MODULES = {
    "aims": "Equivalence RankingResolved SampleSize TargetSE",
    "entrants": "Welcome",
    "errors": "InvalidRequest InvalidState NotSolvable SchedulerError",
    "exposure": "Balance",
    "forecasting": "Forecast Range Terms forecast unjudged",
    "goals": "AllAbilities Goal Neighbours Separated",
    "overlap": "Overlap",
    "pairs": "DEFAULT_DESIGN Design",
    "planner": "decide plan",
    "policies": "POLICIES",
    "retirement": "Retirement with_retired",
    "simulated": "simulate",
    "state": "Ask CampaignState Decision Plan",
    "stopping": "RULES Budget Deadline Futility NothingLeft StoppingRule",
    "targets": "Both LargestSE NewEntrant Precision Ranking Target TopK",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "DEFAULT_DESIGN",
    "POLICIES",
    "RULES",
    "AllAbilities",
    "Ask",
    "Balance",
    "Both",
    "Budget",
    "CampaignState",
    "Deadline",
    "Decision",
    "Design",
    "Equivalence",
    "Forecast",
    "Futility",
    "Goal",
    "InvalidRequest",
    "InvalidState",
    "LargestSE",
    "Neighbours",
    "NewEntrant",
    "NotSolvable",
    "NothingLeft",
    "Overlap",
    "Plan",
    "Precision",
    "Range",
    "Ranking",
    "RankingResolved",
    "Retirement",
    "SampleSize",
    "SchedulerError",
    "Separated",
    "StoppingRule",
    "Target",
    "TargetSE",
    "Terms",
    "TopK",
    "Welcome",
    "decide",
    "forecast",
    "plan",
    "simulate",
    "unjudged",
    "with_retired",
]


def __getattr__(name: str) -> object:
    """What is listed above, from its module."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
