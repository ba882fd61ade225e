"""Retirement: prompts that are shown to be uninformative are asked about no more.

Each posterior decides anew and nothing is remembered, so that a prompt returns when the votes speak for it. All prompts
return while a new chatbot is placed, because nothing is known of what they say about it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import IntArray, check_fields
from irt_engine.posterior import Posterior
from scheduler.errors import InvalidRequest
from scheduler.policies.placement import Placement, newcomers
from scheduler.pool import Pool
from scheduler.prompt_information import best_case_table, prompt_table
from scheduler.state import CampaignState


@dataclass(frozen=True, slots=True)
class RetirementRule:
    """Retire a prompt whose information is small even at its best.

    Its information at the best discrimination inside the one-sided interval at `level`, over the differences of the
    board's pairs, must be less than `share` of the typical prompt's, the median of what all are expected to give. At
    most half of the prompts are therefore retired.

    Parameters
    ----------
    votes : int
        Votes that a prompt has before it may be retired, at least 1.
    share : float
        Share of the typical information, between 0 and 1.
    level : float
        Level of the interval, from .5 to below 1.

    Raises
    ------
    InvalidRequest
        For other values.
    """

    votes: int = 30
    share: float = 0.25
    level: float = 0.95

    def __post_init__(self) -> None:
        check_fields(self, InvalidRequest)
        shares = math.isfinite(self.share) and 0.0 < self.share < 1.0 and 0.5 <= self.level < 1.0
        if not shares or self.votes < 1:
            raise InvalidRequest(
                f"retirement after {self.votes} votes below a share {self.share} at level {self.level}",
                code="bad_retirement",
                hint="at least 1 vote, a share between 0 and 1, a level from 0.5 to 1",
            )


def with_retired(
    state: CampaignState, rule: RetirementRule | None, placement: Placement | None = None
) -> CampaignState:
    """Return the state with the prompts that a rule retires.

    `plan` does this with its design's rule. Do the same before you ask whether anything is left, because items on
    retired prompts are closed.

    Parameters
    ----------
    state : CampaignState
        The state.
    rule : RetirementRule or None
        The rule; None retires no prompt.
    placement : Placement, optional
        Votes of a placement, which retirement must not prevent.

    Returns
    -------
    CampaignState
        The state with additional retired prompts.
    """
    if rule is None or state.posterior is None or len(state.prompts) == 0:
        return state
    if placement is not None and len(newcomers(state, Pool(state), placement)):
        return state
    found = uninformative(state, state.posterior, rule)
    return replace(state, retired=np.union1d(state.retired, found)) if len(found) else state


def uninformative(state: CampaignState, posterior: Posterior, rule: RetirementRule) -> IntArray:
    """Return the prompts that a rule finds uninformative.

    Parameters
    ----------
    state : CampaignState
        The state.
    posterior : Posterior
        The fit of the board.
    rule : RetirementRule
        The rule.

    Returns
    -------
    ndarray of int, shape (r,)
        Indices of the prompts in the state.
    """
    votes = np.bincount(state.judged[:, 2], minlength=len(state.prompts))
    se = _spread(posterior)
    expected = prompt_table(state, posterior).of_pair(0.0, se)
    at_best = best_case_table(state, posterior, float(ndtri(rule.level))).of_pair(0.0, se)
    may_tell = np.maximum(at_best, expected)
    return np.flatnonzero((votes >= rule.votes) & (may_tell < rule.share * np.median(expected)))


def _spread(posterior: Posterior) -> float:
    """SD of the difference of two chatbots of the board taken at random, in either order."""
    own = float(np.var(posterior.ability) + np.diag(posterior.covariance).mean())
    return math.sqrt(2.0 * own + (posterior.scales.pair or 0.0) ** 2)
