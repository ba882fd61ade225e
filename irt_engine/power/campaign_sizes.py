"""Number of judgments that a campaign needs for a goal, by simulation.

There is no closed form for votes that are fitted by `fit`, so that whole campaigns are drawn from the priors and
fitted. `experiment_sizes` and `several_chatbots` have the sizes of single tests.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, check_seed
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses, NotIdentified
from irt_engine.fitting.everyday import fit
from irt_engine.power.campaign_goals import CampaignDesign, Goal
from irt_engine.significance.argument_checks import check_count, check_probability
from irt_engine.simulate import draw_votes

_ROUNDING = 1e-9  # a size that is whole but for floating point is not rounded up


@dataclass(frozen=True, slots=True)
class CampaignSize:
    """Store a required number of judgments.

    Parameters
    ----------
    judgments : int
        The number.
    low, high : int
        95 % Monte Carlo interval.
    fits : int
        Number of simulated campaigns.
    """

    judgments: int
    low: int
    high: int
    fits: int


@dataclass(frozen=True, slots=True)
class CampaignPower:
    """Store a probability of success.

    Parameters
    ----------
    power : float
        Share of successes.
    low, high : float
        95 % interval.
    fits : int
        Number of simulated campaigns.
    """

    power: float
    low: float
    high: float
    fits: int


Progress = Callable[[int, int], None]

_SEARCH_ROUNDS = 4
_FINAL_ROUNDS = 3
_CLOSE = 1.2  # an answer within this factor of the n that was simulated needs no long extrapolation
_LEAP = 8.0  # the most that one round may multiply or divide n by
_RESAMPLES = 1000


def campaign_size(
    design: CampaignDesign,
    goal: Goal,
    *,
    power: float = 0.8,
    replicates: int = 24,
    seed: int = 0,
    progress: Progress | None = None,
) -> CampaignSize:
    """Return the number of judgments at which a goal is reached with a given probability.

    Campaigns are drawn from the priors and fitted (model board). A few short rounds approach the answer. Rounds of
    `replicates` fits follow, until the answer is within 20 % of the simulated number. Equal seeds give equal answers.

    A call takes 1.3 to 4.3 times `replicates` fits. A fit takes about 0.2 s for 8 chatbots and 1,000 judgments, 2 s for
    20 and 10,000, and 3 s for 50 and 100,000. Simulated votes are independent given the model. Real votes on one cell
    are more alike, so that the answer is too small for votes_per_cell > 1.

    Parameters
    ----------
    design : CampaignDesign
        The campaign.
    goal : Goal
        The goal.
    power : float
        Probability of success.
    replicates : int
        Fits per round.
    seed : int
        Seed of the simulation.
    progress : callable, optional
        Called with the finished fits and their number.

    Returns
    -------
    CampaignSize
        The number, with the bootstrap interval of the last round.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    NotIdentified
        If all cells together do not suffice.
    DidNotConverge
        If a fit or the search does not converge.
    """
    check_probability(power, "power")
    replicates = check_count(replicates, "replicates", least=8)
    short = replicates // 3
    simulation = _Simulation(design, goal, seed, short * _SEARCH_ROUNDS + replicates * _FINAL_ROUNDS, progress)
    n = simulation.bounded(goal.guess(design))
    for _ in range(_SEARCH_ROUNDS):
        found = simulation.round(n, short, power)
        n = found.answer
        if found.close:
            break
    found = simulation.round(n, replicates, power)
    for _ in range(_FINAL_ROUNDS - 1):
        if found.close:
            break
        found = simulation.round(found.answer, replicates, power)
    if found.growth > 1.0 and found.n == design.capacity:
        raise _unreachable(design)
    low, high = simulation.interval(found, power)
    return CampaignSize(found.answer, min(low, found.answer), max(high, found.answer), simulation.done)


def campaign_power(
    design: CampaignDesign,
    goal: Goal,
    judgments: int,
    *,
    replicates: int = 24,
    seed: int = 0,
    progress: Progress | None = None,
) -> CampaignPower:
    """Return the probability that a goal is reached with a given number of judgments.

    It is the inverse of `campaign_size` and takes `replicates` fits. The interval is Wilson's with one observation per
    fit, and wide if a fit has several scores.

    Parameters
    ----------
    design : CampaignDesign
        The campaign.
    goal : Goal
        The goal.
    judgments : int
        Number of judgments.
    replicates : int
        Number of fits.
    seed : int
        Seed of the simulation.
    progress : callable, optional
        Called with the finished fits and their number.

    Returns
    -------
    CampaignPower
        The probability.

    Raises
    ------
    InvalidResponses
        If an argument is out of range, such as more judgments than the capacity.
    DidNotConverge
        If a fit does not converge.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference, Journal of the American
    Statistical Association 22, 209-212.
    """
    n, replicates = check_count(judgments, "judgments", least=1), check_count(replicates, "replicates", least=1)
    if n > design.capacity:
        raise InvalidResponses(
            f"{n} judgments are more than the {design.capacity} of this design",
            code="too_large",
            hint="add prompts, or votes per cell",
        )
    scores = _Simulation(design, goal, seed, replicates, progress).scores(n, replicates)
    share = float(np.mean(scores >= goal.bar))
    low, high = _wilson(share, len(scores))
    return CampaignPower(share, low, high, len(scores))


@dataclass(frozen=True, slots=True, eq=False)
class _Round:
    """Campaigns of n judgments: their scores (fits, s), by what factor n must grow, and the n that this gives."""

    n: int
    scores: FloatArray
    growth: float
    answer: int

    @property
    def close(self) -> bool:
        """The answer lies near what was simulated."""
        return max(self.n, self.answer) < _CLOSE * min(self.n, self.answer)


class _Simulation:
    """Draws and fits campaigns of one design, each with a seed of its own, and counts them."""

    def __init__(self, design: CampaignDesign, goal: Goal, seed: int, most: int, progress: Progress | None) -> None:
        self.design, self.goal = design, goal
        self.rng = np.random.default_rng(check_seed(seed))
        self.done, self.most = 0, most
        self.progress = progress

    def bounded(self, n: float) -> int:
        """A whole number of judgments that the design can ask."""
        return math.ceil(min(max(n * (1.0 - _ROUNDING), self.design.chatbots), self.design.capacity))

    def round(self, n: int, fits: int, power: float) -> _Round:
        """What campaigns of n judgments say about the n that is needed."""
        scores = self.scores(n, fits)
        growth = self.goal.growth(scores, power, self.design)
        return _Round(n, scores, growth, self.bounded(n * _leap(growth)))

    def interval(self, found: _Round, power: float) -> tuple[int, int]:
        """The 95 % bootstrap interval of a round's answer: its campaigns drawn with replacement."""
        draws = self.rng.integers(len(found.scores), size=(_RESAMPLES, len(found.scores)))
        growth = [_leap(self.goal.growth(found.scores[draw], power, self.design)) for draw in draws]
        low, high = np.quantile(growth, [0.025, 0.975])
        return self.bounded(found.n * low), self.bounded(found.n * high)

    def scores(self, n: int, fits: int) -> FloatArray:
        """(about `fits`, s) scores of campaigns of n judgments. Raises DidNotConverge if most did not."""
        found = [scores for _ in range(fits) if (scores := self._one(n)) is not None]
        if 2 * len(found) < fits or not found:
            raise DidNotConverge(
                f"{fits - len(found)} of {fits} simulated campaigns of {n} judgments could not be fitted",
                code="simulations_failed",
                hint="ask for more judgments, or for priors that are less wide",
            )
        return np.stack(found)

    def _one(self, n: int) -> FloatArray | None:
        """The scores of one campaign; None where the fit did not settle, because its SEs would mislead."""
        truth_seed, vote_seed = (int(x) for x in self.rng.integers(2**62, size=2))
        truth = self.goal.truth(self.design, truth_seed)
        votes = draw_votes(truth, self.design.votes(n, self.rng), seed=vote_seed)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EngineWarning)
                posterior = fit(votes, "board", priors=self.design.priors)
        except DidNotConverge:
            posterior = None
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.most)
        return self.goal.scores(posterior, self.design) if posterior is not None and posterior.converged else None


def _unreachable(design: CampaignDesign) -> NotIdentified:
    return NotIdentified(
        f"{design.capacity} judgments, the most of this design, do not reach the goal",
        code="out_of_reach",
        hint="add prompts, ask for less, or expect a larger gap",
    )


def _leap(growth: float) -> float:
    return min(max(growth, 1.0 / _LEAP), _LEAP)


def _wilson(share: float, n: int) -> tuple[float, float]:
    from statsmodels.stats.proportion import proportion_confint  # late: a second to import

    low, high = proportion_confint(share * n, n, method="wilson")
    return float(low), float(high)
