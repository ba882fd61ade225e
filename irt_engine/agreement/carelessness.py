"""Careless and adversarial annotators, found from their votes without any overlap.

Notation: under the fit, vote i of annotator k has outcome y_i with probability p_i(y_i).

Null hypothesis: the annotator follows the fit with a habit of ties of their own: the log width of the tie category is
moved by t ~ N(0, TIE_SD^2). Alternatives: with probability rho a vote is drawn from the table's shares of outcomes
(careless; hasty: only votes given in less than QUICK of the median time), or has the outcome of the other reply
(adversarial); otherwise it follows the fit. The likelihood ratio

    E_k = mean over kinds and rho of G_k prod_i f_rho(y_i) / E_t prod_i p_i(y_i; t)

has mean 1 under the null hypothesis, and is a martingale in the order of the votes. It is conditional on the times, so
their distribution does not matter. The fit, the table's shares and the median time are taken as known.

G_k is the likelihood ratio of gold. A careful annotator passes an item with the probability m at least. Others pass it
with (1 - rho) m + rho h, where h is 1/3, or 0 for an adversary. The mean of G_k is 1 for an annotator who passes with
the probability m, and less for one who passes more often.

By Ville's inequality E_k exceeds 1 / alpha with a probability of at most alpha, however often one looks. Whoever
exceeds annotators / ALPHA is flagged, so a campaign of careful annotators flags somebody with a probability of at most
ALPHA, if the fit is right.

References: G. Shafer, A. Shen, N. Vereshchagin and V. Vovk (2011), Test martingales, Bayes factors and p-values,
Statistical Science 26, 84-101.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from scipy.special import expit, logit, logsumexp

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.posterior import Posterior
from irt_engine.quadrature import normal_nodes
from irt_engine.responses import ResponseTable

Kind = Literal["careless", "adversarial", "hasty"]
KINDS: tuple[Kind, ...] = ("careless", "adversarial", "hasty")
SHARES = (0.5, 0.75, 0.95)  # of votes that are not careful
TIE_SD = 1.0  # of careful annotators' log widths of the tie category
ALPHA = 0.01  # Chance that a campaign of careful annotators flags anybody.
LEAST_VOTES = 10
PRIOR = 0.05  # Share of annotators who are not careful, for the posterior probability.
QUICK = 0.25  # of the median time of all votes
GUESSED_GOLD = {"careless": 1.0 / 3.0, "adversarial": 0.0, "hasty": 1.0 / 3.0}
MOST_MARK = 0.99  # Nobody passes gold always.
_LEAST = 1e-9
_NODES = 11


@dataclass(frozen=True, slots=True)
class GoldCounts:
    """Store results of gold items.

    Parameters
    ----------
    mark : float
        Share of gold that careful annotators pass, between 0 and 1.
    counts : mapping of int to (int, int)
        Passed and given items by annotator (number in the table).
    """

    mark: float
    counts: Mapping[int, tuple[int, int]]


NO_GOLD = GoldCounts(1.0, MappingProxyType({}))


@dataclass(frozen=True, slots=True, eq=False)
class Carelessness:
    """Store the evidence against K annotators.

    Parameters
    ----------
    annotator : ndarray of int, shape (K,)
        Numbers of the annotators in the table, ascending.
    votes : ndarray of int, shape (K,)
        Number of votes.
    decided, stronger : ndarray of int, shape (K,)
        Votes that are no ties, and those of them for the reply that the fit expects to win.
    expected : ndarray of float, shape (K,)
        Expected number of `stronger`.
    log_e : ndarray of float, shape (K,)
        Logarithm of E_k.
    kind : tuple of str, shape (K,)
        The alternative with more evidence.
    """

    annotator: IntArray
    votes: IntArray
    decided: IntArray
    stronger: IntArray
    expected: FloatArray
    log_e: FloatArray
    kind: tuple[Kind, ...]

    @property
    def probability(self) -> FloatArray:
        """Return the posterior probability (K,) that each annotator is not careful, if a share PRIOR is."""
        return np.asarray(expit(self.log_e + logit(PRIOR)))

    @property
    def flagged(self) -> IntArray:
        """Return the positions of annotators with enough votes and evidence."""
        bound = math.log(max(1, len(self.annotator)) / ALPHA)
        return np.flatnonzero((self.votes >= LEAST_VOTES) & (self.log_e >= bound))


def carelessness(
    posterior: Posterior,
    table: ResponseTable,
    *,
    seconds: FloatArray | None = None,
    gold: GoldCounts = NO_GOLD,
    chances: FloatArray | None = None,
) -> Carelessness:
    """Return the evidence that each annotator is careless, hasty or adversarial.

    Parameters
    ----------
    posterior : Posterior
        The fit.
    table : ResponseTable
        The n votes, with the chatbots and prompts of the fit. Votes without a known annotator are left out.
    seconds : ndarray of float, shape (n,), optional
        Time of each vote in any unit; NaN if unknown. Without times nobody is found hasty.
    gold : GoldCounts, optional
        Results of gold items.
    chances : ndarray of float, shape (n, 3), optional
        Vote probabilities of the table under the fit (`Posterior.vote_probabilities`), if they are known already.

    Returns
    -------
    Carelessness
        The evidence, by annotator.
    """
    known = table.annotator >= 0
    if chances is None:
        chances = posterior.vote_probabilities(table.a, table.b, table.prompt, table.a_first)
    p = np.maximum(chances[known], _LEAST)
    place, n = table.outcome[known] + 1, np.arange(int(known.sum()))
    names, who = np.unique(table.annotator[known], return_inverse=True)
    K = len(names)

    def by_annotator(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(who, values, minlength=K), np.float64)

    own, turned = p[n, place], p[n, 2 - place]
    guess = np.asarray(((np.bincount(place, minlength=3) + 1.0) / (len(place) + 3.0))[place], np.float64)
    others: dict[Kind, FloatArray] = {
        "careless": guess,
        "adversarial": turned,
        "hasty": np.where(_quick(seconds, len(known))[known], guess, own),
    }
    logs = [
        [
            by_annotator(np.log((1.0 - rho) * own + rho * others[kind])) + _log_gold(gold, kind, rho, names)
            for rho in SHARES
        ]
        for kind in KINDS
    ]
    of_kind = logsumexp(logs, axis=1) - math.log(len(SHARES))
    decided = place != 1
    favourite = np.where(p[:, 2] > p[:, 0], 2, 0)
    chance = p[n, favourite] / (p[:, 0] + p[:, 2])
    return Carelessness(
        annotator=names,
        votes=np.bincount(who, minlength=K),
        decided=by_annotator(decided.astype(np.float64)).astype(np.int64),
        stronger=by_annotator((place == favourite).astype(np.float64)).astype(np.int64),
        expected=by_annotator(np.where(decided, chance, 0.0)),
        log_e=logsumexp(of_kind, axis=0) - math.log(len(KINDS)) - _log_careful(p, place, by_annotator),
        kind=tuple(KINDS[k] for k in np.argmax(of_kind, axis=0)) if K else (),
    )


def _quick(seconds: FloatArray | None, votes: int) -> BoolArray:
    """Return whether each vote was given much faster than most."""
    if seconds is None or np.isnan(seconds).all():
        return np.zeros(votes, np.bool_)
    return np.asarray(seconds < QUICK * np.nanmedian(seconds))


def _log_gold(gold: GoldCounts, kind: Kind, rho: float, names: IntArray) -> FloatArray:
    """Return log G_k of one alternative, by annotator."""
    mark = min(gold.mark, MOST_MARK)
    passing = (1.0 - rho) * mark + rho * min(GUESSED_GOLD[kind], mark)
    passed, given = np.array([gold.counts.get(name, (0, 0)) for name in names.tolist()]).reshape(-1, 2).T
    log_ratio: FloatArray = passed * np.log(passing / mark) + (given - passed) * np.log((1.0 - passing) / (1.0 - mark))
    return log_ratio


def _log_careful(p: FloatArray, place: IntArray, by_annotator: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """log E_t prod p(y; t), by annotator."""
    above, below = logit(np.clip(1.0 - p[:, 0], _LEAST, 1.0 - _LEAST)), logit(np.clip(p[:, 2], _LEAST, 1.0 - _LEAST))
    middle, half = 0.5 * (above + below), np.maximum(0.5 * (above - below), _LEAST)
    each = []
    for node, weight in zip(*normal_nodes(_NODES), strict=True):
        wide = half * math.exp(TIE_SD * node)
        F0, F1 = expit(middle + wide), expit(middle - wide)
        chance = np.choose(place, [1.0 - F0, F0 - F1, F1])
        each.append(math.log(weight) + by_annotator(np.log(np.maximum(chance, _LEAST))))
    return np.asarray(logsumexp(each, axis=0))
