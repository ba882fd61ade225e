"""Pure choice: which judgments to collect next, and when to stop.

A module is loaded when one of its names is first used. `scheduler.blocks` and `scheduler.power` need the standard
library alone, so that a web process uses them without loading numpy and the engine.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.campaign_simulation import simulate
    from scheduler.errors import InvalidRequest, InvalidState, NotSolvable, SchedulerError
    from scheduler.forecasting.forecast import Forecast, ForecastTerms, Range, forecast, unjudged_state
    from scheduler.forecasting.goals import AllAbilities, ForecastGoal, Neighbours, Separated
    from scheduler.overlap import Overlap
    from scheduler.planner import decide, plan
    from scheduler.plugins import PluginWarning
    from scheduler.policies.baselines import BASELINES
    from scheduler.policies.design import DEFAULT_DESIGN, AdaptiveDesign
    from scheduler.policies.exposure import Balance
    from scheduler.policies.placement import Placement
    from scheduler.policies.registry import ALL_POLICIES, POLICIES
    from scheduler.policies.retirement import RetirementRule, with_retired
    from scheduler.state import Ask, CampaignState, Plan, StoppingDecision
    from scheduler.stopping.equivalence import Equivalence
    from scheduler.stopping.futility import Futility
    from scheduler.stopping.limits import Budget, Deadline, NothingLeft
    from scheduler.stopping.precision import TargetSE
    from scheduler.stopping.ranking import RankingResolved
    from scheduler.stopping.rules import RULES, StoppingRule
    from scheduler.stopping.sample_size import SampleSize
    from scheduler.targets import (
        CombinedTarget,
        LargestSETarget,
        NewEntrantTarget,
        PrecisionTarget,
        RankingTarget,
        Target,
        TopKTarget,
    )

_MODULES = {
    "errors": "InvalidRequest InvalidState NotSolvable SchedulerError",
    "forecasting.forecast": "Forecast ForecastTerms Range forecast unjudged_state",
    "forecasting.goals": "AllAbilities ForecastGoal Neighbours Separated",
    "campaign_simulation": "simulate",
    "overlap": "Overlap",
    "planner": "decide plan",
    "plugins": "PluginWarning",
    "policies.baselines": "BASELINES",
    "policies.design": "DEFAULT_DESIGN AdaptiveDesign",
    "policies.exposure": "Balance",
    "policies.placement": "Placement",
    "policies.registry": "ALL_POLICIES POLICIES",
    "policies.retirement": "RetirementRule with_retired",
    "state": "Ask CampaignState Plan StoppingDecision",
    "stopping.equivalence": "Equivalence",
    "stopping.futility": "Futility",
    "stopping.limits": "Budget Deadline NothingLeft",
    "stopping.precision": "TargetSE",
    "stopping.ranking": "RankingResolved",
    "stopping.rules": "RULES StoppingRule",
    "stopping.sample_size": "SampleSize",
    "targets": ("CombinedTarget LargestSETarget NewEntrantTarget PrecisionTarget RankingTarget Target TopKTarget"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "ALL_POLICIES",
    "BASELINES",
    "DEFAULT_DESIGN",
    "POLICIES",
    "RULES",
    "AdaptiveDesign",
    "AllAbilities",
    "Ask",
    "Balance",
    "Budget",
    "CampaignState",
    "CombinedTarget",
    "Deadline",
    "Equivalence",
    "Forecast",
    "ForecastGoal",
    "ForecastTerms",
    "Futility",
    "InvalidRequest",
    "InvalidState",
    "LargestSETarget",
    "Neighbours",
    "NewEntrantTarget",
    "NotSolvable",
    "NothingLeft",
    "Overlap",
    "Placement",
    "Plan",
    "PluginWarning",
    "PrecisionTarget",
    "Range",
    "RankingResolved",
    "RankingTarget",
    "RetirementRule",
    "SampleSize",
    "SchedulerError",
    "Separated",
    "StoppingDecision",
    "StoppingRule",
    "Target",
    "TargetSE",
    "TopKTarget",
    "decide",
    "forecast",
    "plan",
    "simulate",
    "unjudged_state",
    "with_retired",
]


_RENAMED = {  # names of earlier releases; deprecated
    "Both": "CombinedTarget",
    "Decision": "StoppingDecision",
    "Design": "AdaptiveDesign",
    "Goal": "ForecastGoal",
    "LargestSE": "LargestSETarget",
    "NewEntrant": "NewEntrantTarget",
    "Precision": "PrecisionTarget",
    "Ranking": "RankingTarget",
    "Retirement": "RetirementRule",
    "Terms": "ForecastTerms",
    "TopK": "TopKTarget",
    "Welcome": "Placement",
    "unjudged": "unjudged_state",
}


def __getattr__(name: str) -> object:
    """Return a public name from its module."""
    if name in _RENAMED:
        message = f"scheduler.{name} is now scheduler.{_RENAMED[name]}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        name = _RENAMED[name]
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
