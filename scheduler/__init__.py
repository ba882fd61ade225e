"""Pure choice: which judgments to collect next, and when to stop."""

from .aims import Equivalence, RankingResolved, SampleSize, TargetSE
from .entrants import Welcome
from .errors import InvalidRequest, InvalidState, SchedulerError
from .exposure import Balance
from .overlap import Overlap
from .pairs import DEFAULT_DESIGN, Design
from .planner import decide, plan
from .policies import POLICIES
from .retirement import Retirement, with_retired
from .state import Ask, CampaignState, Decision, Plan
from .stopping import RULES, Budget, Deadline, Futility, NothingLeft, StoppingRule
from .targets import Both, NewEntrant, Precision, Ranking, Target, TopK

__all__ = [
    "DEFAULT_DESIGN",
    "POLICIES",
    "RULES",
    "Ask",
    "Balance",
    "Both",
    "Budget",
    "CampaignState",
    "Deadline",
    "Decision",
    "Design",
    "Equivalence",
    "Futility",
    "InvalidRequest",
    "InvalidState",
    "NewEntrant",
    "NothingLeft",
    "Overlap",
    "Plan",
    "Precision",
    "Ranking",
    "RankingResolved",
    "Retirement",
    "SampleSize",
    "SchedulerError",
    "StoppingRule",
    "Target",
    "TargetSE",
    "TopK",
    "Welcome",
    "decide",
    "plan",
    "with_retired",
]
