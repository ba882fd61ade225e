"""Reliability of annotators, estimated together with the board: careless votes have less weight.

A vote of annotator a is careless with probability c_a. Then it is drawn from the table's shares pi of outcomes;
otherwise it follows the model (form `vote`). c_a ~ Beta(m k, (1 - m) k), with m and k estimated from all annotators. It
is a mixture in the manner of Dawid and Skene (1979, Applied Statistics 28, 20-28) and Hovy et al. (2013, MACE), with
the item response model in place of a true label.

An EM algorithm is wrapped around the everyday fit. Given the model's probabilities p of each vote, c_a is integrated on
a grid, and each vote is careful with probability r. Given r, a cell with one vote has weight r, which is exact EM. A
cell with several votes has sums of r for counts, the variational form, in which its effect and r are independent.

The fit with weights r treats r as known. The information of a vote about theta under the mixture is

    sum_k ((1 - c) p_k')^2 / ((1 - c) p_k + c pi_k),   a share of sum_k p_k'^2 / p_k.

The covariance is that of votes counted by this share (Louis 1982, Journal of the Royal Statistical Society B 44,
226-233). The uncertainty of c_a is not included.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from irt_engine.arrays import FloatArray, IntArray, frozen
from irt_engine.errors import DidNotConverge, InvalidResponses
from irt_engine.fitting.anderson_acceleration import AndersonAccelerator
from irt_engine.fitting.everyday import Model, check
from irt_engine.fitting.fitted_posterior import posterior_of
from irt_engine.models.priors import DEFAULT_PRIORS, Priors
from irt_engine.posterior.posterior import Posterior
from irt_engine.quadrature import normal_nodes
from irt_engine.responses.cells import compare, low_to_high, separate_cells
from irt_engine.responses.table import ResponseTable

if TYPE_CHECKING:
    from irt_engine.fitting.design import FitDesign
    from irt_engine.fitting.expectations import CellEvaluator
    from irt_engine.fitting.state import FitState, Solution


MOST_ROUNDS = 200
_TOLERANCE = 1e-6  # of the logits of all r
_NODES = 15  # of the cell's effect
_GRID = np.linspace(-9.0, 7.0, 161)  # of logit c
_BOUND = 12.0  # of the logit of r
# Of logit m and log k: about one vote in ten careless, anything from one in fifty to a third is common; annotators
# differ as widely as from 0 to a third, and may do so far more or less.
_MIDDLE = np.array([logit(0.1), np.log(5.0)])
_WIDTH = np.array([1.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Store the estimated carelessness of K annotators and of n votes.

    Parameters
    ----------
    annotator : ndarray of int, shape (K,)
        Numbers of the annotators in the table, ascending.
    votes : ndarray of int, shape (K,)
        Number of votes.
    careless, careless_se : ndarray of float, shape (K,)
        Posterior mean and SD of the share of careless votes.
    careful : ndarray of float, shape (n,)
        Probability that a vote is careful; 1 for anonymous votes.
    information : ndarray of float, shape (n,)
        Information of a vote, as a share of that of a careful one.
    mean, strength : float
        Parameters m and k of the estimated Beta prior.
    rounds : int
        Iterations of the EM algorithm.
    """

    annotator: IntArray
    votes: IntArray
    careless: FloatArray
    careless_se: FloatArray
    careful: FloatArray
    information: FloatArray
    mean: float
    strength: float
    rounds: int

    def __post_init__(self) -> None:
        for name in ("annotator", "votes"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("careless", "careless_se", "careful", "information"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.float64))


def fit_reliability(
    table: ResponseTable,
    model: Model = "board",
    *,
    priors: Priors = DEFAULT_PRIORS,
    seed: int = 0,
) -> tuple[Posterior, Reliability]:
    """Fit the votes together with each annotator's carelessness, in form vote.

    The order of the rows has no influence. Votes without an annotator count as careful. The fit takes about six times
    as long as `fit`.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model : {"board", "pair"}
        The model.
    priors : Priors
        Prior SDs of the effects.
    seed : int
        A number to record; the fit draws no random numbers.

    Returns
    -------
    tuple of (Posterior, Reliability)
        The posterior and the reliabilities.

    Raises
    ------
    InvalidResponses
        If no vote has an annotator (``no_annotators``), or as `fit`.
    DidNotConverge
        If the equations have no solution.
    """
    from irt_engine.fitting.design import design_of
    from irt_engine.fitting.expectations import CellEvaluator
    from irt_engine.fitting.joint_mode import find_joint_mode
    from irt_engine.fitting.variational import solve

    check(table, model, "vote")
    if not (table.annotator >= 0).any():
        raise InvalidResponses("no vote has an annotator", code="no_annotators", hint="give annotator_id, or use fit")
    comparisons, index = compare(table)
    separate, cell = separate_cells(table, index)
    made = design_of(table, model, "vote", priors, comparisons, separate)
    votes = _AnnotatedVotes.of(table, made, index, cell)
    with CellEvaluator(made.problem, made.effects) as cells:
        near, steps = find_joint_mode(cells, made.origin)
        found, belief, rounds = _settled(cells, made, votes, solve(cells, near, steps))
        share = _information_share(votes, _chances(made, votes, found.state, belief.of_votes), belief)
        found = _informed(cells, made, votes, share, found)
    careful, told = np.empty(len(table)), np.empty(len(table))
    careful[votes.row], told[votes.row] = belief.careful, share
    return posterior_of(made, found, seed), Reliability(
        annotator=votes.names,
        votes=np.bincount(votes.annotator, minlength=len(votes.names) + 1)[:-1],
        careless=belief.careless,
        careless_se=belief.se,
        careful=careful,
        information=told,
        mean=float(expit(belief.prior[0])),
        strength=float(np.exp(belief.prior[1])),
        rounds=rounds,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _AnnotatedVotes:
    """n votes in canonical order: cell by cell, annotators in order, so that sums do not depend on the table's rows."""

    row: IntArray  # (n,) in the table
    cell: IntArray  # (n,) ascending; every cell has a vote
    first: IntArray  # (cells,) where each cell's votes begin
    alone: FloatArray  # (cells,) 1 where a cell has one vote
    verdict: IntArray  # (n,) 0..2: A better, tie, B better in the design's orientation
    guess: FloatArray  # (n, 3) pi of a careless vote
    names: IntArray  # (K,)
    annotator: IntArray  # (n,) 0..K - 1, K without a name

    @classmethod
    def of(cls, table: ResponseTable, made: FitDesign, comparison: IntArray, cell: IntArray) -> _AnnotatedVotes:
        toward, shown = low_to_high(table)
        if not made.board:
            turned = made.comparisons.flip[comparison]
            toward, shown = np.where(turned, -toward, toward), np.where(turned, -shown, shown)
        names = np.unique(table.annotator[table.annotator >= 0])
        annotator = np.where(table.annotator >= 0, np.searchsorted(names, table.annotator), len(names))
        row = np.lexsort((shown, toward, annotator, cell))
        toward, shown, cell = toward[row], shown[row], cell[row]
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        return cls(
            row=row,
            cell=cell,
            first=first,
            alone=(np.diff(np.append(first, len(cell))) == 1).astype(np.float64),
            verdict=toward + 1,
            guess=_guesses(toward, shown),
            names=names,
            annotator=annotator[row],
        )

    def counted(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Counts (cells, 3) and weights (cells,) when each vote counts for a share (n,) of one."""
        counts = np.zeros((len(self.first), 3))
        np.add.at(counts, (self.cell, self.verdict), np.where(self.alone[self.cell] == 1.0, 1.0, share))
        return counts, np.where(self.alone == 1.0, share[self.first], 1.0)


def _guesses(toward: IntArray, shown: IntArray) -> FloatArray:
    """pi (n, 3): the table's share of ties; the rest in halves, or where the order is known, as the first shown won."""
    tie = ((toward == 0).sum() + 1.0) / (len(toward) + 3.0)
    told = (toward != 0) & (shown != 0)
    first = ((toward == shown)[told].sum() + 1.0) / (told.sum() + 2.0)
    high = (1.0 - tie) * (0.5 + (first - 0.5) * shown)
    return np.stack([1.0 - tie - high, np.full(len(toward), tie), high], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Chances:
    """p_k of each vote (n, 3) given the cell's other votes, and its derivative by theta's logit (n, 3)."""

    p: FloatArray
    slope: FloatArray


def _chances(made: FitDesign, votes: _AnnotatedVotes, state: FitState, careless: FloatArray) -> _Chances:
    """At the means of all parameters; `careless` (n,) of each vote's annotator."""
    problem, effects = made.problem, made.effects
    slot, total = made.cells.slot, problem.total_phi(state.point)
    sd = np.where(slot == effects.shared, effects.pooled_sd(state.log_sd), effects.cell_sd(state.log_sd))
    alpha, b = np.exp(total[slot, 0]), problem.prompts.thresholds(total)[slot]
    nodes, weights = normal_nodes(_NODES)
    edge = alpha[:, None] * (problem.theta(state.point)[:, None] - b)
    above = expit(edge[:, :, None] + sd[:, None, None] * nodes)  # (cells, 2, Q)
    p = np.stack([1.0 - above[:, 0], above[:, 0] - above[:, 1], above[:, 1]], axis=1)
    f = above * (1.0 - above)
    slope = np.stack([-f[:, 0], f[:, 0] - f[:, 1], f[:, 1]], axis=1)
    n, cell = np.arange(len(votes.cell)), votes.cell
    guess = votes.guess[n, votes.verdict]
    own = np.log((1.0 - careless)[:, None] * p[cell, votes.verdict] + (careless * guess)[:, None])
    others = np.add.reduceat(own, votes.first)[cell] - own + np.log(weights)
    share = np.exp(others - logsumexp(others, axis=1, keepdims=True))
    return _Chances(np.einsum("nq,nkq->nk", share, p[cell]), np.einsum("nq,nkq->nk", share, slope[cell]))


@dataclass(frozen=True, slots=True, eq=False)
class _Belief:
    """About annotators: the prior (logit m, log k), c (K,) and its SD; about votes: r (n,)."""

    prior: FloatArray
    careless: FloatArray
    se: FloatArray
    careful: FloatArray
    of_votes: FloatArray  # (n,) c of each vote's annotator


def _believe(votes: _AnnotatedVotes, chances: _Chances, prior: FloatArray) -> _Belief:
    """c on the grid, its prior at the most likely place (searched for from `prior`), and what follows for the votes."""
    n, who, K = np.arange(len(votes.cell)), votes.annotator, len(votes.names)
    p, guess = chances.p[n, votes.verdict], votes.guess[n, votes.verdict]
    c = expit(_GRID)
    told = np.stack([np.bincount(who, np.log((1.0 - at) * p + at * guess), minlength=K + 1)[:K] for at in c], axis=1)
    prior = minimize(_prior_loss, prior, (told, c), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    posterior = told + _log_prior(prior, c)
    posterior = np.exp(posterior - logsumexp(posterior, axis=1, keepdims=True))
    mean = posterior @ c
    se = np.sqrt(np.maximum(posterior @ c**2 - mean**2, 0.0))
    weight = np.vstack([posterior, np.zeros(len(c))])  # who has no name is careful
    careful = np.where(who == K, 1.0, 0.0)
    for g, at in enumerate(c):
        careful += weight[who, g] * (1.0 - at) * p / ((1.0 - at) * p + at * guess)
    return _Belief(prior, mean, se, careful, np.append(mean, 0.0)[who])


def _log_prior(prior: FloatArray, c: FloatArray) -> FloatArray:
    """Of Beta(m k, (1 - m) k) on the grid of logits, (G,), summing to 1 there."""
    m, k = expit(prior[0]), np.exp(prior[1])
    log_p = m * k * np.log(c) + (1.0 - m) * k * np.log1p(-c)
    normed: FloatArray = log_p - logsumexp(log_p)
    return normed


def _prior_loss(prior: FloatArray, told: FloatArray, c: FloatArray) -> tuple[float, FloatArray]:
    """Minus the log likelihood of the annotators' votes and the prior of the prior; and its gradient (2,)."""
    log_p = _log_prior(prior, c)
    joint = told + log_p
    total = logsumexp(joint, axis=1)
    ways = np.stack([np.log(c), np.log1p(-c)])
    pull = ways @ (np.exp(joint - total[:, None]).sum(axis=0) - len(told) * np.exp(log_p))  # by a and b
    m, k = expit(prior[0]), np.exp(prior[1])
    along = np.array([k * m * (1.0 - m) * (pull[0] - pull[1]), k * (m * pull[0] + (1.0 - m) * pull[1])])
    off = (prior - _MIDDLE) / _WIDTH
    return float(0.5 * off @ off - total.sum()), off / _WIDTH - along


def _settled(
    cells: CellEvaluator, made: FitDesign, votes: _AnnotatedVotes, found: Solution
) -> tuple[Solution, _Belief, int]:
    """The EM's end. Raises DidNotConverge."""
    careless, prior = np.zeros(len(votes.cell)), _MIDDLE
    mixer, x = AndersonAccelerator(np.ones(len(votes.cell)), mixed_below=1.0, share=1.0), np.empty(0)
    error = np.inf
    for rounds in range(1, MOST_ROUNDS + 1):
        belief = _believe(votes, _chances(made, votes, found.state, careless), prior)
        careless, prior = belief.of_votes, belief.prior
        end = _logit(belief.careful)
        error = float(np.abs(end - x).max()) if x.size else np.inf
        if error < _TOLERANCE:
            return found, belief, rounds
        x = _logit(expit(mixer.next(x, end, error))) if x.size else end
        found = _refit(cells, made, votes, expit(x), found.state)
    raise DidNotConverge(
        f"the annotators' reliability did not settle in {MOST_ROUNDS} rounds (error {error:.1e})",
        code="no_reliability",
        hint="fit without it; report the votes if it persists",
    )


def _logit(r: FloatArray) -> FloatArray:
    bounded: FloatArray = np.clip(logit(r), -_BOUND, _BOUND)
    return bounded


def _refit(
    cells: CellEvaluator, made: FitDesign, votes: _AnnotatedVotes, careful: FloatArray, state: FitState
) -> Solution:
    """The everyday fit's end when each vote counts for its chance to be careful."""
    from irt_engine.fitting.variational import settle, solve

    counts, weight = votes.counted(careful)
    cells.problem = replace(made.problem, counts=counts, weight=weight)
    try:
        return settle(cells, state, cells.effects.learned, 0, None)
    except DidNotConverge:
        return solve(cells, state.point)


def _information_share(votes: _AnnotatedVotes, chances: _Chances, belief: _Belief) -> FloatArray:
    """(n,) what is expected of a vote under the mixture, over what is expected of one that is known to be careful."""
    c = belief.of_votes[:, None]
    careful = (chances.slope**2 / chances.p).sum(axis=1)
    mixed = (((1.0 - c) * chances.slope) ** 2 / ((1.0 - c) * chances.p + c * votes.guess)).sum(axis=1)
    share: FloatArray = mixed / careful
    return share


def _informed(
    cells: CellEvaluator, made: FitDesign, votes: _AnnotatedVotes, share: FloatArray, found: Solution
) -> Solution:
    """The same means with the covariance of what the votes really tell."""
    counts, weight = votes.counted(share)
    cells.problem = replace(made.problem, counts=counts, weight=weight)
    point, log_sd = found.state.point, found.state.log_sd
    information = cells.information(point, log_sd)
    factors = cells.factor(information, cells.effects.precision(log_sd))
    return replace(found, factors=factors, covariance=factors.covariance())
