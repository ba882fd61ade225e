"""Win rates and tests that allow for turns of one conversation being alike.

Conversations are the independent units. With residuals e_t = x_t - mean(x) and u_g their sum over conversation g, the
covariance of the mean selections is

    V = G / (G - 1) sum_g u_g u_g' / n^2                                 (sandwich; Liang & Zeger 1986)

and the design effect is V over the covariance under independent turns, sum_t e_t e_t' / (n (n - 1)). References are
Student's t with G - 1 degrees of freedom and, for several contrasts, Hotelling's F. With conversations of equal length
these are the one-sample tests of the conversations' means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import f as f_distribution
from scipy.stats import t as t_distribution

from irt_engine.arrays import FloatArray
from irt_engine.selections.analysis import BASELINE
from irt_engine.selections.tables import TurnTable
from irt_engine.significance import holm
from irt_engine.significance.argument_checks import check_probability
from irt_engine.significance.share_intervals import wilson_bounds

_NONE = 1e-12  # variances below it are rounding errors: the smallest real one of 10^5 turns is 10^-10


@dataclass(frozen=True, slots=True)
class ClusteredRate:
    """Store a win rate whose interval allows for conversations.

    Parameters
    ----------
    chatbot : str
        Name of the chatbot.
    rate : float
        Share of turns in which its reply was selected, from 0 to 1.
    lower, upper : float
        Wilson's interval at the effective number of turns, n / design effect, with a quantile of Student's t.
    design_effect : float or None
        Variance of the rate over that of independent turns; None if all turns are alike.
    """

    chatbot: str
    rate: float
    lower: float
    upper: float
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class ClusteredTest:
    """Store a test with conversations as units.

    Parameters
    ----------
    test : str
        Name of the test.
    statistic : float or None
        Student's t or Hotelling's F; None if the conversations leave it undefined.
    df : tuple of int, length 1 or 2
        Degrees of freedom: (G - 1,) for t, (k - 1, G - k + 1) for F.
    p : float or None
        Two-sided p value; None without a statistic.
    design_effect : float or None
        Mean design effect of the contrasts.
    """

    test: str
    statistic: float | None
    df: tuple[int, ...]
    p: float | None
    design_effect: float | None


@dataclass(frozen=True, slots=True)
class ClusteredPair:
    """Store the difference of two win rates, A minus B, with conversations as units.

    Parameters
    ----------
    a, b : str
        Names of the two chatbots.
    difference : float
        Win rate of A minus that of B, from -1 to 1.
    lower, upper : float or None
        Bounds of its confidence interval; None if the conversations leave its variance undefined.
    test : ClusteredTest
        Student's t of the difference.
    p_holm : float or None
        Its p value with Holm's correction over all pairs; None without a p value.
    """

    a: str
    b: str
    difference: float
    lower: float | None
    upper: float | None
    test: ClusteredTest
    p_holm: float | None


@dataclass(frozen=True, slots=True)
class ClusteredAnalysis:
    """Store the analysis of one setting with conversations as units.

    Parameters
    ----------
    conversations : int
        Number of conversations G.
    win_rates : tuple of ClusteredRate, length k
        One per chatbot, in the order of the table.
    omnibus : ClusteredTest
        The test of all chatbots together; a single chatbot is tested against the baseline.
    pairs : tuple of ClusteredPair, length k (k - 1) / 2
        All pairs; empty for a single chatbot.
    """

    conversations: int
    win_rates: tuple[ClusteredRate, ...]
    omnibus: ClusteredTest
    pairs: tuple[ClusteredPair, ...]


def analyse_clustered(table: TurnTable, *, baseline: float = BASELINE, level: float = 0.95) -> ClusteredAnalysis | None:
    """Return win rates and tests with conversations as units.

    Parameters
    ----------
    table : TurnTable
        The turns of one setting.
    baseline : float
        The share that a single chatbot is tested against.
    level : float
        Coverage probability of the intervals.

    Returns
    -------
    ClusteredAnalysis or None
        The analysis; None with fewer than two conversations, because their variance is then unknown.

    Raises
    ------
    InvalidResponses
        If `baseline` or `level` is outside (0, 1).

    References
    ----------
    Liang, K.-Y. and Zeger, S. L. (1986). Longitudinal data analysis using generalized linear models. Biometrika 73.
    Korn, E. L. and Graubard, B. I. (1998). Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data. Survey Methodology 24.
    """
    check_probability(level, "level")
    check_probability(baseline, "baseline")
    means = _Means.of(table)
    if means.clusters < 2:
        return None
    names, k = table.chatbots, len(table.chatbots)
    rates = tuple(_rate(names[m], means.along(np.eye(k)[m]), level) for m in range(k))
    pairs = _pairs(names, means, level)
    if k == 1:
        omnibus = means.along(np.ones(1)).test(f"t against {baseline:g}, clustered", baseline)
    else:
        omnibus = pairs[0].test if k == 2 else _omnibus(means)
    return ClusteredAnalysis(means.clusters, rates, omnibus, pairs)


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """Mean selections (k,), their covariance by conversation and under independent turns (k, k); G and n."""

    mean: FloatArray
    covariance: FloatArray
    independent: FloatArray
    clusters: int
    turns: int

    @classmethod
    def of(cls, table: TurnTable) -> _Means:
        x, group = table.selected.astype(np.float64), table.clusters
        n, clusters = len(x), int(group.max()) + 1
        residual = x - x.mean(axis=0)
        sums = np.zeros((clusters, x.shape[1]))
        np.add.at(sums, group, residual)
        covariance = clusters / max(clusters - 1, 1) * sums.T @ sums / n**2
        return cls(x.mean(axis=0), covariance, residual.T @ residual / (n * max(n - 1, 1)), clusters, n)

    def along(self, contrast: FloatArray) -> _Contrast:
        return _Contrast(
            float(contrast @ self.mean),
            float(contrast @ self.covariance @ contrast),
            float(contrast @ self.independent @ contrast),
            self.clusters,
            self.turns,
        )


@dataclass(frozen=True, slots=True)
class _Contrast:
    value: float
    variance: float
    independent: float
    clusters: int
    turns: int

    @property
    def design_effect(self) -> float | None:
        return self.variance / self.independent if self.independent > _NONE else None

    def test(self, name: str, null: float = 0.0) -> ClusteredTest:
        df, difference = self.clusters - 1, self.value - null
        if self.variance > _NONE:
            statistic: float | None = difference / math.sqrt(self.variance)
        else:
            statistic = 0.0 if abs(difference) < _NONE else None
        p = None if statistic is None else float(2.0 * t_distribution.sf(abs(statistic), df))
        return ClusteredTest(name, statistic, (df,), p, self.design_effect)

    def critical(self, level: float) -> float:
        return float(t_distribution.ppf(0.5 + level / 2.0, self.clusters - 1))

    def bounds(self, level: float) -> tuple[float | None, float | None]:
        if self.variance <= _NONE and abs(self.value) > _NONE:
            return None, None
        half = self.critical(level) * math.sqrt(max(self.variance, 0.0))
        return max(self.value - half, -1.0), min(self.value + half, 1.0)


def _rate(chatbot: str, contrast: _Contrast, level: float) -> ClusteredRate:
    """Return the rate with Wilson's interval at the effective number of turns, which is at most n.

    If all turns are alike the design effect is unknown: each conversation then counts as one turn.
    """
    effect, p = contrast.design_effect, min(max(contrast.value, 0.0), 1.0)
    effective = contrast.clusters if effect is None else contrast.turns / max(effect, 1.0)
    lower, upper = wilson_bounds(p, effective, contrast.critical(level))
    return ClusteredRate(chatbot, p, lower, upper, effect)


def _pairs(names: tuple[str, ...], means: _Means, level: float) -> tuple[ClusteredPair, ...]:
    columns = list(combinations(range(len(names)), 2))
    if not columns:
        return ()
    unit = np.eye(len(names))
    contrasts = [means.along(unit[a] - unit[b]) for a, b in columns]
    tests = [contrast.test("t, clustered") for contrast in contrasts]
    adjusted = holm([1.0 if test.p is None else test.p for test in tests]).adjusted
    found = []
    for (a, b), contrast, test, p in zip(columns, contrasts, tests, adjusted, strict=True):
        p_holm = None if test.p is None else float(p)
        lower, upper = contrast.bounds(level)
        found.append(ClusteredPair(names[a], names[b], contrast.value, lower, upper, test, p_holm))
    return tuple(found)


def _omnibus(means: _Means) -> ClusteredTest:
    """Return Hotelling's test that all k win rates are equal, in the k - 1 directions orthogonal to their mean."""
    k, groups = len(means.mean), means.clusters
    basis = np.linalg.svd(np.eye(k) - 1.0 / k)[0][:, : k - 1].T
    value, covariance = basis @ means.mean, basis @ means.covariance @ basis.T
    independent = basis @ means.independent @ basis.T
    df = (k - 1, groups - k + 1)
    usable = df[1] >= 1 and np.linalg.eigvalsh(covariance)[0] > _NONE
    effect = None
    if np.linalg.eigvalsh(independent)[0] > _NONE:
        effect = float(np.trace(np.linalg.solve(independent, covariance)) / (k - 1))
    if not usable:
        equal = np.abs(value).max() < _NONE
        return ClusteredTest("F, clustered", 0.0 if equal else None, df, 1.0 if equal else None, effect)
    statistic = float(value @ np.linalg.solve(covariance, value)) * df[1] / ((groups - 1) * (k - 1))
    return ClusteredTest("F, clustered", statistic, df, float(f_distribution.sf(statistic, *df)), effect)
