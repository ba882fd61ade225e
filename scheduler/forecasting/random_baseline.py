"""Random baseline: the largest SE that a board would have after n judgments spread evenly at random.

It is the current board, with its abilities, prompts and effects, but with its votes replaced by evenly spread ones
(`expected_precision`). The ratio of the board's own SEs to those expected of its own votes is carried over, so that a
campaign that did ask at random is told what it took.
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
    """The course of a campaign that asks at random, with the campaign's overlap.

    Parameters
    ----------
    judgments : (T,) float array
        Rising.
    largest_se : (T,) float array
        The largest SE at each.
    reached : bool
        Whether the last one is the campaign's current SE.
    """

    judgments: FloatArray
    largest_se: FloatArray
    reached: bool


def random_baseline(state: CampaignState) -> RandomBaseline:
    """Return the random baseline of a campaign. It takes a few dozen matrix inversions.

    Parameters
    ----------
    state : CampaignState
        Where the campaign stands.

    Returns
    -------
    RandomBaseline
        The baseline.

    Raises
    ------
    InvalidState
        Before the first fit.
    InvalidRequest
        For fewer than two chatbots, or no prompts.
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
