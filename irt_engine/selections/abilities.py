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
from scipy.stats import t as t_distribution

from irt_engine.arrays import FloatArray, frozen
from irt_engine.errors import InvalidResponses
from irt_engine.sandwich.pair_counts import PairCounts, sandwich
from irt_engine.selections.tables import TurnTable
from irt_engine.significance.argument_checks import check_probability


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
    pairs = _pair_counts(several)
    ability, covariance, threshold = sandwich(pairs)
    turns = sum(len(table.selected) for table in several)
    return SelectionAbilities(pairs.chatbots, ability, covariance, threshold, pairs.clusters, turns)


def _pair_counts(tables: Sequence[TurnTable]) -> PairCounts:
    """Return the weighted counts of each conversation's pairs."""
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
    found_pairs = PairCounts(names, *(np.concatenate(x) for x in (low, high, one_best, group, counts)))
    found_pairs.check()
    return found_pairs
