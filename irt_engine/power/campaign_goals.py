"""Designs and goals of simulated campaigns."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import BoolArray, FloatArray, IntArray, check_fields
from irt_engine.errors import InvalidResponses
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior
from irt_engine.significance.argument_checks import check_count, check_probability
from irt_engine.truth import Truth, draw_truth

_LEAST = 1e-9  # SE or gap: below it no number of judgments is a number


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


def _prior_precision(design: CampaignDesign) -> float:
    """Of a difference, before any vote."""
    return 0.5 / design.priors.ability_sd**2


def _variances(posterior: Posterior, a: IntArray, b: IntArray) -> tuple[FloatArray, BoolArray]:
    """Variances of s_b - s_a, and whether votes link the two."""
    C = posterior.covariance
    variance = C[a, a] + C[b, b] - 2.0 * C[a, b]
    return variance, posterior.group[a] == posterior.group[b]
