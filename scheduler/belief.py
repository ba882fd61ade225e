"""The posterior of abilities while a plan is made, with the expected information of asks in flight.

Notation: s ~ N(mean, Sigma) of M chatbots; a pair's theta = x's + delta, x = e_high - e_low, delta ~ N(0, tau^2) the
pair's own effect; a target W (`targets`) leaves trace(W Sigma) to learn.

One judgment with information I on theta is worth less about x's, since it informs about delta too. All judgments of a
pair, with information h in sum, weigh as much as information h / (1 + h tau^2) on x's itself (delta integrated out).
The next judgment therefore adds

    k = I / ((1 + h tau^2) (1 + (h + I) tau^2)),

which falls with the square of h: the tenth vote on a pair teaches less about abilities than the first on another. The
precision grows by k x x', so that Sigma falls by k (Sigma x)(Sigma x)' / (1 + k x' Sigma x), and trace(W Sigma) by
k x' Sigma W Sigma x / (1 + k x' Sigma x) (Sherman-Morrison). The mean stays, because the answers are unknown.

Votes of one cell share an effect of variance c^2 on the logit scale, and its two replies. With i the information of a
first vote about theta and v = c^2 / alpha^2 + 2 r^2 the variance of both effects in its units, n votes are worth
i n / (1 + n i v), where n cells would be worth i n.

A reply that was judged before teaches less again. With I_n the information about it, its chatbot's ability has
1 / (r^2 + 1 / I_n) of it, r the SD of replies. This grows by 1 / (1 + r^2 I_n)^2 of what is added: by the square of the
share of the reply's variance that is still open.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior import Posterior
from irt_engine.variance_reduction import variance_fall
from scheduler.pool import Pool
from scheduler.prompt_information import PairTables, discriminations
from scheduler.state import CampaignState
from scheduler.targets import PrecisionTarget, Target

_LEAST_VARIANCE = 1e-12


class Belief:
    """The posterior of abilities during one plan, with expected answers counted in.

    Parameters
    ----------
    state : CampaignState
        Names the chatbots and prompts, and the asks in flight, which are counted in.
    posterior : Posterior
        The last fit.
    pool : Pool
        The open items.
    target : Target, optional
        What is worth learning; by default the precision of all abilities.
    """

    def __init__(self, state: CampaignState, posterior: Posterior, pool: Pool, target: Target | None = None) -> None:
        self.mean, self.covariance = abilities_of(state, posterior)
        self.low, self.high = pool.low, pool.high
        self.weight = (target or PrecisionTarget()).weight(self.mean, self.covariance)
        self.toward = self.covariance @ self.weight @ self.covariance
        self.variance = np.maximum(_across(self.covariance, self.low, self.high), _LEAST_VARIANCE)
        self.projected = _across(self.toward, self.low, self.high)
        self.pair_variance = (posterior.scales.pair or 0.0) ** 2
        of_cell, of_reply = posterior.scales.cell or 0.0, posterior.scales.reply or 0.0
        self.cell_variance = (of_cell / discriminations(state, posterior)) ** 2 + 2.0 * of_reply**2
        self.tables = PairTables(state, posterior, self.low, self.high)
        self.open_replies = open_replies(state, posterior)
        se = np.sqrt(self.variance + self.pair_variance)
        self.typical = self.tables.typical(self.mean[self.high] - self.mean[self.low], se)
        self.known = _judgments(state, posterior, pool) * self.typical
        for pair, prompt in zip(pool.pairs_of(state.pending).tolist(), state.pending[:, 2].tolist(), strict=True):
            before = np.maximum(pool.votes(pair) - 1, 0)
            self.expect(pair, float(self.information(pair, before)[prompt]))

    def information(self, pair: int, votes: IntArray) -> FloatArray:
        """Return the information of a pair's next vote on each prompt.

        Parameters
        ----------
        pair : int
            Number of the pair.
        votes : ndarray of int, shape (J,)
            Votes of the pair on each prompt.

        Returns
        -------
        ndarray of float, shape (J,)
            Information about theta.
        """
        mean = self.mean[self.high[pair]] - self.mean[self.low[pair]]
        se = np.sqrt(self.variance[pair] + self.pair_variance)
        first = self.tables.of_pair(pair, float(mean), float(se))
        still_open = 0.5 * (self.open_replies[self.low[pair]] + self.open_replies[self.high[pair]])
        following: FloatArray = still_open**2 * first / (1.0 + votes * first * self.cell_variance) ** 2
        return following

    def about_abilities(self, information: FloatArray) -> FloatArray:
        """Return the information about differences of abilities, given the information about theta.

        Parameters
        ----------
        information : ndarray of float, shape (N,)
            Information about each pair's theta.

        Returns
        -------
        ndarray of float, shape (N,)
            The factor k of the module's notation.
        """
        before = 1.0 + self.known * self.pair_variance
        added: FloatArray = information / (before * (before + information * self.pair_variance))
        return added

    def falls(self) -> FloatArray:
        """Return the expected decrease of trace(W Sigma) by one judgment on each pair.

        Returns
        -------
        ndarray of float, shape (N,)
            Decrease for typical information.
        """
        return variance_fall(self.about_abilities(self.typical), self.projected, self.variance)

    def expect(self, pair: int, information: float) -> float:
        """Update the covariance for an expected answer.

        Parameters
        ----------
        pair : int
            Number of the pair.
        information : float
            Information of the answer about theta.

        Returns
        -------
        float
            Expected decrease of trace(W Sigma).
        """
        a, b = self.low[pair], self.high[pair]
        before = 1.0 + self.known[pair] * self.pair_variance
        k = information / (before * (before + information * self.pair_variance))
        t = self.covariance[:, b] - self.covariance[:, a]
        u = self.toward[:, b] - self.toward[:, a]
        factor = k / (1.0 + k * float(t[b] - t[a]))
        squared = max(float(u[b] - u[a]), 0.0)
        across_t, across_u = t[self.high] - t[self.low], u[self.high] - u[self.low]
        # (Sigma - f t t') W (Sigma - f t t') = toward - f (t u' + u t') + f^2 (t' W t) t t', with t' W t = x' toward x.
        mixed = np.outer(t, u)
        self.toward -= factor * (mixed + mixed.T) - factor**2 * squared * np.outer(t, t)
        self.projected += factor * across_t * (factor * squared * across_t - 2.0 * across_u)
        np.maximum(self.projected, 0.0, out=self.projected)
        self.covariance -= factor * np.outer(t, t)
        self.variance = np.maximum(self.variance - factor * across_t**2, _LEAST_VARIANCE)
        self.known[pair] += information
        return float(factor * squared)


def _across(Q: FloatArray, low: IntArray, high: IntArray) -> FloatArray:
    """x' Q x of every pair, never negative."""
    v = np.diag(Q)
    value: FloatArray = np.maximum(v[low] + v[high] - 2.0 * Q[low, high], 0.0)
    return value


def abilities_of(state: CampaignState, posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return the abilities in the state's order.

    A chatbot without votes, and the offset between separate components, have the prior's variance.

    Parameters
    ----------
    state : CampaignState
        The state with M chatbots.
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    tuple of ndarray of float, shapes (M,) and (M, M)
        Abilities and covariance.
    """
    number = {name: i for i, name in enumerate(posterior.chatbots)}
    rows = np.array([number.get(name, -1) for name in state.chatbots], np.int64)
    known = np.flatnonzero(rows >= 0)
    M, prior = len(rows), (DEFAULT_PRIORS.ability_sd / posterior.scales.unit) ** 2
    mean, covariance = np.zeros(M), prior * np.eye(M)
    mean[known] = posterior.ability[rows[known]]
    covariance[np.ix_(known, known)] = posterior.covariance[np.ix_(rows[known], rows[known])]
    if len(known) and posterior.group.max() > 1:
        group = posterior.group[rows[known]]
        covariance[np.ix_(known, known)] += prior * (group[:, None] == group[None, :])
    return mean, covariance


def open_replies(state: CampaignState, posterior: Posterior) -> FloatArray:
    """Return the share of each reply effect's variance that is unknown.

    Parameters
    ----------
    state : CampaignState
        The state with M chatbots and J prompts.
    posterior : Posterior
        The fit of the board.

    Returns
    -------
    ndarray of float, shape (M, J)
        Shares in the state's order; 1 without votes.
    """
    sd = posterior.scales.reply
    if sd is None or not posterior.reply_se.size:
        return np.ones((len(state.chatbots), len(state.prompts)))
    share = np.ones((len(posterior.chatbots) + 1, len(posterior.prompts) + 1))  # the last ones are of who is not there
    share[:-1, :-1] = np.minimum(posterior.reply_se.T / sd, 1.0) ** 2
    chatbot, prompt = ({name: i for i, name in enumerate(names)} for names in (posterior.chatbots, posterior.prompts))
    rows, columns = [chatbot.get(name, -1) for name in state.chatbots], [prompt.get(name, -1) for name in state.prompts]
    return share[np.ix_(rows, columns)]


def _judgments(state: CampaignState, posterior: Posterior, pool: Pool) -> FloatArray:
    """(N,) judgments of each pair that the posterior has seen: those that its tau was learned beside."""
    number = {name: i for i, name in enumerate(state.chatbots)}
    ends = [(number[c.a], number[c.b], c.judgments) for c in posterior.comparisons if c.a in number and c.b in number]
    seen = np.zeros(len(pool.low))
    if ends:
        rows = np.array(ends, np.int64)
        rows[:, :2].sort(axis=1)
        np.add.at(seen, pool.pairs_of(rows), rows[:, 2])
    return seen
