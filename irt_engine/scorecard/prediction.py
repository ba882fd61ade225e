"""How well ratings of conversations are predicted, and how well they could be.

Notation: conversation i has k_i ratings y_ij, their mean y_i and a prediction p_i. In the one-way model
y_ij = mu + a_i + e_ij with the variances A of a and E of e, the mean of k ratings has the variance A + E / k. Even a
predictor that knows every a_i has the correlation sqrt(A / (A + E * mean(1 / k_i))) with the observed means: the
ceiling. ICC(1) = A / (A + E) (Shrout and Fleiss 1979, Psychological Bulletin 86).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import pearsonr, spearmanr

from irt_engine.arrays import FloatArray
from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.scorecard.estimates import LEVEL


@dataclass(frozen=True, slots=True)
class RatingCeiling:
    """The best correlation with mean ratings that rater agreement allows.

    Parameters
    ----------
    pearson
        The ceiling; 0 if raters agree no more than by chance.
    lower, upper
        Bootstrap interval over conversations.
    icc
        Agreement of single ratings, ICC(1).
    ratings_per_conversation
        Mean number of ratings.
    n
        Number of conversations.
    """

    pearson: float
    lower: float
    upper: float
    icc: float
    ratings_per_conversation: float
    n: int


@dataclass(frozen=True, slots=True)
class PredictionError:
    """How far predictions are from observed values.

    Parameters
    ----------
    n
        Number of predictions.
    rmse
        Root mean square error.
    rmse_if_calibrated
        SD * sqrt(1 - r^2), which the RMSE equals if predictions are calibrated, and exceeds otherwise.
    sd
        Standard deviation of the observed values (divisor n).
    pearson, pearson_p, spearman
        Correlations; None if the predictions do not vary.
    slope, intercept
        Least-squares line of observed values over predictions: 1 and 0 if calibrated; None as above.
    """

    n: int
    rmse: float
    rmse_if_calibrated: float
    sd: float
    pearson: float | None
    pearson_p: float | None
    spearman: float | None
    slope: float | None
    intercept: float | None


def rating_ceiling(
    ratings: Sequence[ArrayLike], *, replicates: int = 1_000, seed: int = 0, level: float = LEVEL
) -> RatingCeiling:
    """Return the ceiling of the correlation of predictions with mean ratings.

    Parameters
    ----------
    ratings : n sequences of (k_i,)
        The ratings of each conversation.
    replicates
        Number of bootstrap replicates.
    seed
        Seed of the random generator.
    level
        Confidence level.

    Returns
    -------
    RatingCeiling

    Raises
    ------
    NotIdentified
        If fewer than two conversations have ratings, no conversation has two, or all ratings are equal.

    Examples
    --------
    >>> round(rating_ceiling([[1, 1], [3, 3], [5, 5]], replicates=10).pearson, 3)
    1.0
    """
    rows = [np.asarray(one, np.float64) for one in ratings if np.size(one)]
    counts = np.array([len(one) for one in rows], np.float64)
    if len(rows) < 2 or counts.max() < 2:
        raise NotIdentified(
            "no two raters rated the same conversation",
            code="no_agreement",
            hint="the ceiling needs conversations with two ratings or more",
        )
    means = np.array([one.mean() for one in rows])
    inner = np.array([((one - one.mean()) ** 2).sum() for one in rows])
    weights = np.ones((1, len(rows)))
    value, icc = (float(found[0]) for found in _ceilings(counts, means, inner, weights))
    if not np.isfinite(value):
        raise NotIdentified("all ratings are equal", code="constant", hint="the ceiling needs ratings that differ")
    drawn = _draws(len(rows), replicates, np.random.default_rng(seed))
    replicated = _ceilings(counts, means, inner, drawn)[0]
    replicated = replicated[np.isfinite(replicated)]
    lower, upper = np.quantile(replicated, [0.5 - level / 2, 0.5 + level / 2]) if len(replicated) else (value, value)
    return RatingCeiling(
        value, min(float(lower), value), max(float(upper), value), icc, float(counts.mean()), len(rows)
    )


def prediction_error(observed: ArrayLike, predicted: ArrayLike) -> PredictionError:
    """Return the errors and correlations of predictions.

    Parameters
    ----------
    observed : (n,)
        Observed values.
    predicted : (n,)
        Their predictions.

    Returns
    -------
    PredictionError

    Raises
    ------
    InvalidResponses
        If there are fewer than two values, or the lengths differ.
    """
    y, p = np.asarray(observed, np.float64), np.asarray(predicted, np.float64)
    if len(y) < 2 or y.shape != p.shape:
        raise InvalidResponses(
            f"{len(y)} values have {len(p)} predictions",
            code="bad_length",
            hint="give one each, for two values or more",
        )
    rmse, sd = float(np.sqrt(((y - p) ** 2).mean())), float(y.std())
    if np.ptp(p) == 0 or np.ptp(y) == 0:
        return PredictionError(len(y), rmse, sd, sd, None, None, None, None, None)
    found = pearsonr(y, p)
    r = float(found.statistic)
    slope = r * sd / float(p.std())
    return PredictionError(
        len(y),
        rmse,
        sd * float(np.sqrt(1 - r**2)),
        sd,
        r,
        float(found.pvalue),
        float(spearmanr(y, p).statistic),
        slope,
        float(y.mean() - slope * p.mean()),
    )


def residual_limits(residuals: ArrayLike, *, level: float = LEVEL) -> tuple[float, float]:
    """Return what to add to a prediction for its lower and upper limit.

    The limits are those of split conformal prediction (Lei et al. 2018, JASA 113): order statistics of residuals of
    conversations that the model had not seen, (1 - level) / 2 of them outside on each side.

    Parameters
    ----------
    residuals : (n,)
        Observed minus predicted values, of held-out conversations.
    level
        Share of new values that the limits hold.

    Returns
    -------
    tuple of float

    Raises
    ------
    InvalidResponses
        If there is no residual.
    """
    found = np.sort(np.asarray(residuals, np.float64))
    if len(found) == 0:
        raise InvalidResponses("there is no residual", code="empty", hint="give one value at least")
    outside = int(np.floor((len(found) + 1) * (1 - level) / 2))
    place = max(outside - 1, 0)
    return float(found[place]), float(found[len(found) - 1 - place])


def _draws(count: int, replicates: int, rng: np.random.Generator) -> FloatArray:
    return rng.multinomial(count, np.full(count, 1 / count), size=replicates).astype(np.float64)


def _ceilings(counts: FloatArray, means: FloatArray, inner: FloatArray, weights: FloatArray) -> tuple[FloatArray, ...]:
    """Return (B,) ceilings and ICCs by analysis of variance; NaN where nothing varies. weights (B, n): draws."""
    rows, total = weights.sum(axis=1), weights @ counts
    grand = weights @ (counts * means) / total
    between = weights @ (counts * means**2) - total * grand**2
    spare = total - rows
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(spare > 0, weights @ inner / spare, np.nan)
        size = (total - weights @ counts**2 / total) / (rows - 1)
        signal = np.maximum((between / (rows - 1) - noise) / size, 0.0)
        inverse = weights @ (1 / counts) / rows
        return np.sqrt(signal / (signal + noise * inverse)), signal / (signal + noise)
