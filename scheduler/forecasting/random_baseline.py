"""What asking at random would have cost: the largest SE that a board would have after n judgments spread evenly.

It is the board of today, its abilities, prompts and effects as its fit has them, with its votes taken away and others
put where chance puts them, by the expected information of forecasts (`recursion`). How the board's own SEs compare with
what that makes of its own votes is carried over, so that a campaign which did ask at random is told what it took.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import FloatArray
from scheduler.errors import InvalidState
from scheduler.estimator import CAMPAIGN_PRIORS
from scheduler.forecasting.allocation import EvenAllocation
from scheduler.forecasting.expected_precision import CampaignEnsemble
from scheduler.forecasting.inputs import ForecastInputs, forecast_inputs
from scheduler.state import CampaignState

_GROWTH = 1.25  # of the judgments, from step to step
_BEGINS = 1 / 8  # of the judgments so far
_ENDS = 8.0  # times the judgments so far: what is beyond is not said


@dataclass(frozen=True, slots=True, eq=False)
class RandomBaseline:
    """judgments (T,), rising, and the largest SE (T,) at each; the last one has today's SE if it was `reached`.

    With an overlap they are those of a campaign that has it too.
    """

    judgments: FloatArray
    largest_se: FloatArray
    reached: bool


def random_baseline(state: CampaignState) -> RandomBaseline:
    """A few dozen inversions, whatever has been judged. The same state gives the same answer.

    Raises InvalidState before the first fit, and InvalidRequest on fewer than two chatbots, or no prompts.
    """
    if state.posterior is None:
        raise InvalidState("there is no fit to compare with", code="no_fit", hint="fit the first judgments")
    inputs = forecast_inputs(state, CAMPAIGN_PRIORS)
    total = float(inputs.judged.sum())
    own = _ses(inputs.covariance) / _ses(_expected(CampaignEnsemble(inputs, 1, 0, noisy=False)))
    wanted = float(_ses(inputs.covariance).max())
    return _course(replace(inputs, judged=np.zeros_like(inputs.judged)), own, wanted, total)


def _course(unjudged_state: ForecastInputs, own: FloatArray, wanted: float, total: float) -> RandomBaseline:
    ensemble, policy = CampaignEnsemble(unjudged_state, 1, 0, noisy=False), EvenAllocation()
    most = min(float(unjudged_state.room.sum()), _ENDS * total)
    n = max(min(total * _BEGINS, most), 1.0)
    ensemble.add_expected_votes(policy.votes(ensemble, n))
    at, found = [n], [_largest(ensemble, own)]
    while found[-1] > wanted and n < most:
        ahead = min(n * _GROWTH, most)
        ensemble.add_expected_votes(policy.votes(ensemble, ahead - n))
        n = ahead
        at.append(n)
        found.append(_largest(ensemble, own))
    reached = found[-1] <= wanted
    if reached and len(at) > 1:  # between two steps it is the precision that grows with the judgments
        (low, high), wanted_at = (found[-2] ** -2.0, found[-1] ** -2.0), wanted**-2.0
        at[-1] = at[-2] + (at[-1] - at[-2]) * (wanted_at - low) / (high - low)
        found[-1] = wanted
    return RandomBaseline(np.array(at) * unjudged_state.overlap.judgments_each, np.array(found), reached)


def _largest(ensemble: CampaignEnsemble, own: FloatArray) -> float:
    return float((own * _ses(_expected(ensemble))).max())


def _expected(ensemble: CampaignEnsemble) -> FloatArray:
    """(M, M) of abilities."""
    return np.asarray(
        (ensemble.covariance_without_shared_replies(noisy=False) + ensemble.shared_reply_covariance())[0], np.float64
    )


def _ses(covariance: FloatArray) -> FloatArray:
    """(M,) of abilities minus their mean."""
    half = covariance - covariance.mean(axis=-1, keepdims=True)
    return np.asarray(np.sqrt(np.diag(half - half.mean(axis=-2, keepdims=True))), np.float64)
