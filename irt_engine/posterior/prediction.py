"""Prediction of the next vote: P(A better), P(tie) and P(B better) under a posterior.

Notation: theta ~ N(mean, se^2), positive if B is better; x_c = alpha (theta - b_c) + e, where e ~ N(0, cell^2) is the
cell effect (form vote; none with form net). Given the prompt, x_c + alpha b_c is normal with variance alpha^2 se^2 +
cell^2, so that one Gauss-Hermite rule integrates theta and e together. Prompts have their posterior means.

The vote is the first of its cell: earlier votes of the same cell do not count for its effect. Earlier votes on its
replies count. Errors of replies and of abilities are taken as independent, so that the variance is rather too high.
"""

from __future__ import annotations

import numpy as np
from scipy.special import comb, expit

from irt_engine.arrays import FloatArray, IntArray, array_of
from irt_engine.errors import InvalidResponses, NotIdentified
from irt_engine.models.graded_response import CATEGORIES
from irt_engine.posterior.moments import PosteriorMoments
from irt_engine.responses.cells import net_rating

_NODES = 31  # of the quadrature: within 1e-4 up to an SD of 3 logits
_CHUNK = 1 << 14  # rows at a time
_GRID = 601  # points of theta for prompts that are not known
_TYPICAL = 256  # prompts that stand for all of them
_MOST_VOTES = 30  # per cell: beyond, the composition of a cell's votes given its rating hardly changes


def vote_probabilities(
    posterior: PosteriorMoments, a: IntArray, b: IntArray, prompt: IntArray, a_first: IntArray | None = None
) -> FloatArray:
    """Return the probabilities of one further vote; see `Posterior.vote_probabilities`.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    a, b, prompt : ndarray of int, shape (n,)
        Indices of the chatbots and prompts.
    a_first : ndarray of int, shape (n,), optional
        Order of the replies.

    Returns
    -------
    ndarray of float, shape (n, 3)
        P(A better), P(tie) and P(B better).
    """
    a, b, prompt, first = _columns(posterior, a, b, prompt, a_first)
    mean, variance = theta_of_pairs(posterior, a, b)
    worth, doubt = _replies(posterior, a, b, prompt)
    return _probabilities(posterior, mean + worth, variance + doubt, prompt, first, tiers_of_pairs(posterior, a, b))


def comparison_vote_probabilities(
    posterior: PosteriorMoments, comparison: IntArray, prompt: IntArray, a_first: IntArray | None = None
) -> FloatArray:
    """Return the probabilities of one further vote; see `Posterior.comparison_vote_probabilities`.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    comparison, prompt : ndarray of int, shape (n,)
        Indices of the comparisons and prompts.
    a_first : ndarray of int, shape (n,), optional
        Order of the replies.

    Returns
    -------
    ndarray of float, shape (n, 3)
        P(A better), P(tie) and P(B better).
    """
    comparison, prompt, first = _lengths(comparison, prompt, _unknown(comparison) if a_first is None else a_first)
    _inside("comparison", comparison, 0, len(posterior.comparisons))
    _check_prompt(posterior, prompt, first)
    number = {name: i for i, name in enumerate(posterior.chatbots)}
    pairs = np.array([(number.get(c.a, -1), number.get(c.b, -1)) for c in posterior.comparisons], np.int64)
    a, b = pairs[comparison].T
    tiers = tiers_of_pairs(posterior, a, b)
    mean, variance = posterior.theta[comparison], posterior.theta_se[comparison] ** 2
    worth, doubt = _replies(posterior, a, b, prompt)
    return _probabilities(posterior, mean + worth, variance + doubt, prompt, first, tiers)


def _replies(posterior: PosteriorMoments, a: IntArray, b: IntArray, prompt: IntArray) -> tuple[FloatArray, FloatArray]:
    """(n,) by how much the reply of b is worth more than that of a beside their abilities, and the variance of that."""
    if not posterior.reply.size:
        return np.zeros(len(a)), np.full(len(a), 2.0 * (posterior.scales.reply or 0.0) ** 2)
    mean, variance, known = posterior.reply, posterior.reply_se**2, prompt >= 0
    worth = np.where(known, mean[prompt, b] - mean[prompt, a], 0.0)
    doubt = np.where(known, variance[prompt, b] + variance[prompt, a], 2.0 * (posterior.scales.reply or 0.0) ** 2)
    return worth, doubt


def tiers_of_pairs(posterior: PosteriorMoments, a: IntArray, b: IntArray) -> IntArray:
    """Return the two tiers of each pair as one number, low T + high.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    a, b : ndarray of int, shape (n,)
        Indices of the chatbots.

    Returns
    -------
    ndarray of int, shape (n,)
        The numbers; 0 without tiers.
    """
    if not posterior.tier.size:
        return np.zeros(len(a), np.int64)
    s, t = posterior.tier[a], posterior.tier[b]
    code: IntArray = np.minimum(s, t) * posterior.tier_discrimination.shape[1] + np.maximum(s, t)
    return code


def slopes_of_tiers(posterior: PosteriorMoments, tiers: int) -> tuple[FloatArray, FloatArray]:
    """Return the discriminations for pairs of two tiers.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    tiers : int
        A number from `tiers_of_pairs`.

    Returns
    -------
    tuple of ndarray of float, shape (J,)
        Discriminations and their standard errors.
    """
    if not posterior.tier.size:
        return posterior.discrimination, posterior.discrimination_se
    s, t = divmod(tiers, posterior.tier_discrimination.shape[1])
    return posterior.tier_discrimination[:, s, t], posterior.tier_discrimination_se[:, s, t]


def theta_of_pairs(posterior: PosteriorMoments, a: IntArray, b: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and variance of theta = s_b - s_a + the pair effect.

    A compared pair has the theta of its comparison. Repeated experiments are pooled with weights by judgments, and
    their spread is added. A new pair has the difference of the abilities, and the prior variance of the pair effect is
    added.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior of a board.
    a, b : ndarray of int, shape (n,)
        Indices of the chatbots.

    Returns
    -------
    tuple of ndarray of float, shape (n,)
        Means and variances.
    """
    M, C = len(posterior.chatbots), posterior.covariance
    mean = posterior.ability[b] - posterior.ability[a]
    variance = np.maximum(C[a, a] + C[b, b] - 2.0 * C[a, b], 0.0) + (posterior.scales.pair or 0.0) ** 2
    seen, theta, theta_variance = _pooled_comparisons(posterior)
    if len(seen) == 0:
        return mean, variance
    code = np.minimum(a, b) * M + np.maximum(a, b)
    place = np.minimum(np.searchsorted(seen, code), len(seen) - 1)
    known = seen[place] == code
    turned = np.where(a < b, theta[place], -theta[place])
    return np.where(known, turned, mean), np.where(known, theta_variance[place], variance)


def _pooled_comparisons(posterior: PosteriorMoments) -> tuple[IntArray, FloatArray, FloatArray]:
    """Codes low M + high of the pairs that were compared, sorted; mean and variance of theta from low to high."""
    M, number = len(posterior.chatbots), {name: i for i, name in enumerate(posterior.chatbots)}
    a = np.array([number[c.a] for c in posterior.comparisons], np.int64)
    b = np.array([number[c.b] for c in posterior.comparisons], np.int64)
    weight = np.array([max(c.judgments, 1) for c in posterior.comparisons], np.float64)
    theta = np.where(a < b, posterior.theta, -posterior.theta)
    codes, index = np.unique(np.minimum(a, b) * M + np.maximum(a, b), return_inverse=True)
    share = weight / np.bincount(index, weight)[index] if len(codes) else weight
    mean: FloatArray = np.bincount(index, share * theta, minlength=len(codes)).astype(np.float64)
    spread = posterior.theta_se**2 + (theta - mean[index]) ** 2
    variance: FloatArray = np.bincount(index, share * spread, minlength=len(codes)).astype(np.float64)
    return codes, mean, variance


def pairs_of_board(posterior: PosteriorMoments, a: IntArray, b: IntArray) -> tuple[IntArray, IntArray]:
    """Return checked indices of two different chatbots.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    a, b : ndarray of int, shape (n,)
        Indices of the chatbots.

    Returns
    -------
    tuple of ndarray of int, shape (n,)
        The indices.

    Raises
    ------
    NotIdentified
        For model pair (``no_board``).
    InvalidResponses
        If an index is invalid, or a chatbot is compared with itself.
    """
    if posterior.model != "board":
        raise NotIdentified(
            f"model {posterior.model!r} has no abilities of chatbots",
            code="no_board",
            hint="ask for its comparisons: comparison_vote_probabilities",
        )
    a, b = _lengths(a, b)
    for name, column in (("a", a), ("b", b)):
        _inside(name, column, 0, len(posterior.chatbots))
    _refuse(a == b, "a chatbot is compared with itself", "self_comparison", "name two different chatbots")
    return a, b


def _columns(
    posterior: PosteriorMoments, a: IntArray, b: IntArray, prompt: IntArray, a_first: IntArray | None
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    a, b = pairs_of_board(posterior, a, b)
    a, b, prompt, first = _lengths(a, b, prompt, _unknown(a) if a_first is None else a_first)
    _check_prompt(posterior, prompt, first)
    apart = posterior.group[a] != posterior.group[b]
    if apart.any():
        row = int(np.argmax(apart))
        raise NotIdentified(
            f"row {row + 1}: the two chatbots are in separate parts of the graph",
            code="separate_groups",
            hint="collect votes on a pair that links the two parts",
        )
    return a, b, prompt, first


def _unknown(like: IntArray) -> IntArray:
    return np.full(np.shape(like), -1, np.int64)


def _lengths(*columns: IntArray) -> tuple[IntArray, ...]:
    arrays = tuple(np.atleast_1d(array_of(column, "an index")) for column in columns)
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
        raise InvalidResponses("the columns differ in length", code="length", hint="give one index per vote")
    if any(array.dtype.kind not in "iu" and array.size for array in arrays):
        raise InvalidResponses("an index is not a whole number", code="not_whole", hint="give arrays of integers")
    return tuple(array.astype(np.int64) for array in arrays)


def _check_prompt(posterior: PosteriorMoments, prompt: IntArray, first: IntArray) -> None:
    _inside("prompt", prompt, -1, len(posterior.prompts))
    _inside("a_first", first, -1, 2)


def _inside(name: str, column: IntArray, low: int, high: int) -> None:
    outside = (column < low) | (column >= high)
    _refuse(
        outside, f"{name} is outside {low}..{high - 1}", "out_of_range", "give indices of the posterior's own names"
    )


def _refuse(bad: np.ndarray[tuple[int], np.dtype[np.bool_]], what: str, code: str, hint: str) -> None:
    if bad.any():
        raise InvalidResponses(f"row {int(np.argmax(bad)) + 1}: {what}", code=code, hint=hint)


def _probabilities(
    posterior: PosteriorMoments,
    mean: FloatArray,
    variance: FloatArray,
    prompt: IntArray,
    first: IntArray,
    tiers: IntArray,
) -> FloatArray:
    """(n, 3) from theta's mean and variance without the side effect, (n,) each; `tiers` as in `tiers_of_pairs`."""
    mean = mean + posterior.side * np.array([1.0, -1.0, 0.0])[first]  # a_first 0 (B first), 1 (A first), -1 unknown
    se = np.sqrt(variance + posterior.side_se**2 * (first >= 0))
    found = np.empty((len(mean), 3))
    to_vote = _to_vote(posterior)
    for both in np.unique(tiers):
        alpha = slopes_of_tiers(posterior, both)[0]
        known = np.flatnonzero((prompt >= 0) & (tiers == both))
        for rows in np.array_split(known, max(1, -(-len(known) // _CHUNK))):
            j = prompt[rows]
            categories = _categories(
                mean[rows], se[rows], alpha[j], posterior.thresholds[j], posterior.scales.cell or 0.0
            )
            found[rows] = categories @ to_vote
        new = np.flatnonzero((prompt < 0) & (tiers == both))
        if len(new):
            found[new] = _typical(posterior, alpha, mean[new], se[new]) @ to_vote
    scaled: FloatArray = found / found.sum(axis=1, keepdims=True)
    return scaled


def _categories(
    mean: FloatArray, se: FloatArray, alpha: FloatArray, thresholds: FloatArray, cell_sd: float
) -> FloatArray:
    """(n, E + 1) from (n,), (n,), (n,), (n, E): expectations over theta and the cell effect together."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    eta = alpha[:, None] * mean[:, None] + np.sqrt(alpha**2 * se**2 + cell_sd**2)[:, None] * nodes
    edge = alpha[:, None] * thresholds
    above = np.stack([expit(eta - edge[:, [c]]) @ weights for c in range(edge.shape[1])], axis=1)
    below = np.stack([expit(edge[:, [c]] - eta) @ weights for c in range(edge.shape[1])], axis=1)
    # Of two differences that are the same, the one between the smaller numbers keeps its digits.
    inner = np.where(above[:, :-1] < 0.5, above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])
    return np.concatenate([below[:, :1], np.maximum(inner, 0.0), above[:, -1:]], axis=1)


def _typical(posterior: PosteriorMoments, slope: FloatArray, mean: FloatArray, se: FloatArray) -> FloatArray:
    """(n, E + 1) for a prompt that is not known: the mean over the posterior's prompts, slope (J,), as a mixture.

    The mean over prompts is a function of theta alone, tabulated once. Of many prompts, 256 stand for all, evenly
    spaced by discrimination.
    """
    J = len(posterior.prompts)
    chosen = np.argsort(slope, kind="stable")[
        np.unique(np.linspace(0, J - 1, min(J, _TYPICAL)).round().astype(np.int64))
    ]
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    at = mean[:, None] + se[:, None] * nodes
    grid = np.linspace(at.min() - 1e-6, at.max() + 1e-6, _GRID)
    table = np.zeros((_GRID, posterior.thresholds.shape[1] + 1))
    cell_sd = posterior.scales.cell or 0.0
    for j in chosen:
        alpha = np.full(_GRID, slope[j])
        b = np.broadcast_to(posterior.thresholds[j], (_GRID, posterior.thresholds.shape[1]))
        table += _categories(grid, np.zeros(_GRID), alpha, b, cell_sd) / len(chosen)
    weights = weights / weights.sum()
    return np.stack([np.interp(at, grid, column) @ weights for column in table.T], axis=1)


def _to_vote(posterior: PosteriorMoments) -> FloatArray:
    """(E + 1, 3): what a category means for a single vote."""
    if posterior.form == "vote":
        return np.eye(3)
    ties = 1.0 / 3.0 if posterior.ties is None else (posterior.ties + 1.0) / (posterior.judgments + 3.0)
    return votes_of_rating(max(1, round(posterior.judgments / max(posterior.cells, 1))), ties)


def votes_of_rating(votes: int, tie_share: float = 1.0 / 3.0) -> FloatArray:
    """Return the probabilities of one vote of a cell, given its net rating.

    On average, a random vote of a cell with rating u favours B over A by u / 3, for any number of votes. The division
    of the rest into ties and votes that cancel is averaged over all sequences of votes with rating u, weighted by the
    share of ties. One vote: u = 3 is B and 0 is a tie. Three votes with a third of ties: u = 1 gives (1/6, 1/3, 1/2).
    An impossible rating counts |u| / 3 for one side, and the rest as ties.

    Parameters
    ----------
    votes : int
        Votes of the cell.
    tie_share : float
        Share of ties among all votes, between 0 and 1.

    Returns
    -------
    ndarray of float, shape (7, 3)
        P(A better), P(tie) and P(B better) for u = -3..3.
    """
    n = min(votes, _MOST_VOTES)
    u = np.arange(CATEGORIES) - 3.0
    table = np.stack([np.maximum(-u, 0.0), 3.0 - np.abs(u), np.maximum(u, 0.0)], axis=1) / 3.0
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"))
    a, b = a[a + b <= n], b[a + b <= n]
    ways = comb(n, a) * comb(n - a, b) * tie_share ** (n - a - b) * ((1.0 - tie_share) / 2.0) ** (a + b)
    category = net_rating(b, a, np.full(len(a), n)) + 3
    total = np.bincount(category, ways, minlength=CATEGORIES)
    for column, count in enumerate((a, n - a - b, b)):
        share = np.bincount(category, ways * count / n, minlength=CATEGORIES)
        table[:, column] = np.divide(share, total, out=table[:, column].copy(), where=total > 0)
    return table
