"""One-sided preference: annotators, and groups of annotators, that prefer one chatbot whatever it replies.

Notation: vote i of annotator k compares chatbot m with an opponent; under the fit, m wins with probability p_i, loses
with q_i, and ties with 1 - p_i - q_i.

Null hypothesis: the annotator is honest with a taste delta ~ N(0, omega^2 + Var(s_m)), which shifts the log odds of a
win by delta and of a loss by -delta (cumulative logit model). omega is the SD of honest tastes.
Alternative: with probability rho the annotator prefers m without looking, else votes honestly. The likelihood ratio

    E_km = mean_rho prod_i f_rho(y_i) / E_delta prod_i f(y_i; delta)

has mean 1 under the null hypothesis. For votes in their order it is a martingale, so by Ville's inequality it exceeds
1 / alpha with a probability of at most alpha, however often one looks. The group's statistic of chatbot m,

    G_m = mean_pi prod_k (1 - pi + pi E_km),

is a mixture over all sets of annotators who could share the target, and has the same property.

References: G. Shafer, A. Shen, N. Vereshchagin and V. Vovk (2011), Test martingales, Bayes factors and p-values,
Statistical Science 26, 84-101. A. Ramdas, P. Gruenwald, V. Vovk and G. Shafer (2023), Game-theoretic statistics and
safe anytime-valid inference, Statistical Science 38, 576-601.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logsumexp
from scipy.stats import poisson

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.errors import EngineError
from irt_engine.posterior import Posterior
from irt_engine.quadrature import normal_nodes
from irt_engine.responses import ResponseTable

TASTE_SD = 0.3  # Of honest annotators' preferences for a chatbot, in logits.
BLIND = (0.5, 0.75, 0.95)  # Probabilities of a vote without looking.
SHARES = (0.02, 0.05, 0.1, 0.2)  # Of annotators who share a target.
ALPHA_GROUP = 0.01  # Chance that any chatbot of an honest campaign has a group.
ALPHA_MEMBER = 0.25  # Chance that any honest annotator counts among the members of a real group.
BURST_WINDOW_S, LEAST_BURST = 3600.0, 5
EVEN_SD, LEAST_TIMES = 0.1, 10
_NODES = 11


@dataclass(frozen=True, slots=True, eq=False)
class Preference:
    """Store the one-sided preference of one annotator for one chatbot.

    Parameters
    ----------
    annotator : int
        Number of the annotator.
    chatbot : int
        Index of the chatbot.
    votes, won : int
        Votes about the chatbot, and its wins.
    expected : float
        Expected wins.
    evidence : float
        log10 of the likelihood ratio E_km.
    together : int
        Flagged annotators who prefer this chatbot.
    """

    annotator: int
    chatbot: int
    votes: int
    won: int
    expected: float
    evidence: float
    together: int


@dataclass(frozen=True, slots=True, eq=False)
class Preferences:
    """Store the statistics of all annotators and chatbots with common votes.

    Parameters
    ----------
    annotator, chatbot : ndarray of int, shape (P,)
        The pair.
    votes, won : ndarray of int, shape (P,)
        Votes of the annotator about the chatbot, and its wins.
    expected : ndarray of float, shape (P,)
        Expected wins.
    z : ndarray of float, shape (P,)
        Observed minus expected score (win 1, loss -1), divided by its standard deviation.
    log_e : ndarray of float, shape (P,)
        Logarithm of E_km.
    """

    annotator: IntArray
    chatbot: IntArray
    votes: IntArray
    won: IntArray
    expected: FloatArray
    z: FloatArray
    log_e: FloatArray


def preferences(
    posterior: Posterior, table: ResponseTable, *, taste_sd: float = TASTE_SD, chances: FloatArray | None = None
) -> Preferences:
    """Return the preference statistics of every annotator and chatbot.

    Parameters
    ----------
    posterior : Posterior
        The fit, in marginal logits.
    table : ResponseTable
        The votes, with the chatbots and prompts of the fit. Votes without a known annotator are left out.
    taste_sd : float
        SD omega of honest tastes, in logits.
    chances : ndarray of float, shape (votes, 3), optional
        Vote probabilities of the table under the fit (`Posterior.vote_probabilities`), if they are known already.

    Returns
    -------
    Preferences
        One row for each annotator and chatbot.

    Raises
    ------
    EngineError
        If the SD is negative or not finite (``bad_taste``).
    """
    if not (math.isfinite(taste_sd) and taste_sd >= 0.0):
        raise EngineError("the SD of tastes is not a number of at least 0", code="bad_taste", hint="give 0 or more")
    known = table.annotator >= 0
    if chances is None:
        chances = posterior.vote_probabilities(table.a, table.b, table.prompt, table.a_first)
    chances = chances[known]
    who, outcome = table.annotator[known], table.outcome[known]
    # Every vote stands twice: from the side of each chatbot.
    annotator = np.concatenate([who, who])
    chatbot = np.concatenate([table.a[known], table.b[known]])
    result = np.concatenate([-outcome, outcome])
    win = np.concatenate([chances[:, 0], chances[:, 2]])
    loss = np.concatenate([chances[:, 2], chances[:, 0]])
    pairs, row = np.unique(np.column_stack([annotator, chatbot]), axis=0, return_inverse=True)
    sums = _Sums(row.ravel(), len(pairs))
    sd = np.sqrt(taste_sd**2 + np.diagonal(posterior.covariance)[pairs[:, 1]])
    excess, variance = result - win + loss, win + loss - (win - loss) ** 2
    slope = win * (1.0 - win) + loss * (1.0 - loss)  # of the expected score in the ability
    spread = sums.of(variance) + (sums.of(slope) * sd) ** 2
    return Preferences(
        annotator=pairs[:, 0],
        chatbot=pairs[:, 1],
        votes=np.bincount(row.ravel(), minlength=len(pairs)),
        won=sums.of((result > 0).astype(np.float64)).astype(np.int64),
        expected=sums.of(win),
        z=sums.of(excess) / np.sqrt(np.maximum(spread, 1e-12)),
        log_e=_log_blind(sums, result, win, loss) - _log_honest(sums, result, win, loss, sd),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of votes by pair of annotator and chatbot."""

    row: IntArray
    count: int

    def of(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.row, weights=values, minlength=self.count), np.float64)


def _chance(result: IntArray, win: FloatArray, loss: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(np.select([result > 0, result < 0], [win, loss], 1.0 - win - loss), 1e-12))


def _log_blind(sums: _Sums, result: IntArray, win: FloatArray, loss: FloatArray) -> FloatArray:
    """log mean_rho prod f_rho, by pair."""
    honest = _chance(result, win, loss)
    each = [sums.of(np.log(rho * (result > 0) + (1.0 - rho) * honest)) for rho in BLIND]
    return np.asarray(logsumexp(each, axis=0) - math.log(len(BLIND)))


def _log_honest(sums: _Sums, result: IntArray, win: FloatArray, loss: FloatArray, sd: FloatArray) -> FloatArray:
    """log E_delta prod f(y; delta), by pair, by Gauss-Hermite quadrature."""
    at_win, at_loss = (np.log(p) - np.log1p(-p) for p in (np.clip(win, 1e-9, 1 - 1e-9), np.clip(loss, 1e-9, 1 - 1e-9)))
    each = []
    for node, weight in zip(*normal_nodes(_NODES), strict=True):
        shift = node * sd[sums.row]
        each.append(math.log(weight) + sums.of(np.log(_chance(result, expit(at_win + shift), expit(at_loss - shift)))))
    return np.asarray(logsumexp(each, axis=0))


def group_evidence(found: Preferences, chatbots: int) -> FloatArray:
    """Return log G_m of every chatbot.

    Parameters
    ----------
    found : Preferences
        The statistics.
    chatbots : int
        Number of chatbots M.

    Returns
    -------
    ndarray of float, shape (M,)
        Logarithms of the group statistics.
    """
    each = []
    for share in SHARES:
        terms = np.logaddexp(math.log1p(-share), math.log(share) + found.log_e)
        each.append(np.bincount(found.chatbot, weights=terms, minlength=chatbots))
    return np.asarray(logsumexp(each, axis=0) - math.log(len(SHARES)))


def one_sided(
    posterior: Posterior,
    table: ResponseTable,
    *,
    groups: Sequence[Collection[int]] = (),
    taste_sd: float = TASTE_SD,
    chances: FloatArray | None = None,
) -> tuple[Preference, ...]:
    """Return the annotators who prefer one chatbot without looking, alone or as members of a group.

    An annotator alone is flagged if E_km exceeds (annotators x chatbots) / ALPHA_GROUP. A member of a group is flagged
    if G_m exceeds chatbots / ALPHA_GROUP and the own E_km exceeds annotators / ALPHA_MEMBER. In a group that is known
    beforehand, every second member is expected to share the target, and the bounds count its members and the groups.

    Parameters
    ----------
    posterior, table, taste_sd, chances
        As in `preferences`.
    groups : sequence of collections of int
        Annotators that belong together for another reason: one network, or one burst of arrivals. Belonging together
        flags nobody; it lowers the evidence that is needed.

    Returns
    -------
    tuple of Preference
        The flagged annotators, each with the preferred chatbot.
    """
    if not (table.annotator >= 0).any():
        return ()
    found = preferences(posterior, table, taste_sd=taste_sd, chances=chances)
    chatbots, annotators = len(table.chatbots), len(np.unique(found.annotator))
    group = group_evidence(found, chatbots) >= math.log(chatbots / ALPHA_GROUP)
    alone = found.log_e >= math.log(annotators * chatbots / ALPHA_GROUP)
    member = group[found.chatbot] & (found.log_e >= math.log(annotators / ALPHA_MEMBER))
    flagged = np.flatnonzero(alone | member | _known_members(found, groups, chatbots))
    together = np.bincount(found.chatbot[flagged], minlength=chatbots)
    return tuple(_preference(found, row, int(together[found.chatbot[row]])) for row in _strongest(found, flagged))


def _known_members(found: Preferences, groups: Sequence[Collection[int]], chatbots: int) -> BoolArray:
    """Return which rows belong to members of the given groups that share a target."""
    flagged = np.zeros(len(found.annotator), bool)
    several = [group for group in groups if len(group) > 1]
    bound = math.log(max(1, len(several)) * chatbots / ALPHA_GROUP)
    for group in several:
        rows = np.isin(found.annotator, list(group))
        terms = np.where(rows, np.logaddexp(-math.log(2.0), found.log_e - math.log(2.0)), 0.0)
        shared = np.bincount(found.chatbot, weights=terms, minlength=chatbots) >= bound
        flagged |= rows & shared[found.chatbot] & (found.log_e >= math.log(len(group) / ALPHA_MEMBER))
    return flagged


def bursts(joined: Sequence[float], *, window: float = BURST_WINDOW_S) -> list[list[int]]:
    """Return groups of annotators who joined in a burst.

    A window is a burst if as many arrivals have a probability of at most ALPHA_GROUP over all windows, at the rate of
    the other arrivals (Poisson scan statistic), and at least LEAST_BURST arrived in it.

    Parameters
    ----------
    joined : sequence of float
        Times of arrival in seconds, in any order.
    window : float
        Length of a window, in seconds.

    Returns
    -------
    list of list of int
        Positions in `joined`, without overlap; the largest bursts come first.

    References
    ----------
    J. Glaz, J. Naus and S. Wallenstein (2001), Scan Statistics, Springer.
    """
    order = np.argsort(joined, kind="stable")
    times = np.asarray(joined, np.float64)[order]
    if len(times) < LEAST_BURST:
        return []
    ends = np.searchsorted(times, times + window, side="right")
    sizes = ends - np.arange(len(times))
    span = max(float(times[-1] - times[0]) - window, window)
    expected = (len(times) - sizes + 1) * window / span
    chance = np.asarray(poisson.sf(sizes - 1, expected), np.float64)
    rare = len(times) * chance <= ALPHA_GROUP
    found: list[list[int]] = []
    taken = np.zeros(len(times), bool)
    for start in np.argsort(-sizes, kind="stable").tolist():
        own = slice(start, int(ends[start]))
        if rare[start] and sizes[start] >= LEAST_BURST and not taken[own].any():
            taken[own] = True
            found.append(sorted(order[own].tolist()))
    return found


def evenly_timed(seconds: Sequence[Sequence[float]]) -> list[int]:
    """Return the annotators whose times are as even as a program's.

    People's times vary by a factor of two; the SD of their logarithms is .4 to 1. It is below EVEN_SD for an annotator
    who waits as long before each answer. The times of at least LEAST_TIMES answers are needed.

    Parameters
    ----------
    seconds : sequence of sequences of float
        Seconds of each annotator's answers.

    Returns
    -------
    list of int
        Positions of these annotators.
    """
    found = []
    for number, own in enumerate(seconds):
        times = np.asarray(own, np.float64)
        times = times[times > 0.0]
        if len(times) >= LEAST_TIMES and np.log(times).std() < EVEN_SD:
            found.append(number)
    return found


def _strongest(found: Preferences, rows: IntArray) -> list[int]:
    """Return the row of each annotator with the strongest evidence, by annotator."""
    best: dict[int, int] = {}
    for row in rows[np.argsort(-found.log_e[rows], kind="stable")].tolist():
        best.setdefault(int(found.annotator[row]), row)
    return [best[number] for number in sorted(best)]


def _preference(found: Preferences, row: int, together: int) -> Preference:
    return Preference(
        annotator=int(found.annotator[row]),
        chatbot=int(found.chatbot[row]),
        votes=int(found.votes[row]),
        won=int(found.won[row]),
        expected=float(found.expected[row]),
        evidence=float(found.log_e[row] / math.log(10.0)),
        together=together,
    )
