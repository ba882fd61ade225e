"""Expected precision of a board after n judgments, for many campaigns side by side.

No vote is drawn and nothing is fitted. A board's covariance is the inverse of the precision that its fit sums up: the
priors' precision and the expected Fisher information of every judgment at the estimates, prompts eliminated. What is
unknown beforehand is drawn once for each of D campaigns: the abilities, the deviations of estimated abilities and
scales, and the distribution of votes over pairs. Votes go where the policy would put them (`allocation`, `course`).
Where an overlap gives a share of the items several votes, items are counted by their first votes (`inputs`).

Notation: M chatbots; N pairs, x_p = e_high - e_low and theta_p = x_p' s; J prompts in K classes of equal size by their
estimated discrimination. A prompt's own parameters are phi = (log alpha, log t), t the half-width of its ties. The
common part z of all log t is a column of the board beside the abilities. v (D, N, K) are the votes of a pair on the
prompts of a class; f = v K / J is their share of its items. A vote has the information I (3, 3) about (theta, phi).

A prompt sees a random share f of the pairs. Eliminating its block A of the precision, with c = I[theta, phi], subtracts

    E[(sum x c) A^-1 (sum x c)'] = (sum f x c) A^-1 (sum f x c)' + sum f (1 - f) x (c A^-1 c') x'.

The first term is common to all pairs: the scale. The second is what each vote spends on its own prompt's parameters.
The pair's own effect is a ceiling: information h on a pair weighs as h / (1 + h tau^2) on its abilities (see `belief`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import FloatArray
from irt_engine.models.effects import LOOSE, TIGHT
from scheduler.forecasting.inputs import CLASSES, MOST_KNOWN, ForecastInputs, drawn_abilities
from scheduler.forecasting.kernel_choice import forecast_kernels
from scheduler.forecasting.matrices import centred, class_sums, inverse, variances, without_mean
from scheduler.forecasting.prompt_blocks import Blocks, cholesky_roots, prompt_blocks
from scheduler.forecasting.scale_estimates import scale_deviation, slope_sd_bias
from scheduler.forecasting.vote_information import (
    THETA_GRID,
    VoteInformation,
    further_votes_factor,
    interpolated,
    vote_tables,
)

_NORMAL = ndtri((np.arange(CLASSES) + 0.5) / CLASSES)
_PLACES = _NORMAL / np.sqrt(np.mean(_NORMAL**2))  # of the classes among prompts whose log discriminations have SD 1
_FIRST_ROUNDS = 4
# A policy that chooses prompts chooses the same for many pairs. Measured with seven votes in ten chosen: the mean
# square of a prompt's votes, over its value when votes are spread at random. It is 2 at a tenth of all items, 1.5 at a
# fifth and 1.1 at two fifths.
_CROWDING = 1.7
_TINY = 1e-12


class _Noise(NamedTuple):
    """Standard normal draws that a campaign keeps."""

    ability: FloatArray  # (D, M) where the estimates lie in their posteriors
    pair_sd: FloatArray  # (D, 1) likewise the scales
    slope_sd: FloatArray
    prompts: FloatArray  # (D, 1) whether its prompts are better than most
    pairs: FloatArray  # (D, N) whether a pair gets more votes, or better prompts, than others


class CampaignEnsemble:
    """D campaigns of one design, side by side, fitted after each `advance`.

    Attributes
    ----------
    estimate, covariance : (D, M), (D, M, M) float arrays
        Abilities minus their mean.
    votes, room : (D, N, K) float arrays
        Votes so far, and the most that there can be.
    places : (D, N) float array
        The most of each pair in all classes.
    theta : (D, N, K) float array
        Information of the next vote about its pair's theta, at the estimates.
    typical : (D, N) float array
        Its mean over the classes.
    known : (D, N) float array
        Information about each pair's theta in sum.
    kernels : module
        Result of `forecast_kernels`.

    Parameters
    ----------
    inputs : ForecastInputs
        Where the campaigns stand.
    draws : int
        D.
    seed : int
        Seed of the draws.
    selected_share : float
        Share of votes whose prompt is chosen.
    noisy : bool
        False for estimates of scales, and votes per pair, at their expectation.
    """

    def __init__(
        self, inputs: ForecastInputs, draws: int, seed: int, selected_share: float = 0.0, *, noisy: bool = True
    ) -> None:
        M, N = len(inputs.mean), len(inputs.judged)
        self.inputs, self.draws, self.selected_share = inputs, draws, selected_share
        self.kernels = forecast_kernels()
        self._ends = np.stack(np.triu_indices(M, 1)).astype(np.int64)
        self.low, self.high = self._ends
        self.size = inputs.prompts / CLASSES
        rng = np.random.default_rng(seed)
        scale = 1.0 if noisy else 0.0
        self._noise = _Noise(*(scale * rng.standard_normal((draws, width)) for width in (M, 1, 1, 1, N)))
        self._truth = drawn_abilities(inputs, draws, rng)
        self.estimate = np.repeat((inputs.mean - inputs.mean.mean())[None], draws, axis=0)
        self.covariance = np.repeat(centred(inputs.covariance)[None], draws, axis=0)
        self.votes = np.repeat(inputs.judged[None], draws, axis=0)
        self.room = np.repeat(inputs.room[None], draws, axis=0)
        self.places = class_sums(self.room)
        self.reliability = inputs.reliability
        self._prior_variance = variances(self.covariance)
        self._update_information()
        self._before = self._of_scales()
        self._bias_before = slope_sd_bias(self._before[1], self.reliability)
        self._fit_scales()
        # The board's own SEs over those expected of the same votes.
        expected = self._expected(noisy=False) if inputs.fitted else self.covariance
        self._calibration = np.sqrt(self._prior_variance / variances(expected))

    @property
    def unfitted(self) -> bool:
        """Return whether there is no fit yet, so that no policy can choose."""
        return not self.inputs.fitted and self.reliability == 0.0

    @property
    def pair_votes(self) -> FloatArray:
        """Return the votes (D, N) of each pair so far."""
        return class_sums(self.votes)

    @property
    def pair_variance(self) -> FloatArray:
        """Return the estimated variance tau^2 (D, 1) of the pair effects."""
        variance: FloatArray = self._pair_sd**2
        return variance

    def advance(self, votes: FloatArray) -> None:
        """Add votes, and fit.

        Parameters
        ----------
        votes : ndarray of float, shape (D, N, K)
            Votes on each pair and class of prompts.
        """
        rounds = _FIRST_ROUNDS if self.unfitted else 1  # the first estimates are far from where all began
        self.votes = np.minimum(self.votes + votes, self.room)
        for _ in range(rounds):
            self._fit()

    def add_expected_votes(self, votes: FloatArray) -> None:
        """Add votes whose answers do not move the abilities.

        Parameters
        ----------
        votes : ndarray of float, shape (D, N, K)
            Votes on each pair and class of prompts.
        """
        self.votes = np.minimum(self.votes + votes, self.room)
        self._fit_scales()

    def _fit(self) -> None:
        self._fit_scales()
        # This board's own draw of prompts and votes matters less the more votes are added.
        own = self._calibration ** math.sqrt(self.inputs.judged.sum() / max(float(self.votes[0].sum()), 1.0))
        self.covariance = own[:, :, None] * self._expected() * own[:, None, :]
        self._reclassify_prompts()
        self._estimate()
        self._update_information()

    def _update_information(self) -> None:
        """Update the information of the next vote, and of all votes so far, at the estimates.

        Raise LinAlgError where an estimate is not finite: a kernel would read outside its table.
        """
        if not np.isfinite(self.estimate).all():
            raise np.linalg.LinAlgError("an estimate is no number")
        spread = self.inputs.log_slope_sd * math.sqrt(self.reliability)
        alpha = self.inputs.slope * np.exp(spread * _PLACES)
        unknown = self.inputs.log_slope_sd * math.sqrt(1.0 - self.reliability)
        tables = vote_tables(alpha, self.inputs.half_width, self.inputs.cell_sd, unknown)
        further = further_votes_factor(tables.theta, alpha, self.inputs)
        tables = VoteInformation(*(further * table for table in tables))
        self._tables = np.ascontiguousarray(np.stack(tables, axis=1))
        theta = self.estimate[:, self.high] - self.estimate[:, self.low]
        place = np.clip((theta - THETA_GRID[0]) / (THETA_GRID[1] - THETA_GRID[0]), 0.0, len(THETA_GRID) - 1.001)
        self._place = np.ascontiguousarray(place)  # columns picked by index lie the other way: kernels know one layout
        self.theta, self.known, self.typical, self._relative, self._steady = self.kernels.information_at(
            self.votes, self._place, tables.theta, _PLACES
        )

    @property
    def vote_information(self) -> VoteInformation:
        """Return the information of the next vote at the estimates, by entry."""
        return VoteInformation(
            *(interpolated(self._tables[:, entry], self._place) for entry in range(len(VoteInformation._fields)))
        )

    def _fit_scales(self) -> None:
        """Estimate tau and the SD of log discriminations."""
        of_pair, of_slope = self._of_scales()
        fitted, before = self.inputs.fitted, self._before
        pair = scale_deviation(of_pair, before[0], LOOSE, fitted=fitted)
        slope = scale_deviation(of_slope, before[1], TIGHT, fitted=fitted)
        bias = slope_sd_bias(of_slope, self.reliability) - self._bias_before
        self._pair_sd = self.inputs.pair_sd * np.exp(pair * self._noise.pair_sd)
        self._slope_sd = self.inputs.log_slope_sd * np.exp(bias + slope * self._noise.slope_sd)

    def _of_scales(self) -> tuple[FloatArray, FloatArray]:
        """Return (D, 1) information on log tau and the log SD of log discriminations: 2 for each known effect."""
        M, N = len(self.inputs.mean), len(self.low)
        h = self.known.mean(axis=1, keepdims=True) * self.inputs.pair_sd**2
        of_pair: FloatArray = 2.0 * max(N - M + 1, 0) * (h / (1.0 + h)) ** 2
        return of_pair, np.full_like(of_pair, 2.0 * self.inputs.prompts * self.reliability**2)

    def _expected(self, *, noisy: bool = True) -> FloatArray:
        """Return (D, M, M) the covariance of the centred abilities."""
        return centred(self.covariance_without_shared_replies(noisy=noisy) + self.shared_reply_covariance())

    def covariance_without_shared_replies(self, *, noisy: bool = True) -> FloatArray:
        """Return the covariance of the abilities if every vote had new replies.

        Prompts, the common width and the pair effects are eliminated.

        Parameters
        ----------
        noisy : bool
            Include the noise of the estimated scales.

        Returns
        -------
        ndarray of float, shape (D, M, M)
            Covariance.
        """
        M, size = len(self.inputs.mean), self.size / self._crowding()
        alone = math.exp(-float(self.votes[0].sum()) / self.inputs.prompts)
        noise = self._information_noise() if noisy else np.ones_like(self._place)
        S, common = np.zeros((self.draws, M + 1, M + 1)), np.zeros((self.draws, 2, M + 1, CLASSES))
        S[:] = np.diag([*np.full(M, self.inputs.ability_sd**-2), self.inputs.common_width_sd**-2])
        self.kernels.add_board_information(
            self.votes, self._place, self._tables, self._ends, cholesky_roots(self._blocks(size)), size, alone, noise,
            self.pair_variance, S, common,
        )  # fmt: skip
        S -= size * (1.0 - alone) * (common @ np.swapaxes(common, 2, 3)).sum(axis=1)
        return inverse(S)[:, :M, :M]

    def shared_reply_covariance(self) -> FloatArray:
        """Return the additional variance from votes on the same replies.

        Each vote counts as one on two new replies, whose effects are part of its noise. But n votes of a chatbot see
        only J (1 - e^(-n / J)) of its replies.

        Returns
        -------
        ndarray of float, shape (D, M, M)
            Covariance.
        """
        J, M = float(self.inputs.prompts), len(self.inputs.mean)
        n = np.maximum(self.kernels.chatbot_sums(self.pair_votes, self._ends, M), 1.0)
        replies = -J * np.expm1(-n / J)
        more: FloatArray = self.inputs.reply_sd**2 * np.maximum(1.0 / replies - 1.0 / n, 0.0)
        covariance: FloatArray = more[..., None] * np.eye(M)
        return covariance

    def _crowding(self) -> float:
        """Return the mean votes of a vote's prompt, over the mean votes of a prompt.

        Once every item has one vote, all prompts have about as many.
        """
        if self.unfitted:
            return 1.0
        items = float(np.minimum(self.room[0], self.size).sum())
        share = min(float(self.votes[0].sum()) / max(items, 1.0), 1.0)
        return 1.0 + _CROWDING * self.selected_share * (1.0 - share) ** 3

    def _blocks(self, size: float) -> Blocks:
        sds = self._slope_sd, self.inputs.log_width_sd
        return prompt_blocks(self.votes, self._place, self._tables, *sds, size, self.kernels)

    def _information_noise(self) -> FloatArray:
        """Return (D, N) the information of each pair over its expectation: lognormal, of mean 1.

        Votes are distributed over pairs and prompts at random, and prompts differ. A vote's information has a relative
        variance over the classes, which a pair averages over its votes, and a campaign over its prompts. Votes that are
        in have no such variance.
        """
        votes, room = self.pair_votes, np.maximum(self.places, _TINY)
        fresh = 1.0 - float(self.inputs.judged.sum()) / max(float(self.votes[0].sum()), 1.0)
        of_pair = np.log1p((1.0 + self._relative) * np.maximum(1.0 - votes / room, 0.0) / np.maximum(votes, 0.3))
        of_all = np.log1p(np.maximum(self._steady, 0.0).mean(axis=1, keepdims=True) / self.inputs.prompts)
        of_pair, of_all = fresh * of_pair, fresh * of_all
        noise: FloatArray = np.exp(
            np.sqrt(of_pair) * self._noise.pairs + np.sqrt(of_all) * self._noise.prompts - 0.5 * (of_pair + of_all)
        )
        return noise

    def _reclassify_prompts(self) -> None:
        """Move prompts to other classes as more is known of them, with their votes."""
        slope, both, width = self._blocks(self.size)
        left = width / (slope * width - both**2)
        reliability = min(max(1.0 - float(left.mean()) / self.inputs.log_slope_sd**2, self.reliability), MOST_KNOWN)
        stay = math.sqrt(self.reliability / reliability) if reliability > 0.0 else 1.0
        if stay < 1.0:
            self.kernels.mix_classes(self.votes, stay)
            self.kernels.mix_classes(self.room, stay)
        self.reliability = reliability

    def _estimate(self) -> None:
        """Draw estimates between the prior means and the truth, by what the votes have taught, with their scatter."""
        variance = np.minimum(variances(self.covariance), self._prior_variance)
        learnt = 1.0 - variance / self._prior_variance
        mean = self.inputs.mean - self.inputs.mean.mean()
        root = np.linalg.cholesky(self.covariance + 1e-9 * np.eye(len(mean)))
        scatter = (root @ self._noise.ability[..., None])[..., 0]
        self.estimate = mean + learnt * (self._truth - mean) + np.sqrt(learnt) * without_mean(scatter)
