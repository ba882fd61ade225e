"""Bootstrap of statistics over clusters of conversations.

A statistic is a function of weights (B, n): row b says how often each of n units was drawn in replicate b. All units of
a cluster, such as the conversations of a user, are drawn together (Davison and Hinkley 1997, Bootstrap Methods and
their Application, section 3.8). All statistics of a chatbot can share the draws, so that scores that combine them keep
their correlation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import norm

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.scorecard.estimates import LEVEL, Estimate

REPLICATES = 1_000
_MOST_CELLS = 4_000_000  # Weights in memory at a time: 32 MB.

Statistic = Callable[[FloatArray], FloatArray]
Interval = Literal["percentile", "normal"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A statistic with the units that it is computed from.

    Parameters
    ----------
    statistic
        Function of weights (B, n) that returns (B,) values, NaN where it is undefined; with m names (m, B) values.
    clusters : (n,)
        The number of each unit's cluster, from 0.
    interval
        `percentile` for medians; `normal` (value plus and minus z standard deviations of the replicates) for statistics
        that resampling biases, such as an entropy.
    least
        Lowest possible value: a normal interval does not go below it.
    names
        Names of m statistics that are computed together. Without names it is one statistic.
    """

    statistic: Statistic
    clusters: IntArray
    interval: Interval = "normal"
    least: float = -np.inf
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resampled:
    """An estimate (None if undefined) with its replicates.

    Parameters
    ----------
    estimate
        The statistic with its interval.
    replicates : (B,)
        Its bootstrap replicates, NaN where it is undefined.
    """

    estimate: Estimate | None
    replicates: FloatArray


def resample(
    samples: Mapping[str, Sample], *, replicates: int = REPLICATES, seed: int = 0, level: float = LEVEL
) -> dict[str, Resampled]:
    """Return estimates and replicates of the statistics of one chatbot, all from the same draws of clusters.

    Parameters
    ----------
    samples
        Statistics by name. Their clusters are numbered alike: 3 is the same user in each. Those that are computed
        together are returned by their own names.
    replicates
        Number B of bootstrap replicates.
    seed
        Seed of the random generator.
    level
        Confidence level of the intervals.

    Returns
    -------
    dict of str to Resampled
    """
    used = {name: sample for name, sample in samples.items() if len(sample.clusters)}
    parts: dict[str, list[FloatArray]] = {name: [] for name in used}
    labels = np.unique(np.concatenate([np.zeros(0, np.int64), *(sample.clusters for sample in used.values())]))
    index = {name: np.searchsorted(labels, sample.clusters) for name, sample in used.items()}
    # Samples with the same clusters read the same weights, so that these are gathered once.
    alike: dict[bytes, list[str]] = {}
    for name in used:
        alike.setdefault(index[name].tobytes(), []).append(name)
    in_order = np.arange(len(labels)).tobytes()
    for weights in _draws(len(labels), replicates, np.random.default_rng(seed)):
        for key, names in alike.items():
            own = weights if key == in_order else weights[:, index[names[0]]]
            for name in names:
                parts[name].append(np.atleast_2d(used[name].statistic(own)))
    found: dict[str, Resampled] = {}
    for name, sample in samples.items():
        own_names = sample.names or (name,)
        rows = np.concatenate(parts[name], axis=1) if parts.get(name) else np.full((len(own_names), replicates), np.nan)
        values = np.atleast_2d(sample.statistic(np.ones((1, len(sample.clusters))))) if name in used else rows[:, :1]
        for place, one in enumerate(own_names):
            found[one] = _resampled(sample, float(values[place, 0]), rows[place], level)
    return found


def _draws(clusters: int, replicates: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield weights (b, clusters) of a few replicates at a time."""
    if clusters == 0:
        return
    step = max(1, _MOST_CELLS // clusters)
    for start in range(0, replicates, step):
        drawn = min(step, replicates - start)
        yield rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=drawn).astype(np.float64)


def _resampled(sample: Sample, value: float, replicates: FloatArray, level: float) -> Resampled:
    n = len(sample.clusters)
    if not np.isfinite(value):
        return Resampled(None, replicates)
    known = replicates[np.isfinite(replicates)]
    if len(np.unique(sample.clusters)) < 2 or len(known) < 2:
        return Resampled(Estimate(value, None, None, n), replicates)
    if sample.interval == "percentile":
        lower, upper = np.quantile(known, [0.5 - level / 2, 0.5 + level / 2])
    else:
        half = norm.ppf(0.5 + level / 2) * known.std(ddof=1)
        lower, upper = max(value - half, sample.least), value + half
    return Resampled(Estimate(value, float(lower), float(upper), n), replicates)
