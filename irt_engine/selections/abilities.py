"""Abilities from selections: pairwise comparisons of each turn, each turn weighted once, clustered by conversation.

A turn of k chatbots is broken into pairs. Of a pair (a, b), y = -1 if only a was selected, 1 if only b, 0 if both or
neither (select all appropriate). In a one-best turn only the k - 1 pairs with the selected reply count, as in Luce's
model. The weights w of a turn's pairs sum to 1. With d = s_b - s_a and a threshold t >= 0 that all turns share,

    P(y = 1) = sigma(d - t),   P(y = -1) = sigma(-d - t),

the graded response model of a pooled prompt of discrimination 1; t = 0 for one-best turns. The weighted pairs form a
composite likelihood (Varin, Reid & Firth 2011). With its information H and the sum u_g of conversation g's scores,

    V = H^-1 G / (G - 1) (sum_g u_g u_g') H^-1                           (sandwich; Liang & Zeger 1986)

Abilities are log odds averaged over conversations, as those of boards in marginal logits, and have mean 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit
from scipy.stats import t as t_distribution

from irt_engine.arrays import FloatArray, IntArray, frozen
from irt_engine.errors import DidNotConverge, InvalidResponses, NotIdentified
from irt_engine.selections.tables import TurnTable
from irt_engine.significance.argument_checks import check_probability

_STEPS = 100
_TOLERANCE = 1e-10
_RIDGE = 1e-4  # per turn: an ability stays finite where a chatbot wins all comparisons; its bias is below 0.1 %


@dataclass(frozen=True, slots=True, eq=False)
class SelectionAbilities:
    """Store abilities that were estimated from selections.

    Parameters
    ----------
    chatbots : tuple of str, length k
        Names of the chatbots, sorted.
    ability : ndarray of float, shape (k,)
        Abilities in logits, with mean 0.
    covariance : ndarray of float, shape (k, k)
        Their sandwich covariance by conversation.
    threshold : float
        Threshold of ties; 0 without ties.
    conversations, turns : int
        Number of conversations G and of turns n.
    """

    chatbots: tuple[str, ...]
    ability: FloatArray
    covariance: FloatArray
    threshold: float
    conversations: int
    turns: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ability", frozen(self.ability, np.float64))
        object.__setattr__(self, "covariance", frozen(self.covariance, np.float64))

    @property
    def se(self) -> FloatArray:
        """Return the standard errors of the abilities, shape (k,)."""
        se: FloatArray = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        return se

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Return confidence intervals of the abilities.

        Parameters
        ----------
        level : float
            Coverage probability.

        Returns
        -------
        ndarray of float, shape (k, 2)
            Lower and upper bounds, by Student's t with G - 1 degrees of freedom.
        """
        half = self._critical(level) * self.se
        return np.stack([self.ability - half, self.ability + half], axis=1)

    def difference(self, a: str, b: str, *, level: float = 0.95) -> tuple[float, float, float]:
        """Return the difference s_a - s_b with its confidence interval.

        Parameters
        ----------
        a, b : str
            Names of the two chatbots.
        level : float
            Coverage probability.

        Returns
        -------
        tuple of float, length 3
            Difference, lower and upper bound.
        """
        i, j = self.chatbots.index(a), self.chatbots.index(b)
        variance = self.covariance[i, i] + self.covariance[j, j] - 2.0 * self.covariance[i, j]
        half = self._critical(level) * float(np.sqrt(max(variance, 0.0)))
        value = float(self.ability[i] - self.ability[j])
        return value, value - half, value + half

    def _critical(self, level: float) -> float:
        check_probability(level, "level")
        return float(t_distribution.ppf(0.5 + level / 2.0, self.conversations - 1))


def abilities_of(tables: Sequence[TurnTable]) -> SelectionAbilities:
    """Estimate abilities from the selections of one or more settings.

    Parameters
    ----------
    tables : sequence of TurnTable
        Turns by setting and set of chatbots. Conversations of different tables are different conversations.

    Returns
    -------
    SelectionAbilities
        The abilities with their covariance by conversation.

    Raises
    ------
    InvalidResponses
        If there are fewer than two conversations, or fewer than two chatbots in each.
    NotIdentified
        If no turn distinguishes the chatbots, or comparisons do not connect them.
    DidNotConverge
        If the equations have no solution.

    References
    ----------
    Varin, C., Reid, N. and Firth, D. (2011). An overview of composite likelihood methods. Statistica Sinica 21, 5-42.
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73.

    Examples
    --------
    >>> table = TurnTable(("A", "B"), [0, 0, 1, 1], [1, 2, 1, 2], [[1, 0], [1, 1], [0, 1], [1, 0]])
    >>> abilities_of([table]).ability.round(2)
    array([ 0.27, -0.27])
    """
    several = [table for table in tables if len(table.chatbots) > 1]
    if sum(len(np.unique(table.conversation)) for table in several) < 2:
        raise InvalidResponses(
            "there are fewer than two conversations with two or more chatbots",
            code="too_few_conversations",
            hint="collect more conversations: without them nothing is known of their differences",
        )
    pairs = _PairCounts.of(several)
    point, information = _solved(pairs.pooled())
    scores = pairs.scores(point)
    groups = len(scores)
    inverse = np.linalg.inv(information)
    covariance = inverse @ (groups / (groups - 1) * scores.T @ scores) @ inverse
    k = len(pairs.chatbots)
    basis = pairs.basis
    return SelectionAbilities(
        pairs.chatbots,
        basis @ point[: k - 1],
        basis @ covariance[: k - 1, : k - 1] @ basis.T,
        float(point[k - 1]) if pairs.has_ties else 0.0,
        groups,
        sum(len(table.selected) for table in several),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _PairCounts:
    """Weighted counts (m, 3) of a better, tie, b better; each row is a pair of one conversation."""

    chatbots: tuple[str, ...]
    low: IntArray  # (m,)
    high: IntArray  # (m,)
    one_best: IntArray  # (m,) 1 where ties are impossible
    group: IntArray  # (m,) conversation, 0 to G - 1
    counts: FloatArray  # (m, 3)

    @classmethod
    def of(cls, tables: Sequence[TurnTable]) -> _PairCounts:
        names = tuple(sorted({name for table in tables for name in table.chatbots}))
        low, high, one_best, group, counts, first = [], [], [], [], [], 0
        for table in tables:
            cluster, k = table.clusters, len(table.chatbots)
            groups = int(cluster.max()) + 1
            weight = 1.0 / (k - 1) if table.one_best else 2.0 / (k * (k - 1))
            for a, b in combinations(range(k), 2):
                x, y = table.selected[:, a], table.selected[:, b]
                outcome = y - x
                used = (x + y > 0) if table.one_best else np.ones(len(x), bool)
                found = np.zeros((groups, 3))
                np.add.at(found, (cluster[used], outcome[used] + 1), weight)
                low.append(np.full(groups, names.index(table.chatbots[a])))
                high.append(np.full(groups, names.index(table.chatbots[b])))
                one_best.append(np.full(groups, int(table.one_best)))
                group.append(first + np.arange(groups))
                counts.append(found)
            first += groups
        found_pairs = cls(names, *(np.concatenate(x) for x in (low, high, one_best, group, counts)))
        found_pairs.check()
        return found_pairs

    def pooled(self) -> _PairCounts:
        """Return the counts over all conversations: their sum is all that the likelihood depends on."""
        keys, row = np.unique(np.stack([self.low, self.high, self.one_best]), axis=1, return_inverse=True)
        counts = np.zeros((keys.shape[1], 3))
        np.add.at(counts, row.ravel(), self.counts)
        return _PairCounts(self.chatbots, keys[0], keys[1], keys[2], np.zeros(keys.shape[1], np.int64), counts)

    @property
    def has_ties(self) -> bool:
        return bool(self.counts[:, 1].any())

    @property
    def basis(self) -> FloatArray:
        """Orthonormal directions of abilities with mean 0, shape (k, k - 1)."""
        k = len(self.chatbots)
        directions: FloatArray = np.linalg.svd(np.eye(k) - 1.0 / k)[0][:, : k - 1]
        return directions

    def check(self) -> None:
        if not self.counts[:, [0, 2]].any():
            raise NotIdentified(
                "no turn distinguishes the chatbots",
                code="all_ties",
                hint="collect more turns: in all of these every reply was selected, or none",
            )
        reached, met = {0}, self.counts.sum(axis=1) > 0
        for _ in self.chatbots:
            touches = met & (np.isin(self.low, list(reached)) | np.isin(self.high, list(reached)))
            reached |= set(self.low[touches].tolist()) | set(self.high[touches].tolist())
        if len(reached) < len(self.chatbots):
            apart = next(name for i, name in enumerate(self.chatbots) if i not in reached)
            raise NotIdentified(
                f"no conversations connect {self.chatbots[0]!r} with {apart!r}",
                code="separate_groups",
                hint="collect conversations that link the chatbots, or analyse the sets one by one",
            )

    def derivatives(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Log likelihood; its first derivatives by (d, t) of each row (m, 2), and its second (m, 3): dd, dt, tt."""
        d, t = self._at(point)
        u, v = expit(d - t), expit(-d - t)
        fu, fv = u * (1.0 - u), v * (1.0 - v)
        gu, gv = fu * (1.0 - 2.0 * u), fv * (1.0 - 2.0 * v)
        tie = np.maximum(1.0 - u - v, 1e-300)
        n_a, n_tie, n_b = self.counts.T
        fits = np.log(np.stack([np.maximum(v, 1e-300), tie, np.maximum(u, 1e-300)], axis=1))
        value = float((self.counts * np.where(self.counts > 0, fits, 0.0)).sum())
        used = n_tie > 0  # a threshold of 0 makes ties impossible, and their derivatives infinite
        tie = np.where(used, tie, 1.0)
        td, tt = (fv - fu) / tie, (fv + fu) / tie
        up, down = n_b * (1.0 - u), n_a * (1.0 - v)
        first = np.stack([up - down + n_tie * td, -up - down + n_tie * tt], axis=1)
        second = np.stack(
            [
                -n_b * fu - n_a * fv + n_tie * (-(gu + gv) / tie - td**2),
                n_b * fu - n_a * fv + n_tie * ((gu - gv) / tie - td * tt),
                -n_b * fu - n_a * fv + n_tie * (-(gu + gv) / tie - tt**2),
            ],
            axis=1,
        )
        return value, first, second

    def _at(self, point: FloatArray) -> tuple[FloatArray, FloatArray]:
        k = len(self.chatbots)
        s = self.basis @ point[: k - 1]
        t = np.where(self.one_best == 1, 0.0, point[k - 1] if self.has_ties else 0.0)
        return s[self.high] - s[self.low], t

    def columns(self) -> FloatArray:
        """Derivatives of (d, t) of each row by the parameters, shape (m, 2, p)."""
        k, ties = len(self.chatbots), int(self.has_ties)
        found = np.zeros((len(self.low), 2, k - 1 + ties))
        found[:, 0, : k - 1] = self.basis[self.high] - self.basis[self.low]
        if ties:
            found[:, 1, k - 1] = 1.0 - self.one_best
        return found

    def scores(self, point: FloatArray) -> FloatArray:
        """Scores of the conversations, shape (G, p)."""
        _, first, _ = self.derivatives(point)
        rows = np.einsum("mi,mip->mp", first, self.columns())
        found = np.zeros((int(self.group.max()) + 1, rows.shape[1]))
        np.add.at(found, self.group, rows)
        return found


def _solved(pairs: _PairCounts) -> tuple[FloatArray, FloatArray]:
    """Return the maximum (p,) and the information there (p, p), by damped Newton steps."""
    k, columns = len(pairs.chatbots), pairs.columns()
    total = float(pairs.counts.sum())
    ridge = np.zeros(columns.shape[2])
    ridge[: k - 1] = _RIDGE * total
    point = np.zeros(columns.shape[2])
    if pairs.has_ties:
        point[k - 1] = 1.0
    for _ in range(_STEPS):
        value, first, second = pairs.derivatives(point)
        gradient = np.einsum("mi,mip->p", first, columns) - ridge * point
        information = _information(second, columns) + np.diag(ridge)
        step = np.linalg.solve(information, gradient)
        if float(gradient @ step) < _TOLERANCE * total:
            return point, information
        point = _risen(pairs, point, step, value - 0.5 * float(ridge @ point**2), ridge)
    raise DidNotConverge(
        "the abilities did not converge", code="no_abilities", hint="report the selections if it persists"
    )


def _risen(pairs: _PairCounts, point: FloatArray, step: FloatArray, value: float, ridge: FloatArray) -> FloatArray:
    """Return the first point along halved steps whose likelihood is higher; the threshold stays positive."""
    k = len(pairs.chatbots)
    for halved in range(40):
        found: FloatArray = point + 0.5**halved * step
        if pairs.has_ties and found[k - 1] <= 1e-9:
            continue
        if pairs.derivatives(found)[0] - 0.5 * float(ridge @ found**2) >= value:
            return found
    return point


def _information(second: FloatArray, columns: FloatArray) -> FloatArray:
    dd, dt, tt = (second[:, i] for i in range(3))
    d, t = columns[:, 0], columns[:, 1]
    cross = np.einsum("m,mp,mq->pq", dt, d, t)
    found: FloatArray = -(np.einsum("m,mp,mq->pq", dd, d, d) + cross + cross.T + np.einsum("m,mp,mq->pq", tt, t, t))
    return found
