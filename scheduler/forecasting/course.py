"""The expected course of many campaigns: how far each is from its goal after n judgments."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.fitting.threads import one_blas_thread
from scheduler.forecasting.expected_precision import CampaignEnsemble
from scheduler.forecasting.inputs import ForecastInputs

_MANY_PAIRS = 10_000  # of boards whose steps take long: there are fewer
# Growth of the number of judgments from step to step. A policy that picks decides anew at every step. In long steps it
# keeps to the choice that was best at their beginning. Steps of 1.25 cost 3 to 7 % more judgments than steps of 1.03;
# steps of 1.1 cost at most 2 % more (20 x 200 to 50 x 400). Policies that pick nothing hardly depend on the steps.
_GROWTH_PICKED, _GROWTH_UNPICKED = (1.1, 1.25), (1.25, 1.6)  # on other boards, on those of many pairs
_NUMBERS = 14_000  # draws x pairs: what a step may cost
_FEWEST, _MOST = 16, 256  # draws
_TINY = 1e-12


Shortfall = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedCourse:
    """The course of D campaigns.

    Parameters
    ----------
    judgments : (T,) float array
        Rising.
    shortfall : (T, D) float array
        Of each campaign at each.
    estimate, covariance : (D, M), (D, M, M) float arrays
        At the end.
    """

    judgments: FloatArray
    shortfall: FloatArray
    estimate: FloatArray
    covariance: FloatArray

    def reached_at(self) -> FloatArray:
        """Return the judgments at which the shortfall first falls to 1.

        Between two steps the precision, 1 / shortfall^2, grows in proportion to the judgments.

        Returns
        -------
        ndarray of float, shape (D,)
            Judgments; infinite where the goal is not reached.
        """
        met = self.shortfall <= 1.0
        after = np.argmax(met, axis=0)
        before = np.maximum(after - 1, 0)
        column = np.arange(self.shortfall.shape[1])
        low, high = (self.shortfall[row, column] ** -2.0 for row in (before, after))
        part = np.clip((1.0 - low) / np.maximum(high - low, _TINY), 0.0, 1.0)
        at = self.judgments[before] + part * (self.judgments[after] - self.judgments[before])
        return np.where(met.any(axis=0), at, np.inf)


class Allocation(Protocol):
    """Describe where a policy puts the next votes."""

    @property
    def selected_share(self) -> float:
        """Return the share of votes whose prompt is chosen."""
        ...

    def votes(self, ensemble: CampaignEnsemble, count: float) -> FloatArray:
        """Return the next votes of each campaign.

        Parameters
        ----------
        ensemble : CampaignEnsemble
            D campaigns with N pairs and K classes of prompts.
        count : float
            Number of votes per campaign.

        Returns
        -------
        ndarray of float, shape (D, N, K)
            Votes that sum to `count`, within the open items.
        """
        ...


def draws_for(pairs: int) -> int:
    """Return the number of campaigns that are followed at the same time.

    Parameters
    ----------
    pairs : int
        Number of pairs; more pairs allow fewer campaigns.

    Returns
    -------
    int
        Number of campaigns.
    """
    return min(max(_NUMBERS // max(pairs, 1), _FEWEST), _MOST)


def course(
    inputs: ForecastInputs, shortfall: Shortfall, policy: Allocation, *, most: int, batch: int, seed: int
) -> ExpectedCourse:
    """Follow campaigns until each has met its goal, or a number of judgments is in.

    The judgments to a goal are within 2 % of those that the shortest steps find. Boards of more than 141 chatbots have
    longer steps: they are within 2 % for random prompts, and 3 to 7 % too high for chosen prompts.

    Parameters
    ----------
    inputs : ForecastInputs
        Where the campaigns stand.
    shortfall : callable
        Function of abilities (D, M) and covariances (D, M, M); the goal is met at 1 or less.
    policy : Allocation
        Where votes go.
    most : int
        Largest number of judgments.
    batch : int
        Judgments before the first fit of a campaign without one.
    seed : int
        Seed of the campaigns.

    Returns
    -------
    ExpectedCourse
        The course.
    """
    with one_blas_thread():  # many small inversions: threads would mostly wait for each other
        return _course(inputs, shortfall, policy, most, batch, seed)


def final_shortfall(inputs: ForecastInputs, shortfall: Shortfall, *, seed: int) -> FloatArray:
    """Return the shortfall of the same campaigns after all possible judgments.

    Parameters
    ----------
    inputs : ForecastInputs
        Where the campaigns stand.
    shortfall : callable
        As in `course`.
    seed : int
        Seed of the campaigns.

    Returns
    -------
    ndarray of float, shape (D,)
        The shortfall.
    """
    with one_blas_thread():
        ensemble = CampaignEnsemble(inputs, draws_for(len(inputs.judged)), seed)
        ensemble.advance(ensemble.room - ensemble.votes)
        return shortfall(ensemble.estimate, ensemble.covariance)


def _course(
    inputs: ForecastInputs, shortfall: Shortfall, policy: Allocation, most: int, batch: int, seed: int
) -> ExpectedCourse:
    ensemble = CampaignEnsemble(inputs, draws_for(len(inputs.judged)), seed, policy.selected_share)
    each = inputs.overlap.judgments_each
    growth = (_GROWTH_PICKED if policy.selected_share > 0.0 else _GROWTH_UNPICKED)[len(inputs.judged) > _MANY_PAIRS]
    n = round(inputs.judged.sum() * each)
    at, found = [n], [shortfall(ensemble.estimate, ensemble.covariance)]
    met = found[0] <= 1.0
    while n < most and not met.all():
        first = not inputs.fitted and n < batch
        ahead = min(batch if first else max(math.ceil(n * growth), n + len(inputs.mean)), most)
        ensemble.advance(policy.votes(ensemble, (ahead - n) / each))
        n = ahead
        at.append(n)
        found.append(shortfall(ensemble.estimate, ensemble.covariance))
        met = met | (found[-1] <= 1.0)
    return ExpectedCourse(np.array(at, np.float64), np.array(found), ensemble.estimate, ensemble.covariance)
