"""Counts of pairs by cluster, their maximum likelihood, and the sandwich covariance by cluster.

Of a pair (a, b), y = -1 if a is better, 1 if b is, 0 for a tie. With d = s_b - s_a and a threshold t >= 0 of all pairs,

    P(y = 1) = sigma(d - t),   P(y = -1) = sigma(-d - t),

the graded response model of a pooled prompt of discrimination 1. With its information H and the sum u_g of the scores
of cluster g of G,

    V = H^-1 G / (G - 1) (sum_g u_g u_g') H^-1                           (sandwich; Liang & Zeger 1986)

Abilities have mean 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.special import expit

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import DidNotConverge, NotIdentified

_STEPS = 100
_TOLERANCE = 1e-10
_RIDGE = 1e-4  # per vote: an ability stays finite where a chatbot wins all comparisons; its bias is below 0.1 %


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Store weighted counts of verdicts; each of the m rows is a pair in one cluster.

    Parameters
    ----------
    chatbots : tuple of str, length k
        Names of the chatbots.
    low, high : ndarray of int, shape (m,)
        Indices of a and b.
    one_best : ndarray of int, shape (m,)
        1 where ties are impossible.
    group : ndarray of int, shape (m,)
        Cluster, 0 to G - 1.
    counts : ndarray of float, shape (m, 3)
        Weights of a better, tie, and b better.
    """

    chatbots: tuple[str, ...]
    low: IntArray
    high: IntArray
    one_best: IntArray
    group: IntArray
    counts: FloatArray

    def pooled(self) -> PairCounts:
        """Return the counts over all clusters: their sum is all that the likelihood depends on.

        Returns
        -------
        PairCounts
            One row for each pair.
        """
        keys, row = np.unique(np.stack([self.low, self.high, self.one_best]), axis=1, return_inverse=True)
        counts = np.zeros((keys.shape[1], 3))
        np.add.at(counts, row.ravel(), self.counts)
        return PairCounts(self.chatbots, keys[0], keys[1], keys[2], np.zeros(keys.shape[1], np.int64), counts)

    @property
    def has_ties(self) -> bool:
        """Return whether there is a tie."""
        return bool(self.counts[:, 1].any())

    @property
    def basis(self) -> FloatArray:
        """Return orthonormal directions of abilities with mean 0, shape (k, k - 1)."""
        k = len(self.chatbots)
        directions: FloatArray = np.linalg.svd(np.eye(k) - 1.0 / k)[0][:, : k - 1]
        return directions

    def check(self, unit: str = "conversations") -> None:
        """Check that the votes tell the chatbots apart.

        Parameters
        ----------
        unit : str
            Name of the clusters, for messages.

        Raises
        ------
        NotIdentified
            If all votes are ties (``all_ties``), or comparisons do not connect the chatbots (``separate_groups``).
        """
        if not self.counts[:, [0, 2]].any():
            raise NotIdentified(
                "no vote distinguishes the chatbots",
                code="all_ties",
                hint="collect more votes: in all of these every reply was selected, or none",
            )
        met = self.counts.sum(axis=1) > 0
        links = sparse.coo_array(
            (np.ones(int(met.sum())), (self.low[met], self.high[met])), shape=(len(self.chatbots),) * 2
        )
        parts, part = sparse.csgraph.connected_components(links.tocsr(), directed=False)
        if parts > 1:
            apart = self.chatbots[int(np.argmax(part != part[0]))]
            raise NotIdentified(
                f"no {unit} connect {self.chatbots[0]!r} with {apart!r}",
                code="separate_groups",
                hint=f"collect {unit} that link the chatbots, or analyse the sets one by one",
            )

    def derivatives(self, point: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        """Return the log likelihood and its derivatives by (d, t) of each row.

        Parameters
        ----------
        point : ndarray of float, shape (p,)
            Abilities on the basis, and the threshold if there are ties.

        Returns
        -------
        tuple of (float, ndarray of float, shape (m, 2), ndarray of float, shape (m, 3))
            Log likelihood, first derivatives, and second derivatives dd, dt, tt.
        """
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
        """Return the derivatives of (d, t) of each row by the parameters.

        Returns
        -------
        ndarray of float, shape (m, 2, p)
            The derivatives.
        """
        k, ties = len(self.chatbots), int(self.has_ties)
        basis = self.basis
        found = np.zeros((len(self.low), 2, k - 1 + ties))
        found[:, 0, : k - 1] = basis[self.high] - basis[self.low]
        if ties:
            found[:, 1, k - 1] = 1.0 - self.one_best
        return found

    def meat(self, point: FloatArray) -> FloatArray:
        """Return the sum over clusters of u_g u_g'.

        Parameters
        ----------
        point : ndarray of float, shape (p,)
            The parameters.

        Returns
        -------
        ndarray of float, shape (p, p)
            The sum; clusters with few chatbots cost little.
        """
        k, (_, first, _) = len(self.chatbots), self.derivatives(point)
        row, value = [self.group, self.group], [first[:, 0], -first[:, 0]]
        column = [self.high, self.low]
        if self.has_ties:
            row, column = [*row, self.group], [*column, np.full(len(self.group), k)]
            value = [*value, first[:, 1] * (1.0 - self.one_best)]
        cells = (np.concatenate(value), (np.concatenate(row), np.concatenate(column)))
        scores = sparse.coo_array(cells, shape=(self.clusters, k + int(self.has_ties))).tocsr()
        whole = (scores.T @ scores).toarray()
        turn = np.eye(k + int(self.has_ties))[:, 1:]
        turn[:k, : k - 1], turn[:k, k - 1 :] = self.basis, 0.0
        found: FloatArray = turn.T @ whole @ turn
        return found

    @property
    def clusters(self) -> int:
        """Return the number of clusters, G."""
        return int(self.group.max()) + 1


def sandwich(pairs: PairCounts) -> tuple[FloatArray, FloatArray, float]:
    """Return abilities, their sandwich covariance, and the threshold.

    Parameters
    ----------
    pairs : PairCounts
        The counts of two or more clusters.

    Returns
    -------
    tuple of (ndarray of float, shape (k,), ndarray of float, shape (k, k), float)
        Abilities with mean 0, their covariance, and the threshold; 0 without ties.

    Raises
    ------
    DidNotConverge
        If the equations have no solution (``no_abilities``).

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73.
    """
    point, information = _solved(pairs.pooled())
    groups, k, basis = pairs.clusters, len(pairs.chatbots), pairs.basis
    inverse = np.linalg.inv(information)
    covariance = inverse @ (groups / (groups - 1) * pairs.meat(point)) @ inverse
    threshold = float(point[k - 1]) if pairs.has_ties else 0.0
    return basis @ point[: k - 1], basis @ covariance[: k - 1, : k - 1] @ basis.T, threshold


def _solved(pairs: PairCounts) -> tuple[FloatArray, FloatArray]:
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
    raise DidNotConverge("the abilities did not converge", code="no_abilities", hint="report the votes if it persists")


def _risen(pairs: PairCounts, point: FloatArray, step: FloatArray, value: float, ridge: FloatArray) -> FloatArray:
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
    dd, dt, tt = (second[:, i, None] for i in range(3))
    d, t = columns[:, 0], columns[:, 1]
    cross = d.T @ (dt * t)
    found: FloatArray = -(d.T @ (dd * d) + cross + cross.T + t.T @ (tt * t))
    return found
