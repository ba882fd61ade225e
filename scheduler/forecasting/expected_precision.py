"""The expected course of a campaign: how precise its board will be after n judgments, for many campaigns side by side.

No vote is drawn and nothing is fitted. A board's covariance is the inverse of what its fit adds up (`irt_engine.
average`): the priors' precision and the expected information of every judgment at the estimates, prompts eliminated.
What is not known beforehand is drawn, once for each of D campaigns: the abilities, how far the estimates of abilities
and scales lie from them, and which judgments fall to whom. Votes go where the policy would put them (`allocation`),
step by step, a tenth more each time, or a quarter where nothing is picked. Where an overlap gives a share of the items
several votes, what is counted are the items' first votes, each worth a little more, and each for a little more than one
judgment (`outset`).

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.special import expit, ndtri

from irt_engine.arrays import FloatArray
from irt_engine.information import normal_nodes
from irt_engine.scales import LOOSE, TIGHT
from irt_engine.threads import one_blas_thread
from scheduler.forecasting.inputs import CLASSES, MOST_KNOWN, Outset
from scheduler.forecasting.kernels import at_ends, evened, looks, of_board, on_grid

_MANY_PAIRS = 10_000  # of boards whose steps take long: there are fewer
# Of the judgments, from step to step. Who picks decides anew at every step, and in long ones stays too long with what
# was best at their beginning: at 1.25 a campaign takes 3 to 7 % more judgments than in steps of 1.03, at 1.1 within 2 %
# as many (20 x 200 to 50 x 400). Where nothing is picked it hardly matters by which steps it came to where it is.
_GROWTH_PICKED, _GROWTH_UNPICKED = (1.1, 1.25), (1.25, 1.6)  # on other boards, on those of many pairs
_NORMAL = ndtri((np.arange(CLASSES) + 0.5) / CLASSES)
_PLACES = _NORMAL / np.sqrt(np.mean(_NORMAL**2))  # of the classes among prompts whose log discriminations have SD 1
_GRID = np.linspace(-9.0, 9.0, 145)  # of theta
_CELL_NODES = 5
_FIRST_ROUNDS = 4
# Of the learned log SD of log discriminations while prompts are hardly known: a fit that sees a vote or two of each
# makes them more alike than they are, as penalised quasi-likelihood does. Measured on campaigns of 6 x 80 and 10 x 100.
_BIAS = -0.6
# Who picks prompts by what is known of them picks the same for many pairs. Measured: the mean square of the votes of a
# prompt, over what it is when they are spread at random, with seven votes in ten picked: 2 at a tenth of all items, 1.5
# at a fifth, 1.1 at two fifths.
_CROWDING = 1.7
_NUMBERS = 14_000  # draws x pairs: what a step may cost
_FEWEST, _MOST = 16, 256  # draws
_TINY = 1e-12

Shortfall = Callable[[FloatArray, FloatArray], FloatArray]
"""Abilities (D, M) and covariances (D, M, M) -> (D,): how many times larger than wanted; 1 or less is reached."""


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """judgments (T,), rising; shortfall (T, D) of each campaign at each; estimate and covariance at the end."""

    judgments: FloatArray
    shortfall: FloatArray
    estimate: FloatArray
    covariance: FloatArray

    def reached_at(self) -> FloatArray:
        """(D,) judgments at which the shortfall first falls to 1, infinite where it never does.

        Between two steps it is the precision, 1 / shortfall^2, that grows in proportion to the judgments.
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
    """Where a policy puts the next votes."""

    @property
    def picks(self) -> float:
        """The share of votes whose prompt is chosen."""
        ...

    def votes(self, cohort: Cohort, count: float) -> FloatArray:
        """(D, N, K) summing to `count` for each campaign; never more than there is room for."""
        ...


def draws_for(pairs: int) -> int:
    """How many campaigns run side by side: fewer where each has more pairs."""
    return min(max(_NUMBERS // max(pairs, 1), _FEWEST), _MOST)


def course(outset: Outset, shortfall: Shortfall, policy: Allocation, *, most: int, batch: int, seed: int) -> Course:
    """From where the campaign stands until every draw has met the goal once, or `most` judgments are in.

    A campaign without a fit is fitted for the first time after `batch` judgments. The judgments to a goal are found
    within 2 % of what the shortest steps find; on boards of more than 141 chatbots, whose steps are longer, within 2 %
    where nothing is picked, and some 3 to 7 % above where the policy picks.
    """
    with one_blas_thread():  # many small inversions: threads would mostly wait for each other
        return _course(outset, shortfall, policy, most, batch, seed)


def shortfall_at_the_end(outset: Outset, shortfall: Shortfall, *, seed: int) -> FloatArray:
    """(D,) of the same campaigns when all that may be asked is judged: then it is all one what was asked first."""
    with one_blas_thread():
        cohort = Cohort(outset, draws_for(len(outset.judged)), seed)
        cohort.advance(cohort.room - cohort.votes)
        return shortfall(cohort.estimate, cohort.covariance)


def _course(outset: Outset, shortfall: Shortfall, policy: Allocation, most: int, batch: int, seed: int) -> Course:
    cohort = Cohort(outset, draws_for(len(outset.judged)), seed, policy.picks)
    each = outset.overlap.judgments_each
    growth = (_GROWTH_PICKED if policy.picks > 0.0 else _GROWTH_UNPICKED)[len(outset.judged) > _MANY_PAIRS]
    n = round(outset.judged.sum() * each)
    at, found = [n], [shortfall(cohort.estimate, cohort.covariance)]
    met = found[0] <= 1.0
    while n < most and not met.all():
        first = not outset.fitted and n < batch
        ahead = min(batch if first else max(math.ceil(n * growth), n + len(outset.mean)), most)
        cohort.advance(policy.votes(cohort, (ahead - n) / each))
        n = ahead
        at.append(n)
        found.append(shortfall(cohort.estimate, cohort.covariance))
        met = met | (found[-1] <= 1.0)
    return Course(np.array(at, np.float64), np.array(found), cohort.estimate, cohort.covariance)


class _Luck(NamedTuple):
    """Standard normal draws that a campaign keeps."""

    ability: FloatArray  # (D, M) where the estimates lie in their posteriors
    pair_sd: FloatArray  # (D, 1) likewise the scales
    slope_sd: FloatArray
    prompts: FloatArray  # (D, 1) whether its prompts are better than most
    pairs: FloatArray  # (D, N) whether a pair gets more votes, or better prompts, than others


class Told(NamedTuple):
    """I of one more vote, entry by entry: each (D, N, K)."""

    theta: FloatArray
    theta_slope: FloatArray
    theta_width: FloatArray
    slope: FloatArray
    slope_width: FloatArray
    width: FloatArray
    alone: FloatArray  # as theta, of a vote that is the only one on its prompt: averaged over its discrimination


_SLOPE, _SLOPE_WIDTH, _WIDTH = (Told._fields.index(name) for name in ("slope", "slope_width", "width"))


class Cohort:
    """D campaigns of one design, side by side, fitted after `advance`.

    estimate (D, M), covariance (D, M, M): of abilities minus their mean. votes, room (D, N, K): so far, and the most;
    places (D, N): of a pair, the most in all classes.
    theta (D, N, K): information of the next vote on its pair's theta, at the estimates; typical (D, N): its mean over
    the classes. known (D, N): on each pair's theta in sum.
    Not `lucky`: estimates of scales, and which votes fall to whom, are as they are expected.
    """

    def __init__(self, outset: Outset, draws: int, seed: int, picks: float = 0.0, *, lucky: bool = True) -> None:
        M, N = len(outset.mean), len(outset.judged)
        self.outset, self.draws, self.picks = outset, draws, picks
        self._ends = np.stack(np.triu_indices(M, 1)).astype(np.int64)
        self.low, self.high = self._ends
        self.size = outset.prompts / CLASSES
        rng = np.random.default_rng(seed)
        scale = 1.0 if lucky else 0.0
        self._luck = _Luck(*(scale * rng.standard_normal((draws, width)) for width in (M, 1, 1, 1, N)))
        self._truth = _truths(outset, draws, rng)
        self.estimate = np.repeat((outset.mean - outset.mean.mean())[None], draws, axis=0)
        self.covariance = np.repeat(_centred(outset.covariance)[None], draws, axis=0)
        self.votes = np.repeat(outset.judged[None], draws, axis=0)
        self.room = np.repeat(outset.room[None], draws, axis=0)
        self.places = of_classes(self.room)
        self.reliability = outset.reliability
        self._prior_variance = _diagonal(self.covariance)
        self._look()
        self._before = self._of_scales()
        self._bias_before = self._bias(self._before[1])
        self._fit_scales()
        # How the board's own SEs compare with what the recursion makes of the same votes.
        expected = self._expected(lucky=False) if outset.fitted else self.covariance
        self._own = np.sqrt(self._prior_variance / _diagonal(expected))

    @property
    def blind(self) -> bool:
        """Whether there has been no fit yet, so that no policy knows what is best."""
        return not self.outset.fitted and self.reliability == 0.0

    @property
    def given(self) -> FloatArray:
        """(D, N) votes so far."""
        return of_classes(self.votes)

    @property
    def pair_variance(self) -> FloatArray:
        """(D, 1) tau^2 as the fit has it."""
        variance: FloatArray = self._pair_sd**2
        return variance

    def advance(self, votes: FloatArray) -> None:
        """Add votes (D, N, K), and fit."""
        rounds = _FIRST_ROUNDS if self.blind else 1  # the first estimates are far from where all began
        self.votes = np.minimum(self.votes + votes, self.room)
        for _ in range(rounds):
            self._fit()

    def suppose(self, votes: FloatArray) -> None:
        """Add votes (D, N, K) whose answers leave all abilities where they are."""
        self.votes = np.minimum(self.votes + votes, self.room)
        self._fit_scales()

    def _fit(self) -> None:
        self._fit_scales()
        # What set this board apart, its draw of prompts and of votes, matters less the more are added.
        own = self._own ** math.sqrt(self.outset.judged.sum() / max(float(self.votes[0].sum()), 1.0))
        self.covariance = own[:, :, None] * self._expected() * own[:, None, :]
        self._sort_prompts()
        self._estimate()
        self._look()

    def _look(self) -> None:
        """What a vote tells at the estimates, and what all so far have told.

        Raises LinAlgError where those are none: a kernel would look up a place that is nowhere.
        """
        if not np.isfinite(self.estimate).all():
            raise np.linalg.LinAlgError("an estimate is no number")
        spread = self.outset.log_slope_sd * math.sqrt(self.reliability)
        alpha = self.outset.slope * np.exp(spread * _PLACES)
        unknown = self.outset.log_slope_sd * math.sqrt(1.0 - self.reliability)
        tables = _vote_tables(alpha, self.outset.half_width, self.outset.cell_sd, unknown)
        further = _further_votes(tables.theta, alpha, self.outset)
        tables = Told(*(further * table for table in tables))
        self._tables = np.ascontiguousarray(np.stack(tables, axis=1))
        theta = self.estimate[:, self.high] - self.estimate[:, self.low]
        place = np.clip((theta - _GRID[0]) / (_GRID[1] - _GRID[0]), 0.0, len(_GRID) - 1.001)
        self._place = np.ascontiguousarray(place)  # columns picked by index lie the other way: kernels know one layout
        self.theta, self.known, self.typical, self._relative, self._steady = looks(
            self.votes, self._place, tables.theta, _PLACES
        )

    @property
    def told(self) -> Told:
        """I of the next vote at the estimates, every entry of it."""
        return Told(*(_looked_up(self._tables[:, entry], self._place) for entry in range(len(Told._fields))))

    def _fit_scales(self) -> None:
        """What the fit makes of tau and of the prompts' spread."""
        of_pair, of_slope = self._of_scales()
        pair = self._wander(of_pair, self._before[0], LOOSE)
        slope = self._wander(of_slope, self._before[1], TIGHT)
        bias = self._bias(of_slope) - self._bias_before
        self._pair_sd = self.outset.pair_sd * np.exp(pair * self._luck.pair_sd)
        self._slope_sd = self.outset.log_slope_sd * np.exp(bias + slope * self._luck.slope_sd)

    def _bias(self, of_slope: FloatArray) -> FloatArray:
        """(D, 1) of the learned log SD of log discriminations, as far as it is learned."""
        bias: FloatArray = _BIAS * (1.0 - self.reliability) ** 3 * of_slope / (TIGHT**-2 + of_slope)
        return bias

    def _of_scales(self) -> tuple[FloatArray, FloatArray]:
        """(D, 1) information on log tau and on the log SD of log discriminations: 2 for each one that is known."""
        M, N = len(self.outset.mean), len(self.low)
        h = self.known.mean(axis=1, keepdims=True) * self.outset.pair_sd**2
        of_pair: FloatArray = 2.0 * max(N - M + 1, 0) * (h / (1.0 + h)) ** 2
        return of_pair, np.full_like(of_pair, 2.0 * self.outset.prompts * self.reliability**2)

    def _wander(self, now: FloatArray, before: FloatArray, width: float) -> FloatArray:
        """(D, 1) how far an estimated log scale lies from what it is taken for today.

        Before a fit: the SD of an estimate with this information, shrunk by a prior of this width. After one: what is
        not known of the scale yet and will be.
        """
        prior = width**-2
        if not self.outset.fitted:
            return np.sqrt(now) / (prior + now)
        learnt: FloatArray = np.sqrt(np.maximum(1.0 / (prior + before) - 1.0 / (prior + now), 0.0))
        return learnt

    def _expected(self, *, lucky: bool = True) -> FloatArray:
        """(D, M, M) covariance of the centred abilities."""
        return _centred(self.apart(lucky=lucky) + self.met_again())

    def apart(self, *, lucky: bool = True) -> FloatArray:
        """(D, M, M) covariance of the abilities if no reply were judged twice.

        Prompts, common width and the pairs' effects are eliminated.
        """
        M, size = len(self.outset.mean), self.size / self._crowding()
        alone = math.exp(-float(self.votes[0].sum()) / self.outset.prompts)
        fortune = self._fortune() if lucky else np.ones_like(self._place)
        S, common = np.zeros((self.draws, M + 1, M + 1)), np.zeros((self.draws, 2, M + 1, CLASSES))
        S[:] = np.diag([*np.full(M, self.outset.ability_sd**-2), self.outset.common_width_sd**-2])
        of_board(
            self.votes, self._place, self._tables, self._ends, self._roots(size), size, alone, fortune,
            self.pair_variance, S, common,
        )  # fmt: skip
        S -= size * (1.0 - alone) * (common @ np.swapaxes(common, 2, 3)).sum(axis=1)
        return _inverse(S)[:, :M, :M]

    def met_again(self) -> FloatArray:
        """(D, M, M) what votes do not tell of a chatbot because they are on replies that others are on too.

        Each vote counts as one on two new replies, whose worth is part of its noise. But n votes of a chatbot see only
        J (1 - e^(-n / J)) of its replies, and average their worth over no more than these.
        """
        J, M = float(self.outset.prompts), len(self.outset.mean)
        n = np.maximum(at_ends(self.given, self._ends, M), 1.0)
        replies = -J * np.expm1(-n / J)
        more = self.outset.reply_sd**2 * np.maximum(1.0 / replies - 1.0 / n, 0.0)
        return more[..., None] * np.eye(M)

    def _crowding(self) -> float:
        """How many times the votes of an average prompt those have on which the votes lie.

        Once every item has one vote, all prompts have about as many, however many more votes there may be.
        """
        if self.blind:
            return 1.0
        items = float(np.minimum(self.room[0], self.size).sum())
        share = min(float(self.votes[0].sum()) / max(items, 1.0), 1.0)
        return 1.0 + _CROWDING * self.picks * (1.0 - share) ** 3

    def _blocks(self, size: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Entries of a prompt's block A of the precision, each (D, K): slope, slope and width, width.

        Raises LinAlgError where it is not positive: of so many votes that floats see nothing else beside them.
        """
        votes = on_grid(self.votes, self._place, len(_GRID)) / size
        slope, both, width = (
            np.einsum("dgk,gk->dk", votes, self._tables[:, entry]) for entry in (_SLOPE, _SLOPE_WIDTH, _WIDTH)
        )
        slope, width = slope + self._slope_sd**-2, width + self.outset.log_width_sd**-2
        if not (slope * width > both**2).all():
            raise np.linalg.LinAlgError("a prompt's block is not positive")
        return slope, both, width

    def _roots(self, size: float) -> FloatArray:
        """(3, D, K) of A = [[a, b], [b, d]] = L L': 1 / root of a, b / a, 1 / root of d - b^2 / a, which make L^-1 c.

        So c A^-1 c' is a sum of squares.
        """
        a, b, d = self._blocks(size)
        return np.stack([1.0 / np.sqrt(a), b / a, 1.0 / np.sqrt(d - b * b / a)])

    def _fortune(self) -> FloatArray:
        """(D, N) information that falls to a pair, over what is expected: lognormal, of mean 1.

        Votes fall to pairs and prompts by chance, and prompts differ: a vote's information has some relative variance
        over the classes, which a pair averages over its votes, and a campaign over its prompts. What has been judged
        already has had its chance.
        """
        votes, room = self.given, np.maximum(self.places, _TINY)
        fresh = 1.0 - float(self.outset.judged.sum()) / max(float(self.votes[0].sum()), 1.0)
        of_pair = np.log1p((1.0 + self._relative) * np.maximum(1.0 - votes / room, 0.0) / np.maximum(votes, 0.3))
        of_all = np.log1p(np.maximum(self._steady, 0.0).mean(axis=1, keepdims=True) / self.outset.prompts)
        of_pair, of_all = fresh * of_pair, fresh * of_all
        fortune: FloatArray = np.exp(
            np.sqrt(of_pair) * self._luck.pairs + np.sqrt(of_all) * self._luck.prompts - 0.5 * (of_pair + of_all)
        )
        return fortune

    def _sort_prompts(self) -> None:
        """Prompts change classes as more is known of them, and take their votes along."""
        slope, both, width = self._blocks(self.size)
        left = width / (slope * width - both**2)
        reliability = min(max(1.0 - float(left.mean()) / self.outset.log_slope_sd**2, self.reliability), MOST_KNOWN)
        stay = math.sqrt(self.reliability / reliability) if reliability > 0.0 else 1.0
        if stay < 1.0:
            evened(self.votes, stay)
            evened(self.room, stay)
        self.reliability = reliability

    def _estimate(self) -> None:
        """Estimates lie between what was expected and the truth, as far as the votes have led them, and scatter."""
        variance = np.minimum(_diagonal(self.covariance), self._prior_variance)
        learnt = 1.0 - variance / self._prior_variance
        mean = self.outset.mean - self.outset.mean.mean()
        root = np.linalg.cholesky(self.covariance + 1e-9 * np.eye(len(mean)))
        scatter = (root @ self._luck.ability[..., None])[..., 0]
        self.estimate = mean + learnt * (self._truth - mean) + np.sqrt(learnt) * _level(scatter)


def _truths(outset: Outset, draws: int, rng: np.random.Generator) -> FloatArray:
    """(D, M) centred. Before the first fit the unit is open too: a board's is where its own prompts lie about 1."""
    values, vectors = np.linalg.eigh(outset.covariance)
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    truth = outset.mean + rng.standard_normal((draws, len(values))) @ spread.T
    truth -= truth.mean(axis=1, keepdims=True)
    unit = 0.0 if outset.fitted else outset.log_slope_sd / math.sqrt(outset.prompts)
    scaled: FloatArray = truth * np.exp(unit * rng.standard_normal((draws, 1)))
    return scaled


def _vote_tables(alpha: FloatArray, half_width: float, cell_sd: float, unknown: float) -> Told:
    """I of one vote on prompts of discrimination alpha (K,), each entry (G, K); the cell's effect e integrated out.

    With u = alpha theta and w = alpha t a vote has P(B) = sigma(u - w + e), P(A) = sigma(-u - w - e), and the rest are
    ties. I = D' G D for the information G about (u, w), and D = d(u, w) / d(theta, log alpha, log t). `unknown` is the
    SD of log alpha around each.
    """
    u, w = _GRID[:, None] * alpha, alpha * half_width
    uu, uw, ww = _of_vote(_GRID[:, None], alpha, half_width, cell_sd, 0.0)
    return Told(
        theta=alpha**2 * uu,
        theta_slope=alpha * (u * uu + w * uw),
        theta_width=alpha * w * uw,
        slope=u**2 * uu + 2.0 * u * w * uw + w**2 * ww,
        slope_width=w * (u * uw + w * ww),
        width=w**2 * ww,
        alone=alpha**2 * _of_vote(_GRID[:, None], alpha, half_width, cell_sd, unknown)[0],
    )


def _of_vote(
    theta: FloatArray, alpha: FloatArray, half_width: float, cell_sd: float, unknown: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """G of a vote: (u, u), (u, w), (w, w), where log alpha is only known to have this SD."""
    u, w = theta * alpha, alpha * half_width
    b = a = slope_b = slope_a = np.zeros_like(u)
    for value, share in zip(*normal_nodes(_CELL_NODES), strict=True):
        times = math.exp(unknown * value)
        for node, weight in zip(*normal_nodes(_CELL_NODES), strict=True):
            over, under = expit(times * (u - w) + cell_sd * node), expit(times * (-u - w) - cell_sd * node)
            b, a = b + share * weight * over, a + share * weight * under
            slope_b = slope_b + share * weight * times * over * (1.0 - over)
            slope_a = slope_a + share * weight * times * under * (1.0 - under)
    of_b, of_a, tie = slope_b**2 / b, slope_a**2 / a, np.maximum(1.0 - a - b, _TINY)
    uu = of_b + of_a + (slope_a - slope_b) ** 2 / tie
    uw = of_a - of_b + (slope_a**2 - slope_b**2) / tie
    ww = of_b + of_a + (slope_a + slope_b) ** 2 / tie
    return uu, uw, ww


def _further_votes(theta: FloatArray, alpha: FloatArray, outset: Outset) -> FloatArray:
    """(G, K) what an item tells with the votes that the overlap adds, over what its first vote tells, theta (G, K).

    Its votes share their cell's effect and both replies: after k of them the next tells 1 / (1 + k i v)^2 of the first
    (see `belief`).
    """
    overlap, shared = outset.overlap, theta * (outset.cell_sd / alpha) ** 2
    after = np.arange(1, overlap.votes)[:, None, None]
    told: FloatArray = 1.0 + overlap.share * (1.0 / (1.0 + after * shared) ** 2).sum(axis=0)
    return told


def of_classes(values: FloatArray) -> FloatArray:
    """(D, N) sums over the classes of (D, N, K); a product, since numpy is slow at adding up few numbers at a time."""
    total: FloatArray = values @ np.ones(values.shape[-1])
    return total


def _looked_up(table: FloatArray, place: FloatArray) -> FloatArray:
    """(D, N, K) of a table (G, K) over the grid, at places (D, N) between its points."""
    left = place.astype(np.int64)
    part = (place - left)[..., None]
    found: FloatArray = table[left] + part * (table[left + 1] - table[left])
    return found


def _inverse(S: FloatArray) -> FloatArray:
    """Of positive definite matrices (D, n, n): by their roots, two thirds of the time that any others take.

    Raises LinAlgError where one is not: what LAPACK leaves then is no inverse of anything.
    """
    lower = np.empty_like(S)
    for one, found in zip(S, lower, strict=True):
        root, failed = dpotrf(one, lower=1)
        if failed:
            raise np.linalg.LinAlgError("a precision is not positive definite")
        found[:] = np.tril(dpotri(root, lower=1)[0])
    n = np.arange(S.shape[1])
    whole = lower + np.swapaxes(lower, 1, 2)
    whole[:, n, n] = lower[:, n, n]
    return whole


def _centred(covariance: FloatArray) -> FloatArray:
    """Of abilities minus their mean, (..., M, M)."""
    half = covariance - covariance.mean(axis=-1, keepdims=True)
    whole: FloatArray = half - half.mean(axis=-2, keepdims=True)
    return whole


def _level(values: FloatArray) -> FloatArray:
    """(D, M) minus the mean of each campaign."""
    level: FloatArray = values - values.mean(axis=1, keepdims=True)
    return level


def _diagonal(covariance: FloatArray) -> FloatArray:
    """(D, M) variances, never 0."""
    variance: FloatArray = np.maximum(np.einsum("dmm->dm", covariance), _TINY)
    return variance
