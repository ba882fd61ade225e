"""The expected course of a campaign: how precise its board will be after n judgments, for many campaigns side by side.

No vote is drawn and nothing is fitted. A board's covariance is the inverse of what its fit adds up (`irt_engine.
average`): the priors' precision and the expected information of every judgment at the estimates, prompts eliminated.
What is not known beforehand is drawn, once for each of D campaigns: the abilities, how far the estimates of abilities
and scales lie from them, and which judgments fall to whom. Votes go where the policy would put them (`allocation`),
step by step, a tenth more each time, or a quarter where nothing is picked. Where an overlap gives a share of the items
several votes, what is counted are the items' first votes, each worth a little more, and each for a little more than one
judgment (`inputs`).

Notation: M chatbots; N pairs, x_p = e_high - e_low and theta_p = x_p' s; J prompts in K classes of equal size by their
estimated discrimination. A prompt's own parameters are phi = (log alpha, log t), t the half-width of its ties. What
all log t have in common, z, is a column of the board beside the abilities. v (D, N, K) are the votes of a pair on the
prompts of a class, f = v K / J is their share of its items. A vote has the information I (3, 3) about (theta, phi).

A prompt sees a random share f of the pairs. Eliminating its block A of the precision, with c = I[theta, phi], takes

    E[(sum x c) A^-1 (sum x c)'] = (sum f x c) A^-1 (sum f x c)' + sum f (1 - f) x (c A^-1 c') x'

away: what all of them have in common, which is the scale, and what each vote spends on learning about its own prompt.
The pair's own effect is a ceiling: information h on a pair weighs as h / (1 + h tau^2) on its abilities (see `belief`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import FloatArray
from irt_engine.models.effects import LOOSE, TIGHT
from scheduler.forecasting.inputs import CLASSES, MOST_KNOWN, ForecastInputs
from scheduler.forecasting.kernels import (
    add_board_information,
    chatbot_sums,
    information_at,
    mix_classes,
    votes_on_grid,
)
from scheduler.forecasting.matrices import centred, class_sums, inverse, variances, without_mean
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


# Of the learned log SD of log discriminations while prompts are hardly known: a fit that sees a vote or two of each
# makes them more alike than they are, as penalised quasi-likelihood does. Measured on campaigns of 6 x 80 and 10 x 100.
_BIAS = -0.6


# Who picks prompts by what is known of them picks the same for many pairs. Measured: the mean square of the votes of a
# prompt, over what it is when they are spread at random, with seven votes in ten picked: 2 at a tenth of all items, 1.5
# at a fifth, 1.1 at two fifths.
_CROWDING = 1.7


_TINY = 1e-12


_SLOPE, _SLOPE_WIDTH, _WIDTH = (VoteInformation._fields.index(name) for name in ("slope", "slope_width", "width"))


class _Noise(NamedTuple):
    """Standard normal draws that a campaign keeps."""

    ability: FloatArray  # (D, M) where the estimates lie in their posteriors
    pair_sd: FloatArray  # (D, 1) likewise the scales
    slope_sd: FloatArray
    prompts: FloatArray  # (D, 1) whether its prompts are better than most
    pairs: FloatArray  # (D, N) whether a pair gets more votes, or better prompts, than others


class CampaignEnsemble:
    """D campaigns of one design, side by side, fitted after `advance`.

    estimate (D, M), covariance (D, M, M): of abilities minus their mean. votes, room (D, N, K): so far, and the most;
    places (D, N): of a pair, the most in all classes.
    theta (D, N, K): information of the next vote on its pair's theta, at the estimates; typical (D, N): its mean over
    the classes. known (D, N): on each pair's theta in sum.
    Not `noisy`: estimates of scales, and which votes fall to whom, are as they are expected.
    """

    def __init__(
        self, inputs: ForecastInputs, draws: int, seed: int, selected_share: float = 0.0, *, noisy: bool = True
    ) -> None:
        M, N = len(inputs.mean), len(inputs.judged)
        self.inputs, self.draws, self.selected_share = inputs, draws, selected_share
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
        self._bias_before = self._bias(self._before[1])
        self._fit_scales()
        # How the board's own SEs compare with what the recursion makes of the same votes.
        expected = self._expected(noisy=False) if inputs.fitted else self.covariance
        self._calibration = np.sqrt(self._prior_variance / variances(expected))

    @property
    def unfitted(self) -> bool:
        """Whether there has been no fit yet, so that no policy knows what is best."""
        return not self.inputs.fitted and self.reliability == 0.0

    @property
    def pair_votes(self) -> FloatArray:
        """(D, N) votes so far."""
        return class_sums(self.votes)

    @property
    def pair_variance(self) -> FloatArray:
        """(D, 1) tau^2 as the fit has it."""
        variance: FloatArray = self._pair_sd**2
        return variance

    def advance(self, votes: FloatArray) -> None:
        """Add votes (D, N, K), and fit."""
        rounds = _FIRST_ROUNDS if self.unfitted else 1  # the first estimates are far from where all began
        self.votes = np.minimum(self.votes + votes, self.room)
        for _ in range(rounds):
            self._fit()

    def add_expected_votes(self, votes: FloatArray) -> None:
        """Add votes (D, N, K) whose answers leave all abilities where they are."""
        self.votes = np.minimum(self.votes + votes, self.room)
        self._fit_scales()

    def _fit(self) -> None:
        self._fit_scales()
        # What set this board apart, its draw of prompts and of votes, matters less the more are added.
        own = self._calibration ** math.sqrt(self.inputs.judged.sum() / max(float(self.votes[0].sum()), 1.0))
        self.covariance = own[:, :, None] * self._expected() * own[:, None, :]
        self._reclassify_prompts()
        self._estimate()
        self._update_information()

    def _update_information(self) -> None:
        """What a vote tells at the estimates, and what all so far have told.

        Raises LinAlgError where those are none: a kernel would look up a place that is nowhere.
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
        self.theta, self.known, self.typical, self._relative, self._steady = information_at(
            self.votes, self._place, tables.theta, _PLACES
        )

    @property
    def vote_information(self) -> VoteInformation:
        """I of the next vote at the estimates, every entry of it."""
        return VoteInformation(
            *(interpolated(self._tables[:, entry], self._place) for entry in range(len(VoteInformation._fields)))
        )

    def _fit_scales(self) -> None:
        """What the fit makes of tau and of the prompts' spread."""
        of_pair, of_slope = self._of_scales()
        pair = self._scale_deviation(of_pair, self._before[0], LOOSE)
        slope = self._scale_deviation(of_slope, self._before[1], TIGHT)
        bias = self._bias(of_slope) - self._bias_before
        self._pair_sd = self.inputs.pair_sd * np.exp(pair * self._noise.pair_sd)
        self._slope_sd = self.inputs.log_slope_sd * np.exp(bias + slope * self._noise.slope_sd)

    def _bias(self, of_slope: FloatArray) -> FloatArray:
        """(D, 1) of the learned log SD of log discriminations, as far as it is learned."""
        bias: FloatArray = _BIAS * (1.0 - self.reliability) ** 3 * of_slope / (TIGHT**-2 + of_slope)
        return bias

    def _of_scales(self) -> tuple[FloatArray, FloatArray]:
        """(D, 1) information on log tau and on the log SD of log discriminations: 2 for each one that is known."""
        M, N = len(self.inputs.mean), len(self.low)
        h = self.known.mean(axis=1, keepdims=True) * self.inputs.pair_sd**2
        of_pair: FloatArray = 2.0 * max(N - M + 1, 0) * (h / (1.0 + h)) ** 2
        return of_pair, np.full_like(of_pair, 2.0 * self.inputs.prompts * self.reliability**2)

    def _scale_deviation(self, now: FloatArray, before: FloatArray, width: float) -> FloatArray:
        """(D, 1) how far an estimated log scale lies from what it is taken for today.

        Before a fit: the SD of an estimate with this information, shrunk by a prior of this width. After one: what is
        not known of the scale yet and will be.
        """
        prior = width**-2
        if not self.inputs.fitted:
            return np.sqrt(now) / (prior + now)
        learnt: FloatArray = np.sqrt(np.maximum(1.0 / (prior + before) - 1.0 / (prior + now), 0.0))
        return learnt

    def _expected(self, *, noisy: bool = True) -> FloatArray:
        """(D, M, M) covariance of the centred abilities."""
        return centred(self.covariance_without_shared_replies(noisy=noisy) + self.shared_reply_covariance())

    def covariance_without_shared_replies(self, *, noisy: bool = True) -> FloatArray:
        """(D, M, M) covariance of the abilities if no reply were judged twice.

        Prompts, common width and the pairs' effects are eliminated.
        """
        M, size = len(self.inputs.mean), self.size / self._crowding()
        alone = math.exp(-float(self.votes[0].sum()) / self.inputs.prompts)
        noise = self._information_noise() if noisy else np.ones_like(self._place)
        S, common = np.zeros((self.draws, M + 1, M + 1)), np.zeros((self.draws, 2, M + 1, CLASSES))
        S[:] = np.diag([*np.full(M, self.inputs.ability_sd**-2), self.inputs.common_width_sd**-2])
        add_board_information(
            self.votes, self._place, self._tables, self._ends, self._roots(size), size, alone, noise,
            self.pair_variance, S, common,
        )  # fmt: skip
        S -= size * (1.0 - alone) * (common @ np.swapaxes(common, 2, 3)).sum(axis=1)
        return inverse(S)[:, :M, :M]

    def shared_reply_covariance(self) -> FloatArray:
        """(D, M, M) what votes do not tell of a chatbot because they are on replies that others are on too.

        Each vote counts as one on two new replies, whose worth is part of its noise. But n votes of a chatbot see only
        J (1 - e^(-n / J)) of its replies, and average their worth over no more than these.
        """
        J, M = float(self.inputs.prompts), len(self.inputs.mean)
        n = np.maximum(chatbot_sums(self.pair_votes, self._ends, M), 1.0)
        replies = -J * np.expm1(-n / J)
        more = self.inputs.reply_sd**2 * np.maximum(1.0 / replies - 1.0 / n, 0.0)
        return more[..., None] * np.eye(M)

    def _crowding(self) -> float:
        """How many times the votes of an average prompt those have on which the votes lie.

        Once every item has one vote, all prompts have about as many, however many more votes there may be.
        """
        if self.unfitted:
            return 1.0
        items = float(np.minimum(self.room[0], self.size).sum())
        share = min(float(self.votes[0].sum()) / max(items, 1.0), 1.0)
        return 1.0 + _CROWDING * self.selected_share * (1.0 - share) ** 3

    def _blocks(self, size: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Entries of a prompt's block A of the precision, each (D, K): slope, slope and width, width.

        Raises LinAlgError where it is not positive: of so many votes that floats see nothing else beside them.
        """
        votes = votes_on_grid(self.votes, self._place, len(THETA_GRID)) / size
        slope, both, width = (
            np.einsum("dgk,gk->dk", votes, self._tables[:, entry]) for entry in (_SLOPE, _SLOPE_WIDTH, _WIDTH)
        )
        slope, width = slope + self._slope_sd**-2, width + self.inputs.log_width_sd**-2
        if not (slope * width > both**2).all():
            raise np.linalg.LinAlgError("a prompt's block is not positive")
        return slope, both, width

    def _roots(self, size: float) -> FloatArray:
        """(3, D, K) of A = [[a, b], [b, d]] = L L': 1 / root of a, b / a, 1 / root of d - b^2 / a, which make L^-1 c.

        So c A^-1 c' is a sum of squares.
        """
        a, b, d = self._blocks(size)
        return np.stack([1.0 / np.sqrt(a), b / a, 1.0 / np.sqrt(d - b * b / a)])

    def _information_noise(self) -> FloatArray:
        """(D, N) information that falls to a pair, over what is expected: lognormal, of mean 1.

        Votes fall to pairs and prompts by chance, and prompts differ: a vote's information has some relative variance
        over the classes, which a pair averages over its votes, and a campaign over its prompts. What has been judged
        already has had its chance.
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
        """Prompts change classes as more is known of them, and take their votes along."""
        slope, both, width = self._blocks(self.size)
        left = width / (slope * width - both**2)
        reliability = min(max(1.0 - float(left.mean()) / self.inputs.log_slope_sd**2, self.reliability), MOST_KNOWN)
        stay = math.sqrt(self.reliability / reliability) if reliability > 0.0 else 1.0
        if stay < 1.0:
            mix_classes(self.votes, stay)
            mix_classes(self.room, stay)
        self.reliability = reliability

    def _estimate(self) -> None:
        """Estimates lie between what was expected and the truth, as far as the votes have led them, and scatter."""
        variance = np.minimum(variances(self.covariance), self._prior_variance)
        learnt = 1.0 - variance / self._prior_variance
        mean = self.inputs.mean - self.inputs.mean.mean()
        root = np.linalg.cholesky(self.covariance + 1e-9 * np.eye(len(mean)))
        scatter = (root @ self._noise.ability[..., None])[..., 0]
        self.estimate = mean + learnt * (self._truth - mean) + np.sqrt(learnt) * without_mean(scatter)


def drawn_abilities(inputs: ForecastInputs, draws: int, rng: np.random.Generator) -> FloatArray:
    """(D, M) centred. Before the first fit the unit is open too: a board's is where its own prompts lie about 1."""
    values, vectors = np.linalg.eigh(inputs.covariance)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    truth = inputs.mean + rng.standard_normal((draws, len(values))) @ spread.T
    truth -= truth.mean(axis=1, keepdims=True)
    unit = 0.0 if inputs.fitted else inputs.log_slope_sd / math.sqrt(inputs.prompts)
    scaled: FloatArray = truth * np.exp(unit * rng.standard_normal((draws, 1)))
    return scaled
