"""Estimation of annotator effects: an EM algorithm around the joint mode of the fit (`models.annotator_effects`).

The complete data are: whether a vote is careful, and what an annotator without a habit of ties would have said. Given
the mode, the E step gives each vote a chance r to be careful, and parts of the three outcomes (a tie of somebody who
often says tie is partly a win). The M step updates the effects of annotators:

- c_a by its posterior on a grid, with the Beta prior's parameters at their most likely place,
- g_a by the shares of careless votes, with the table's shares as ten votes more,
- s_a, t_a and d_ak by Fisher scoring, and their SDs by MacKay's update (1992, Neural Computation 4, 415-447).

The next mode counts a vote for r of a vote with its parts, and moves theta of its cell by s_a shown + d_ak - d_ai. At
the end, effects are fixed for the everyday fit. They do not depend on its warm start.

The covariance is that of votes counted by the information that is left under the mixture (Louis 1982, Journal of the
Royal Statistical Society B 44, 226-233), and after preferences. The uncertainty of c_a is not included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit

from irt_engine.arrays import FloatArray
from irt_engine.models.annotator_effects import PREFERENCE_SD, PREFERRED, AnnotatorEffects
from irt_engine.models.parameters import Point

from .annotated_votes import AnnotatedVotes
from .careless_posterior import PRIOR_CENTRE, careless_log_likelihood, careless_posterior, learned_prior
from .joint_mode import find_joint_mode
from .outcome_chances import LEAST_CHANCE, OutcomeChances, edge_chances, logistic_shrink, outcome_chances, table_shares
from .state import FitState, Solution
from .variational import settle_roughly, state_at

if TYPE_CHECKING:
    from .design import FitDesign
    from .expectations import CellEvaluator
    from .problem import FitProblem

MODES = 5  # rounds of EM with a mode each
ROUGH = 0.3  # distance of the last state from the fit, in posterior SDs
SWEEPS = 4  # of updates at a mode
CARELESS_ONLY = 8  # sweeps before other effects: a careless annotator must not begin as one with many preferences
_LEAST_CAREFUL = 1e-4
_PARTS = 2.0**40  # of a vote: as multiples of 1 / _PARTS they add up to 1 exactly
_OWN_SHARES = 10.0  # votes, the weight of the table's shares in g_a
_SD, _SD_WEIGHT = 0.3, 4.0  # of sides and ties, and the number of annotators that this guess is worth
_FARTHEST = 3.0  # of t_a and of d_ak


class _Places(NamedTuple):
    """Where votes are at a mode: the middle and the half width of their edges (n,), alpha, and variances."""

    middle: FloatArray
    half: FloatArray
    alpha: FloatArray
    variance: FloatArray  # (n,) of the cell effect, in logits


@dataclass(slots=True)
class _Effects:
    """Estimates; those of anonymous votes, and of no pair, are last, and stay 0."""

    careless: FloatArray  # (K + 1,)
    careless_se: FloatArray
    shares: FloatArray  # (K + 1, 3)
    side: FloatArray  # (K + 1,)
    side_se: FloatArray
    tie: FloatArray  # (K + 1,)
    tie_se: FloatArray
    preference: FloatArray  # (D + 1,)
    probability: FloatArray  # (D + 1,)
    kept: FloatArray  # (D + 1,) share of the information about theta that is left after the preference
    prior: FloatArray  # logit mean, log strength
    side_sd: float = _SD
    tie_sd: float = _SD


def estimate_annotators(
    cells: CellEvaluator, made: FitDesign, votes: AnnotatedVotes
) -> tuple[FitState, int, AnnotatorModel]:
    """Estimate the effects, and give the cells the votes as they count.

    Parameters
    ----------
    cells : CellEvaluator
        The cells, whose problem is replaced.
    made : FitDesign
        The design, with separate cells.
    votes : AnnotatedVotes
        Its votes.

    Returns
    -------
    tuple of (FitState, int, AnnotatorModel)
        The last state, the number of steps to all modes, and the estimates.
    """
    model = AnnotatorModel(votes)
    near, steps = find_joint_mode(cells, made.origin)
    for _ in range(MODES):
        model.update(cells, near)
        near, more = find_joint_mode(cells, near)
        steps += more
    state = settle_roughly(cells, state_at(cells, near), ROUGH)
    model.update(cells, state.point, state.log_sd)
    return state, steps, model


class AnnotatorModel:
    """Annotator effects, updated at modes of the fit.

    Parameters
    ----------
    votes : AnnotatedVotes
        The votes of a design with separate cells.
    """

    def __init__(self, votes: AnnotatedVotes) -> None:
        self.votes = votes
        K, D = len(votes.names), len(votes.pairs)
        ordered = votes.shown != 0
        self.outcome = np.where(votes.shown < 0, votes.verdict, 2 - votes.verdict)  # 0: the first shown wins
        self.unordered = np.flatnonzero(~ordered & (votes.verdict != 1))
        self.said = len(votes.verdict) * votes.verdict + np.arange(len(votes.verdict))  # places in (3, n), row by row
        self.code = 3 * votes.annotator + self.outcome  # places in (K + 1, 3)
        self.other = (3 * votes.annotator + 2 - self.outcome)[self.unordered]
        self.shares = table_shares(self.outcome, ordered)
        self.careful = np.ones(len(votes.cell))
        self.sweeps = 0
        none = np.zeros(K + 1)
        self.found = _Effects(
            careless=np.append(np.full(K, expit(PRIOR_CENTRE[0])), 0.0),
            careless_se=none,
            shares=np.tile(self.shares, (K + 1, 1)),
            side=none,
            side_se=none,
            tie=none,
            tie_se=none,
            preference=np.zeros(D + 1),
            probability=np.zeros(D + 1),
            kept=np.ones(D + 1),
            prior=PRIOR_CENTRE,
        )

    def update(self, cells: CellEvaluator, point: Point, log_sd: FloatArray | None = None) -> None:
        """Update all effects at a state by a few sweeps, and the problem of the cells.

        Parameters
        ----------
        cells : CellEvaluator
            The cells, whose problem is replaced.
        point : Point
            The means of the parameters.
        log_sd : ndarray of float, optional
            Log SDs of the cell effects; by default those at the start of a fit.
        """
        at = self._places(cells, point, cells.effects.start() if log_sd is None else log_sd)
        for sweep in range(SWEEPS + (CARELESS_ONLY if self.sweeps == 0 else 0)):
            self.at, self.chances = self._with_neighbours(at)
            self._careless(learn=sweep == 0)
            if self.sweeps >= CARELESS_ONLY:
                self._habits()
            self.sweeps += 1
        cells.problem = self.counted(cells, self.careful, self.imputed())

    def counted(self, cells: CellEvaluator, share: FloatArray, parts: FloatArray) -> FitProblem:
        """Return the problem in which each vote counts as estimated.

        Parameters
        ----------
        cells : CellEvaluator
            The cells and their problem, which stays as it is.
        share : ndarray of float, shape (n,)
            Share of one vote for which each vote counts.
        parts : ndarray of float, shape (n, 3)
            Parts of each vote by outcome.

        Returns
        -------
        FitProblem
            The problem, whose theta is moved by the effects of the annotators.
        """
        counts, weight = self.votes.counted(share, parts)
        moved = self.votes.by_cell(share * self._moves()) / self.votes.by_cell(share)
        return replace(cells.problem, counts=counts, weight=weight, offset=moved)

    def _moves(self) -> FloatArray:
        """Return by how much (n,) annotators move theta, toward the high chatbot."""
        found, votes = self.found, self.votes
        d = found.preference * found.probability
        moves: FloatArray = found.side[votes.annotator] * votes.shown + d[votes.high] - d[votes.low]
        return moves

    def _places(self, cells: CellEvaluator, point: Point, log_sd: FloatArray) -> _Places:
        """Return the places of the votes, without the effects of their annotators."""
        problem, effects, cell = cells.problem, cells.effects, self.votes.cell
        slot = np.repeat(np.arange(problem.slots), np.diff(problem.starts))
        unit = np.repeat(np.arange(len(problem.unit_starts) - 1), np.diff(problem.unit_starts))
        total = problem.total_phi(point)
        phi = total if problem.parts is None else problem.parts.phi(total)
        alpha = np.exp(phi[:, 0])[unit]
        theta = problem.theta(point) - (problem.offset if problem.offset is not None else 0.0)
        b = problem.prompts.thresholds(total)[slot]
        variance = np.where(slot == effects.shared, effects.pooled_sd(log_sd), effects.cell_sd(log_sd)) ** 2
        middle = alpha * (theta - 0.5 * (b[:, 0] + b[:, 1]))
        return _Places(middle[cell], (0.5 * alpha * (b[:, 1] - b[:, 0]))[cell], alpha[cell], variance[cell])

    def _with_neighbours(self, at: _Places) -> tuple[_Places, OutcomeChances]:
        """Return the places given the other votes of the cell (one Laplace step), and the chances there."""
        votes = self.votes
        middle = at.middle + at.alpha * self._moves()
        wide, variance = self._wide(at), at.variance
        if not votes.alone.all():
            chances = outcome_chances(middle, wide, 1.0)
            score = self.careful * self._of_said(chances.by_middle) / self._of_said(chances.p)
            info = self.careful * chances.information(chances.by_middle)
            others, known = votes.by_cell(score)[votes.cell] - score, votes.by_cell(info)[votes.cell] - info
            variance = variance / (1.0 + variance * known)
            middle = middle + variance * others
        return at._replace(middle=middle, variance=variance), outcome_chances(middle, wide, logistic_shrink(variance))

    def _wide(self, at: _Places) -> FloatArray:
        wide: FloatArray = at.half * np.exp(self.found.tie)[self.votes.annotator]
        return wide

    def _guesses(self) -> FloatArray:
        """Return the chance (n,) of each vote if it is careless."""
        shares = self.found.shares.ravel()
        chance: FloatArray = shares.take(self.code)
        chance[self.unordered] = 0.5 * (chance[self.unordered] + shares.take(self.other))
        return chance

    def _of_said(self, values: FloatArray) -> FloatArray:
        """Return the values (n,) of each vote's own outcome, of those (3, n) of all outcomes."""
        found: FloatArray = values.ravel().take(self.said)
        return found

    def _careless(self, *, learn: bool) -> None:
        """Update the chances to be careful, c_a, its prior if asked to, and g_a."""
        votes, found = self.votes, self.found
        own, guess = self._of_said(self.chances.p), self._guesses()
        c = found.careless[votes.annotator]
        careless = c * guess / (c * guess + (1.0 - c) * own)
        self.careful = np.maximum(1.0 - careless, _LEAST_CAREFUL)
        log_likelihood = careless_log_likelihood(np.log(guess / own), votes.annotator, len(votes.names))
        if learn:
            found.prior = learned_prior(log_likelihood, found.prior)
        mean, sd = careless_posterior(log_likelihood, found.prior)
        found.careless, found.careless_se = np.append(mean, 0.0), np.append(sd, 0.0)
        found.shares = self._own_shares(careless)

    def _own_shares(self, careless: FloatArray) -> FloatArray:
        """Return the shares (K + 1, 3) of careless votes.

        Without an order, a vote that is no tie is half of either kind.
        """
        size, half, known = 3 * (len(self.votes.names) + 1), 0.5 * careless[self.unordered], careless.copy()
        known[self.unordered] = half
        of = np.bincount(self.code, known, minlength=size) + np.bincount(self.other, half, minlength=size)
        of = of.reshape(-1, 3)
        shares: FloatArray = (of + _OWN_SHARES * self.shares) / (of.sum(axis=1, keepdims=True) + _OWN_SHARES)
        return shares

    def _habits(self) -> None:
        """Update sides, ties and preferences, and their SDs."""
        votes, found, chances = self.votes, self.found, self.chances
        by_width, weight = chances.by_width(self._wide(self.at)), self.careful / self._of_said(chances.p)
        score = self.at.alpha * weight * self._of_said(chances.by_middle)
        info = self.careful * self.at.alpha**2 * chances.information(chances.by_middle)
        of_tie, about_tie = weight * self._of_said(by_width), self.careful * chances.information(by_width)
        found.side, found.side_se, found.side_sd = _pooled(
            found.side,
            found.side_sd,
            votes.by_annotator(score * votes.shown),
            votes.by_annotator(info * votes.shown**2),
        )
        found.tie, found.tie_se, found.tie_sd = _pooled(
            found.tie, found.tie_sd, votes.by_annotator(of_tie), votes.by_annotator(about_tie)
        )
        if len(votes.pairs):
            self._preferences(votes.by_pair(score, -1.0), votes.by_pair(info, 1.0))

    def _preferences(self, gradient: FloatArray, info: FloatArray) -> None:
        """Update preferences (D,): the slab's posterior mean, and its probability by the Bayes factor."""
        found, tight = self.found, info + PREFERENCE_SD**-2
        gradient = gradient + info * (found.preference * found.probability)[:-1]
        slab = np.clip(gradient / tight, -_FARTHEST, _FARTHEST)
        log_odds = 0.5 * slab * gradient - 0.5 * np.log1p(PREFERENCE_SD**2 * info) + logit(PREFERRED)
        probability = expit(log_odds)
        found.preference, found.probability = np.append(slab, 0.0), np.append(probability, 0.0)
        found.kept = np.append(1.0 - probability * info / tight, 1.0)

    def imputed(self) -> FloatArray:
        """Return what annotators without a habit of ties would have said.

        Returns
        -------
        ndarray of float, shape (n, 3)
            Parts of each vote by outcome; they add up to 1.
        """
        verdict, shrink, wide = self.votes.verdict, logistic_shrink(self.at.variance), self._wide(self.at)
        F0, F1 = edge_chances(self.at.middle, self.at.half, shrink)
        own0, own1 = edge_chances(self.at.middle, wide, shrink)
        wider, width = wide > self.at.half, np.maximum(own0 - own1, LEAST_CHANCE)
        low = np.where(wider, 1.0, (1.0 - F0) / np.maximum(1.0 - own0, LEAST_CHANCE))
        high = np.where(wider, 1.0, F1 / np.maximum(own1, LEAST_CHANCE))
        from_tie = np.where(wider, [own0 - F0, F1 - own1], 0.0) / width
        parts = np.zeros((len(verdict), 3))
        parts[:, 0] = np.where(verdict == 0, low, np.where(verdict == 1, from_tie[0], 0.0))
        parts[:, 2] = np.where(verdict == 2, high, np.where(verdict == 1, from_tie[1], 0.0))
        parts = np.floor(np.clip(parts, 0.0, 1.0) * _PARTS) / _PARTS
        parts[:, 1] = 1.0 - parts[:, 0] - parts[:, 2]
        return parts

    def information(self) -> FloatArray:
        """Return the expected information of each vote about theta.

        Returns
        -------
        ndarray of float, shape (n,)
            Relative to the information of a careful vote by an annotator without effects.
        """
        votes, found = self.votes, self.found
        usual = outcome_chances(self.at.middle, self.at.half, logistic_shrink(self.at.variance))
        c, p, slope = found.careless[votes.annotator], self.chances.p, self.chances.by_middle
        shares = found.shares[votes.annotator].T
        low = np.where(votes.shown < 0, shares[0], np.where(votes.shown > 0, shares[2], 0.5 * (shares[0] + shares[2])))
        guess = np.stack([low, shares[1], 1.0 - shares[1] - low])
        mixed = (((1.0 - c) * slope) ** 2 / ((1.0 - c) * p + c * guess)).sum(axis=0)
        share = mixed / usual.information(usual.by_middle)
        share *= found.kept[votes.low] * found.kept[votes.high]
        return np.where(votes.annotator < len(votes.names), np.maximum(share, _LEAST_CAREFUL), 1.0)

    def informed(self, cells: CellEvaluator, solution: Solution) -> Solution:
        """Return the same means, with the covariance by the information of the votes.

        Parameters
        ----------
        cells : CellEvaluator
            The cells, whose problem is replaced.
        solution : Solution
            The solution of the everyday fit.

        Returns
        -------
        Solution
            The solution with new factors and covariance.
        """
        cells.problem = self.counted(cells, self.information(), self.imputed())
        point, log_sd = solution.state.point, solution.state.log_sd
        factors = cells.factor(cells.information(point, log_sd), cells.effects.precision(log_sd))
        return replace(solution, factors=factors, covariance=factors.covariance())

    def effects(self) -> AnnotatorEffects:
        """Return the estimates.

        Returns
        -------
        AnnotatorEffects
            Effects by annotator, and values of the votes in the order of the table.
        """
        votes, found, K = self.votes, self.found, len(self.votes.names)
        careful, information = np.empty(len(votes.row)), np.empty(len(votes.row))
        careful[votes.row] = np.where(votes.annotator < K, self.careful, 1.0)
        information[votes.row] = self.information()
        return AnnotatorEffects(
            annotator=votes.names,
            votes=np.bincount(votes.annotator, minlength=K + 1)[:K],
            careless=found.careless[:K],
            careless_se=found.careless_se[:K],
            shares=found.shares[:K],
            side=found.side[:K],
            side_se=found.side_se[:K],
            tie=found.tie[:K],
            tie_se=found.tie_se[:K],
            preferring=votes.pairs[:, 0],
            preferred=votes.pairs[:, 1],
            preference=found.preference[:-1],
            preference_probability=found.probability[:-1],
            careful=careful,
            information=information,
            mean=float(expit(found.prior[0])),
            strength=float(np.exp(found.prior[1])),
            side_sd=found.side_sd,
            tie_sd=found.tie_sd,
        )


def _pooled(
    effect: FloatArray, sd: float, gradient: FloatArray, info: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Take one step of partially pooled effects (K + 1,). Return the effects, their SEs, and the SD of all."""
    tight = info + sd**-2
    found = np.clip(effect[:-1] + (gradient - effect[:-1] * sd**-2) / tight, -_FARTHEST, _FARTHEST)
    variance = (_SD_WEIGHT * _SD**2 + found @ found) / (_SD_WEIGHT + (info / tight).sum())
    return np.append(found, 0.0), np.append(tight**-0.5, 0.0), float(np.sqrt(variance))
