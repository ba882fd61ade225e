"""How many judgments a campaign needs until its order is precise or a gap is found, by simulation.

Nothing is closed for votes that are fitted by `fit`, so whole campaigns are drawn from the priors and fitted. The sizes
of single tests are in `power`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields, check_seed
from irt_engine.errors import DidNotConverge, EngineWarning, InvalidResponses, NotIdentified
from irt_engine.fitting.everyday import fit
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior
from irt_engine.significance.paired_tests import check_count, check_probability
from irt_engine.simulate import Truth, draw_truth, draw_votes

_LEAST = 1e-9  # SE or gap: below it no number of judgments is a number
_ROUNDING = 1e-9  # a size that is whole but for floating point is not rounded up


@dataclass(frozen=True, slots=True)
class CampaignDesign:
    """Describe a campaign before its first vote.

    Each judgment has a random pair and prompt, in blocks of `votes_per_cell` on the same replies. No pair and prompt
    occurs twice. Adaptive plans need fewer judgments.

    Parameters
    ----------
    chatbots, prompts : int
        Numbers of chatbots and prompts.
    votes_per_cell : int
        Votes on the same replies.
    priors : Priors
        Prior SDs of the simulated parameters and of the fits.

    Raises
    ------
    InvalidResponses
        If a number is out of range.
    """

    chatbots: int
    prompts: int
    votes_per_cell: int = 1
    priors: Priors = DEFAULT_PRIORS

    def __post_init__(self) -> None:
        check_fields(self)
        check_count(self.chatbots, "chatbots", least=2)
        check_count(self.prompts, "prompts", least=1)
        check_count(self.votes_per_cell, "votes_per_cell", least=1)

    @property
    def capacity(self) -> int:
        """Return the largest number of judgments: `votes_per_cell` on every pair and prompt."""
        return self.votes_per_cell * (self.chatbots * (self.chatbots - 1) // 2 * self.prompts)

    def votes(self, judgments: int, rng: np.random.Generator) -> IntArray:
        """Return the pair and the prompt of each judgment.

        Parameters
        ----------
        judgments : int
            Number of judgments n.
        rng : Generator
            Source of random numbers.

        Returns
        -------
        ndarray of int, shape (n, 3)
            Rows (a, b, prompt).
        """
        low, high = np.triu_indices(self.chatbots, 1)
        blocks = -(-judgments // self.votes_per_cell)
        pair, prompt = np.divmod(rng.choice(len(low) * self.prompts, blocks, replace=False), self.prompts)
        cells = np.stack([low[pair], high[pair], prompt], axis=1)
        return np.repeat(cells, self.votes_per_cell, axis=0)[:judgments]


class Goal(Protocol):
    """Describe the goal of a campaign. A fit succeeds in each score that reaches the bar."""

    @property
    def bar(self) -> float:
        """Return the least score of a success."""

    def guess(self, design: CampaignDesign) -> float:
        """Return the number of judgments at which the search starts.

        Parameters
        ----------
        design : CampaignDesign
            The campaign.

        Returns
        -------
        float
            Number of judgments.
        """

    def truth(self, design: CampaignDesign, seed: int) -> Truth:
        """Return parameters to simulate from.

        Parameters
        ----------
        design : CampaignDesign
            The campaign.
        seed : int
            Seed of the draw.

        Returns
        -------
        Truth
            The parameters.
        """

    def scores(self, posterior: Posterior, design: CampaignDesign) -> FloatArray:
        """Return the scores of a fit.

        Parameters
        ----------
        posterior : Posterior
            The fit.
        design : CampaignDesign
            The campaign.

        Returns
        -------
        ndarray of float, shape (s,)
            Equally many scores for every fit.
        """

    def growth(self, scores: FloatArray, power: float, design: CampaignDesign) -> float:
        """Return the number of judgments needed, relative to the simulated number.

        Parameters
        ----------
        scores : ndarray of float, shape (fits, s)
            Scores of simulated fits.
        power : float
            Probability of success.
        design : CampaignDesign
            The campaign.

        Returns
        -------
        float
            The ratio.
        """


@dataclass(frozen=True, slots=True)
class PreciseOrder:
    """Require that all neighbours in the estimated order differ with a small standard error.

    Parameters
    ----------
    se : float
        Largest standard error of a difference, in logits.
    """

    se: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not _LEAST <= self.se < math.inf:
            raise InvalidResponses(f"se {self.se} is out of reach", code="bad_difference", hint="give for example 0.2")

    @property
    def bar(self) -> float:
        """Return the required precision, 1 / se^2."""
        return self.se**-2

    def guess(self, design: CampaignDesign) -> float:
        """Return about 10 M / se^2, which was measured for campaigns that ask every pair."""
        return 10.0 * design.chatbots / self.se**2

    def truth(self, design: CampaignDesign, seed: int) -> Truth:
        """Return abilities from the prior."""
        if self.bar <= _prior_precision(design):
            raise InvalidResponses(
                f"an SE of {self.se} is what the prior has without any vote",
                code="bad_difference",
                hint="ask for a smaller SE",
            )
        return draw_truth(
            design.chatbots, design.prompts, seed=seed, priors=design.priors, reply_sd=design.priors.reply_sd
        )

    def scores(self, posterior: Posterior, design: CampaignDesign) -> FloatArray:
        """Return the precision (1,) of the least precise neighbours; unconnected ones have the prior's."""
        order = np.argsort(posterior.ability, kind="stable")
        variance, linked = _variances(posterior, order[:-1], order[1:])
        worst = 1.0 / variance.max() if linked.all() else _prior_precision(design)
        return np.array([worst])

    def growth(self, scores: FloatArray, power: float, design: CampaignDesign) -> float:
        """Return the ratio for a precision that consists of the prior's and a part proportional to n."""
        prior = _prior_precision(design)
        reached = float(np.quantile(scores, 1.0 - power)) - prior
        return (self.bar - prior) / reached if reached > 0.0 else math.inf


@dataclass(frozen=True, slots=True)
class GapFound:
    """Require that a true gap is significant, in the right direction.

    Half of the chatbots have a partner `gap` above them, at abilities from the prior. The power is therefore that of an
    average place. For a gap among all pairs, divide alpha by their number.

    Parameters
    ----------
    gap : float
        The gap, in logits.
    alpha : float
        Two-sided level.
    """

    gap: float
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self)
        check_probability(self.alpha, "alpha")
        if not _LEAST <= abs(self.gap) < math.inf:
            raise InvalidResponses(f"gap {self.gap} is nothing to find", code="bad_difference", hint="give a gap > 0")

    @property
    def bar(self) -> float:
        """Return the critical z value."""
        return float(-ndtri(self.alpha / 2.0))

    def guess(self, design: CampaignDesign) -> float:
        """Return a number that rests on measurements: an average difference has 0.6 of the worst variance."""
        return 6.0 * design.chatbots * ((self.bar + 0.84) / self.gap) ** 2

    def truth(self, design: CampaignDesign, seed: int) -> Truth:
        """Return abilities in which chatbots 2i and 2i + 1 differ by the gap."""
        truth = draw_truth(
            design.chatbots, design.prompts, seed=seed, priors=design.priors, reply_sd=design.priors.reply_sd
        )
        ability = truth.ability.copy()
        pairs = len(ability) // 2 * 2
        ability[1:pairs:2] = ability[0:pairs:2] + abs(self.gap) / 2.0
        ability[0:pairs:2] -= abs(self.gap) / 2.0
        return replace(truth, ability=ability)

    def scores(self, posterior: Posterior, design: CampaignDesign) -> FloatArray:
        """Return z (M // 2,) of each planted gap; 0 for unconnected chatbots."""
        low = np.arange(design.chatbots // 2) * 2
        variance, linked = _variances(posterior, low, low + 1)
        z: FloatArray = (posterior.ability[low + 1] - posterior.ability[low]) / np.sqrt(variance)
        return np.where(linked, z, 0.0)

    def growth(self, scores: FloatArray, power: float, design: CampaignDesign) -> float:
        """Return the ratio for a mean z that grows as sqrt(n), with constant scatter."""
        mean = float(scores.mean())
        shortfall = mean - float(np.quantile(scores, 1.0 - power))
        return max((self.bar + shortfall) / mean, 0.0) ** 2 if mean > 0.0 else math.inf


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


def _prior_precision(design: CampaignDesign) -> float:
    """Of a difference, before any vote."""
    return 0.5 / design.priors.ability_sd**2


def _variances(posterior: Posterior, a: IntArray, b: IntArray) -> tuple[FloatArray, BoolArray]:
    """Variances of s_b - s_a, and whether votes link the two."""
    C = posterior.covariance
    variance = C[a, a] + C[b, b] - 2.0 * C[a, b]
    return variance, posterior.group[a] == posterior.group[b]
