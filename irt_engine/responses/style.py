"""Style of replies: counts of a text, and standardised differences between the two replies of a vote.

Notation: c_A and c_B are the counts of one covariate (tokens, headers, list items, bold passages) of the replies of A
and B. A vote has the difference, and n votes the standardised one (Li, Angelopoulos and Chiang 2024),

    d = (c_B - c_A) / (c_B + c_A), 0 if both are 0,        x = d / sqrt(mean(d^2)).

It is not centred, so that exchanging A and B negates x. d does not depend on the unit of the counts. A covariate whose
d is 0 everywhere stays 0.

References
----------
T. Li, A. Angelopoulos and W.-L. Chiang (2024), Does style matter? Disentangling style and substance in Chatbot Arena,
lmsys.org/blog/2024-08-28-style-control.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, frozen
from irt_engine.errors import InvalidResponses

Counts = Sequence[float] | FloatArray
MOST_COVARIATES = 20
STYLE_COUNTS = ("length", "headers", "lists", "bold")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TOKEN = re.compile(r"[^\W_]+|_|[^\w\s]")
_HEADER = re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)
_LIST = re.compile(r"^[ \t]{0,40}(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")


def style_counts(text: str) -> tuple[int, int, int, int]:
    """Return the style counts of a reply.

    Parameters
    ----------
    text : str
        The reply, in Markdown or plain.

    Returns
    -------
    tuple of int, length 4
        In the order of `STYLE_COUNTS`: tokens (words and punctuation marks), headers, list items, and bold passages.
        Marks inside fenced code are not counted; its tokens are.

    Examples
    --------
    >>> style_counts("# Title\\n- one\\n- **two**")
    (10, 1, 2, 1)
    """
    prose = _CODE.sub("", text)
    marks = (len(pattern.findall(prose)) for pattern in (_HEADER, _LIST, _BOLD))
    headers, lists, bold = marks
    return len(_TOKEN.findall(text)), headers, lists, bold


@dataclass(frozen=True, slots=True, eq=False)
class StyleDifferences:
    """Store standardised differences of style, B minus A, of n votes.

    Parameters
    ----------
    names : tuple of str, length k
        Names of the covariates.
    values : ndarray of float, shape (n, k)
        Standardised differences in the order of the table's votes.
    unit : ndarray of float, shape (k,)
        Root mean square of the differences before they were standardised; 0 for a covariate without any difference.
    known : ndarray of int, shape (n,)
        1 for votes whose counts are known; the others have difference 0.

    Raises
    ------
    InvalidResponses
        If the sizes do not fit, a name occurs twice, or a value is not finite (``bad_style``).
    """

    names: tuple[str, ...]
    values: FloatArray
    unit: FloatArray
    known: IntArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values, np.float64))
        object.__setattr__(self, "unit", frozen(self.unit, np.float64))
        object.__setattr__(self, "known", frozen(self.known, np.int64))
        k, n = len(self.names), len(self.known)
        fits = self.values.shape == (n, k) and self.unit.shape == (k,) and len(set(self.names)) == k
        if not fits or not np.isfinite(self.values).all():
            raise _bad_style(
                "the sizes, names or values of the covariates do not fit", "give one finite value per vote"
            )
        if k > MOST_COVARIATES:
            raise _bad_style(f"{k} covariates are more than {MOST_COVARIATES}", "give fewer")

    def varying(self) -> StyleDifferences:
        """Return the covariates that differ in some vote; the others have no effect that could be estimated.

        Returns
        -------
        StyleDifferences
            The same votes, without covariates that are 0 everywhere.
        """
        kept = np.flatnonzero(self.unit > 0.0)
        names = tuple(self.names[k] for k in kept)
        return StyleDifferences(names, self.values[:, kept], self.unit[kept], self.known)


def style_differences(counts: Mapping[str, tuple[Counts, Counts]]) -> StyleDifferences:
    """Return the standardised differences of counts.

    Parameters
    ----------
    counts : mapping of str to (sequence of float, sequence of float)
        For each covariate the counts of A's and of B's replies, (n,) each, at least 0. NaN means unknown. A vote with
        an unknown count has difference 0 in all covariates.

    Returns
    -------
    StyleDifferences
        The differences.

    Raises
    ------
    InvalidResponses
        If there is no covariate, lengths differ, or a count is negative or infinite (``bad_style``).

    Examples
    --------
    >>> style_differences({"length": ([10, 30], [30, 10])}).values.ravel()
    array([ 1., -1.])
    """
    if not counts:
        raise _bad_style("there is no covariate", f"name some, for example {', '.join(STYLE_COUNTS)}")
    both = {name: (_count(a, name), _count(b, name)) for name, (a, b) in counts.items()}
    if len({len(column) for pair in both.values() for column in pair}) != 1:
        raise _bad_style("the columns differ in length", "give one count per vote")
    known = np.all([np.isfinite(column) for pair in both.values() for column in pair], axis=0)
    raw = [np.where(known, _relative(a, b), 0.0) for a, b in both.values()]
    unit = np.sqrt([float((column**2).sum()) / max(int(known.sum()), 1) for column in raw])
    values = np.stack([column / (size or 1.0) for column, size in zip(raw, unit.tolist(), strict=True)], axis=1)
    return StyleDifferences(tuple(both), values, unit, known.astype(np.int64))


def _count(column: Counts, name: str) -> FloatArray:
    try:
        values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise _bad_style(f"covariate {name} holds something that is not a number", "give numbers, or NaN") from error
    bad = (values < 0.0) | np.isinf(values)
    if values.ndim != 1 or bad.any():
        place = f"row {int(np.argmax(bad)) + 1}: " if values.ndim == 1 else ""
        raise _bad_style(f"{place}covariate {name} is no count", "give finite numbers of at least 0, or NaN")
    return values


def _relative(a: FloatArray, b: FloatArray) -> FloatArray:
    """(n,) (b - a) / (b + a), and 0 where both are 0."""
    largest = np.maximum(np.maximum(a, b), np.finfo(np.float64).tiny)  # the sum of two large counts may be infinite
    a, b = a / largest, b / largest
    total = a + b
    found: FloatArray = (b - a) / np.where(total > 0.0, total, 1.0)
    return found


def _bad_style(what: str, hint: str) -> InvalidResponses:
    return InvalidResponses(what, code="bad_style", hint=hint)
