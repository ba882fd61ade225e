"""Pure choice: which judgments to collect next, and when to stop."""

from .aims import Equivalence, RankingResolved, SampleSize, TargetSE
from .entrants import Welcome
from .errors import InvalidRequest, InvalidState, SchedulerError
from .exposure import Balance
from .forecast import Forecast, Range, Terms, forecast, unjudged
from .goals import AllAbilities, Goal, Neighbours, Separated
from .overlap import Overlap
from .pairs import DEFAULT_DESIGN, Design
from .planner import decide, plan
from .policies import POLICIES
from .retirement import Retirement, with_retired
from .simulated import simulate
from .state import Ask, CampaignState, Decision, Plan
from .stopping import RULES, Budget, Deadline, Futility, NothingLeft, StoppingRule
from .targets import Both, NewEntrant, Precision, Ranking, Target, TopK

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
    "Neighbours",
    "NewEntrant",
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
