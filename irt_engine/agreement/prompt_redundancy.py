"""Redundant prompts: prompts whose votes correlate beyond ability and chance, and their merging.

Notation: x_cj is the mean vote of comparison c on prompt j, oriented from the lower to the higher chatbot; m_c is its
mean over prompts. Sedoc and Ungar (2020, section 4.2) filter by the correlation r_jk of x_cj and x_ck over comparisons,
> 0.6. Two other causes of a large r must not group prompts:

- Ability: if one chatbot is better, it is better on every prompt. The test therefore uses the residual
  e_cj = x_cj - beta_j m_c - gamma_j m_c^3, as Yen's Q3 tests local dependence (Yen 1984, Applied Psychological
  Measurement 8, 125-145), with a curve per prompt.
- Chance: J prompts make J (J - 1) / 2 pairs. The test of sum_c e_cj e_ck > 0 is one-sided, with the false discovery
  rate of Benjamini and Hochberg (1995) over all pairs with sufficient overlap. Votes on the same replies are dependent.
  The variance of the sum is therefore that of random signs, sum_c e_cj^2 e_ck^2, plus rho_j rho_k for every two
  comparisons with a chatbot in common. rho_j is the mean of e_cj e_dj over such c and d, at least 0.

Correlations are about 0, because the orientation of a pair is arbitrary: a correlation about 0 is Pearson's over both
orientations of every comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.errors import InvalidResponses
from irt_engine.responses.cells import Comparisons, compare
from irt_engine.responses.table import ResponseTable

_BLOCK = 512  # prompts at a time: bounds memory at a few (512, J) matrices
_DENSE = 0.05  # above this share of seen cells a dense product is faster than a sparse one
_DENSE_CELLS = 200_000_000  # 1.6 GB; beyond it the sparse product is slower but fits


@dataclass(frozen=True, slots=True)
class RedundantPair:
    """Store two prompts with correlated net ratings.

    Parameters
    ----------
    first, second : str
        The prompts.
    correlation : float
        Their correlation.
    overlap : int
        Number of comparisons on both prompts.
    p_value : float
        Probability of such a correlation of independent prompts.
    """

    first: str
    second: str
    correlation: float
    overlap: int
    p_value: float


@dataclass(frozen=True, slots=True)
class Redundancy:
    """Store redundant pairs and groups of prompts.

    Groups are connected components, because redundancy is transitive and a missing link mostly means few votes.

    Parameters
    ----------
    pairs : tuple of RedundantPair
        The pairs, strongest first.
    groups : tuple of tuple of str
        Groups of two or more prompts in the table's order.
    tested : int
        Number of pairs with sufficient overlap.
    """

    pairs: tuple[RedundantPair, ...]
    groups: tuple[tuple[str, ...], ...]
    tested: int


@dataclass(frozen=True, slots=True, eq=False)
class _PromptPairs:
    """k pairs of prompts, each array (k,)."""

    first: IntArray
    second: IntArray
    correlation: FloatArray
    overlap: IntArray
    p: FloatArray

    def at(self, index: Any) -> _PromptPairs:
        return _PromptPairs(*(getattr(self, field.name)[index] for field in fields(self)))


def redundant_prompts(
    table: ResponseTable, *, threshold: float = 0.6, min_overlap: int = 10, alpha: float = 0.05
) -> Redundancy:
    """Return the prompts whose net ratings correlate above a threshold, beyond chance.

    The expected share of false pairs is at most alpha. With n comparisons z is at most sqrt(n), so that 200 prompts
    need at least 21 comparisons and 5,000 prompts 34. Similar but unequal prompts need several times as many. If votes
    follow the replies, n is rather the number of chatbots. The costs are O(C J^2) for C comparisons, or less if few
    cells have votes.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    threshold : float
        Least correlation, between -1 and 1.
    min_overlap : int
        Least number of comparisons, at least 2.
    alpha : float
        False discovery rate.

    Returns
    -------
    Redundancy
        Pairs and groups.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    if not (-1.0 < threshold < 1.0 and 0.0 < alpha < 1.0 and min_overlap >= 2):
        raise InvalidResponses(
            f"threshold {threshold}, alpha {alpha}, min_overlap {min_overlap} make no test",
            code="bad_threshold",
            hint="for example threshold 0.6, alpha 0.05, min_overlap 10",
        )
    near, tested = _near_pairs(table, min_overlap, alpha)
    found = near.at(_discoveries(near.p, tested, alpha) & (near.correlation > threshold))
    found = found.at(np.lexsort((found.second, found.first, -found.correlation)))
    names = table.prompts
    rows = zip(*(getattr(found, field.name).tolist() for field in fields(found)), strict=True)
    pairs = tuple(RedundantPair(names[j], names[k], r, n, p) for j, k, r, n, p in rows)
    return Redundancy(pairs, _components(found.first, found.second, names), tested)


def merge_prompts(table: ResponseTable, groups: Sequence[Sequence[str]]) -> ResponseTable:
    """Return the table with each group as one prompt.

    The prompt has the name of the group's first member in the table's order. The net rating of a merged cell is the
    average of the group's ratings, weighted by their votes.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    groups : sequence of sequence of str
        Names of the prompts in each group.

    Returns
    -------
    ResponseTable
        The votes with merged prompts.

    Raises
    ------
    InvalidResponses
        If a name is unknown or in two groups.
    """
    number = {name: j for j, name in enumerate(table.prompts)}
    leader = np.arange(len(table.prompts))
    seen: set[str] = set()
    for group in groups:
        _check_group(group, number, seen)
        members = [number[name] for name in group]
        leader[members] = min(members, default=0)
        seen.update(group)
    kept, index = np.unique(leader, return_inverse=True)
    return replace(table, prompts=tuple(table.prompts[j] for j in kept), prompt=index[table.prompt])


def _check_group(group: Sequence[str], number: dict[str, int], seen: set[str]) -> None:
    for name in group:
        if name not in number:
            raise InvalidResponses(
                f"{name!r} is no prompt of this table", code="unknown_prompt", hint="see ResponseTable.prompts"
            )
        if name in seen:
            raise InvalidResponses(f"{name!r} is in two groups", code="two_groups", hint="join the two groups")


def _ratings(table: ResponseTable) -> tuple[IntArray, IntArray, FloatArray, Comparisons]:
    """Seen cells in canonical order: comparison, prompt, mean vote low -> high, (n,) each; and the comparisons."""
    comparisons, comparison = compare(table)
    J = len(table.prompts)
    code, index = np.unique(comparison * J + table.prompt, return_inverse=True)
    vote = np.where(table.a < table.b, table.outcome, -table.outcome)
    x = np.bincount(index, weights=vote) / np.bincount(index)
    return code // J, code % J, x, comparisons


def _without_ability(c: IntArray, j: IntArray, x: FloatArray) -> FloatArray:
    """e (n,): x minus what the comparison's mean m says of it, least squares on m and m^3 per prompt, Gram-Schmidt.

    The cube is there because a steep prompt saturates: without it steep prompts share a residual.
    """
    m = (np.bincount(c, weights=x) / np.maximum(np.bincount(c), 1))[c]
    cube = _minus_fit(j, m**3, m)
    e = _minus_fit(j, _minus_fit(j, x, m), cube)
    e[np.abs(e) < 1e-9] = 0.0  # what rounding leaves of an exact fit is no evidence
    return e


def _minus_fit(j: IntArray, y: FloatArray, g: FloatArray) -> FloatArray:
    """y minus its least-squares fit on g through 0, prompt by prompt, (n,)."""
    square = np.bincount(j, weights=g * g)
    slope = np.bincount(j, weights=g * y) / np.where(square > 1e-12, square, np.inf)
    rest: FloatArray = y - slope[j] * g
    return rest


@dataclass(frozen=True, slots=True, eq=False)
class _Matrices:
    """(C, J) each, sparse or dense: 1 where seen, x, x^2, e, e^2; (M, J) `common` and `common_share`.

    common: rho_j times how many ordered pairs of comparisons chatbot m has on the prompt; common_share: in shares of
    all its pairs of comparisons.
    """

    seen: Any
    x: Any
    xx: Any
    e: Any
    ee: Any
    common: FloatArray
    common_share: FloatArray


def _matrices(c: IntArray, j: IntArray, x: FloatArray, comparisons: Comparisons, J: int) -> _Matrices:
    e, shape = _without_ability(c, j, x), (len(comparisons.low), J)
    cells = shape[0] * shape[1]
    dense = len(c) > _DENSE * cells and cells <= _DENSE_CELLS

    def matrix(values: FloatArray) -> Any:
        full = sparse.csr_array((values, (c, j)), shape=shape)
        return full.toarray() if dense else full

    common = _common(c, j, e, comparisons, J)
    return _Matrices(matrix(np.ones_like(x)), matrix(x), matrix(x * x), matrix(e), matrix(e * e), *common)


def _common(c: IntArray, j: IntArray, e: FloatArray, comparisons: Comparisons, J: int) -> tuple[FloatArray, FloatArray]:
    """`common` and `common_share` of `_Matrices`."""
    M = 1 + int(comparisons.high.max())
    at = np.concatenate([comparisons.low[c] * J + j, comparisons.high[c] * J + j])
    toward, square = np.concatenate([-e, e]), np.concatenate([e * e, e * e])
    n, total, squares = (np.bincount(at, v, M * J).reshape(M, J) for v in (np.ones_like(toward), toward, square))
    pairs = n * (n - 1.0)
    rho = np.maximum((total**2 - squares).sum(axis=0), 0.0) / np.maximum(pairs.sum(axis=0), 1.0)
    met = np.bincount(np.concatenate([comparisons.low, comparisons.high]), minlength=M)
    return rho * pairs, rho * pairs / np.maximum(met * (met - 1.0), 1.0)[:, None]


def _near_pairs(table: ResponseTable, min_overlap: int, alpha: float) -> tuple[_PromptPairs, int]:
    """The pairs with the overlap whose own p is <= alpha (no others can pass), and how many had the overlap."""
    c, j, x, comparisons = _ratings(table)
    J = len(table.prompts)
    data = _matrices(c, j, x, comparisons, J)
    blocks = [_block(data, slice(at, min(at + _BLOCK, J)), min_overlap, alpha) for at in range(0, J, _BLOCK)]
    joined = (np.concatenate([getattr(pairs, field.name) for pairs, _ in blocks]) for field in fields(_PromptPairs))
    return _PromptPairs(*joined), sum(tested for _, tested in blocks)


def _block(data: _Matrices, here: slice, min_overlap: int, alpha: float) -> tuple[_PromptPairs, int]:
    """The same for the pairs whose first prompt is in `here`. p is the normal tail of sum e e' over the root of its
    variance; of random signs alone it is bounded by that up to a small factor (Pinelis 1994). How many comparisons of a
    chatbot two prompts both have is taken as if chance had chosen each one's."""
    n = _products(data.seen, data.seen, here)
    row, column = np.nonzero(np.triu(n >= min_overlap, 1))  # the block's diagonal is the prompts themselves
    variance = _products(data.ee, data.ee, here) + _products(data.common, data.common_share, here)
    z = _products(data.e, data.e, here)[row, column] / _root(variance[row, column])
    tested, p = len(row), ndtr(-z)
    row, column, p = row[p <= alpha], column[p <= alpha], p[p <= alpha]
    square = _products(data.xx, data.seen, here)[row, column] * _products(data.seen, data.xx, here)[row, column]
    r = _products(data.x, data.x, here)[row, column] / _root(square)
    overlap = n[row, column].astype(np.int64)
    return _PromptPairs(row + here.start, column + here.start, r, overlap, p), tested


def _root(square: FloatArray) -> FloatArray:
    """The square root, and 1 in place of 0: what is divided by it is then 0 as well."""
    root: FloatArray = np.sqrt(np.where(square > 0, square, 1.0))
    return root


def _products(one: Any, other: Any, here: slice) -> FloatArray:
    """(B, J - start): sums over comparisons of one's columns `here` times other's from there on."""
    product = one[:, here].T @ other[:, here.start :]
    dense: FloatArray = product if isinstance(product, np.ndarray) else product.toarray()
    return dense


def _discoveries(p: FloatArray, tested: int, alpha: float) -> BoolArray:
    """(k,) boolean, Benjamini and Hochberg among `tested` p-values, of which `p` holds all that are <= alpha."""
    ordered = np.sort(p)
    passing = np.flatnonzero(ordered * tested <= alpha * np.arange(1, len(p) + 1))
    limit = ordered[passing[-1]] if len(passing) else -1.0
    below: BoolArray = p <= limit
    return below


def _components(first: IntArray, second: IntArray, names: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    links = sparse.coo_array((np.ones(len(first)), (first, second)), shape=(len(names), len(names)))
    _, part = connected_components(links.tocsr(), directed=False)
    inside = np.unique(np.concatenate([first, second])).astype(np.int64)
    members: dict[int, list[str]] = {}
    for j in inside.tolist():
        members.setdefault(int(part[j]), []).append(names[j])
    return tuple(tuple(group) for group in members.values())
