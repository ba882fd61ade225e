"""Pure choice: which judgments to collect next, and when to stop."""

from .errors import InvalidRequest, InvalidState, SchedulerError
from .planner import POLICIES, decide, plan
from .state import Ask, CampaignState, Decision, Plan
from .stopping import Budget, NothingLeft, StoppingRule, TargetSE

__all__ = [
    "POLICIES",
    "Ask",
    "Budget",
    "CampaignState",
    "Decision",
    "InvalidRequest",
    "InvalidState",
    "NothingLeft",
    "Plan",
    "SchedulerError",
    "StoppingRule",
    "TargetSE",
    "decide",
    "plan",
]
