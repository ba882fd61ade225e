"""Screening of annotators: whose votes to keep, and whose to exclude.

Notation: a cell is one comparison on one prompt. An opinion is the mean of one annotator's votes on a cell, oriented
from the lower to the higher chatbot, in [-1, 1]. Anonymous votes (-1) are opinions of their own.

The orientation of a pair is arbitrary. Correlations are therefore about 0 (Pearson's over both orientations). Undefined
values are None, never NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import false_discovery_control

from irt_engine.agreement.annotator_statistics import (
    AnnotatorStatistics,
    statistics_of,
    statistics_of_answers,
    times_of,
)
from irt_engine.agreement.shared_answers import shared_answers, similarities
from irt_engine.agreement.shared_cells import PooledAgreement, SharedCells, pooled_agreement, shared_cells
from irt_engine.arrays import BoolArray, FloatArray, is_number, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.responses.table import ResponseTable
from irt_engine.significance.argument_checks import check_count

Decision = Literal["keep", "not enough yet", "exclude"]
ReasonCode = Literal[
    "no_agreement", "no_shared_cells", "correlation_positive", "correlation_not_positive", "too_few_shared_cells"
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the screen says of one annotator, and why.

    Parameters
    ----------
    annotator : int
        The annotator's number in the response table.
    decision : {"keep", "not enough yet", "exclude"}
        What to do with the annotator's votes.
    reason_code : str
        Why: `no_agreement`, the annotators as a whole do not agree beyond chance, so that none can be judged by the
        others; `no_shared_cells`, nobody else has judged the same cells; `correlation_positive` and
        `correlation_not_positive`, the correlation with the others is shown to be above 0, or not, with a p-value of
        `statistics.p_value`; `too_few_shared_cells`, there are too few of them to tell.
    power : float
        The chance that an ordinary careful annotator with these cells has a correlation significantly above 0.
    careful_chance : float
        The chance that a careful annotator with these cells has a correlation as low as this one's.
    statistics : AnnotatorStatistics
        The numbers that the decision rests on.
    """

    annotator: int
    decision: Decision
    reason_code: ReasonCode
    power: float
    careful_chance: float
    statistics: AnnotatorStatistics


@dataclass(frozen=True, slots=True)
class Screening:
    """Store the verdicts about all annotators, by their numbers.

    Parameters
    ----------
    verdicts : tuple of Verdict
        The verdicts.
    careful : float
        Estimated share of careful annotators.
    spread : float
        SD of their true correlations around the expected ones.
    excluded_share : float
        Share of all votes that the excluded annotators gave.
    """

    verdicts: tuple[Verdict, ...]
    careful: float
    spread: float
    excluded_share: float

    @property
    def excluded(self) -> tuple[int, ...]:
        """Return the numbers of the excluded annotators."""
        return tuple(v.annotator for v in self.verdicts if v.decision == "exclude")


# ---- annotators


def screen(
    table: ResponseTable,
    *,
    seconds: Sequence[float | None] | None = None,
    alpha: float = 0.05,
    least: float = 0.05,
    min_cells: int = 10,
) -> Screening:
    """Return whose votes to exclude, by the rule of Sedoc and Ungar where there are enough votes.

    keep: the correlation with the others is significantly positive and at least `least`. exclude: it is not, careful
    annotators on the same comparisons rarely have such a low correlation, and there are `min_cells` cells. not enough
    yet: all others, such as careful annotators with few votes. The p values are adjusted for all annotators together by
    Benjamini and Hochberg. If the annotators as a whole do not agree beyond chance, nobody is judged.

    Parameters
    ----------
    table : ResponseTable
        The n votes.
    seconds : sequence of float or None, length n, optional
        Time of each vote, in seconds.
    alpha : float
        False discovery rate among the excluded, and among the kept.
    least : float
        Least correlation of kept annotators.
    min_cells : int
        Least number of cells of excluded annotators.

    Returns
    -------
    Screening
        The verdicts.

    Raises
    ------
    InvalidResponses
        If an argument is out of range, or as `annotator_statistics`.

    References
    ----------
    J. Sedoc and L. Ungar (2020), Item response theory for efficient human evaluation of chatbots, Eval4NLP, 21-33.
    """
    rule = _Rule.checked(alpha, least, min_cells)
    shared = shared_cells(table)
    pool = pooled_agreement(shared)
    statistics = statistics_of(table, shared, pool, times_of(seconds, len(table)))
    return rule.screening(shared, pool, statistics, len(table))


def screen_answers(
    item: Sequence[int],
    annotator: Sequence[int],
    answer: Sequence[int],
    *,
    choices: int,
    ordinal: bool = False,
    seconds: Sequence[float | None] | None = None,
    alpha: float = 0.05,
    least: float = 0.05,
    min_cells: int = 10,
) -> Screening:
    """Return whose labels or ratings of single items to exclude, by the rule of `screen`.

    The correlation of an annotator is here kappa: the agreement with the others beyond chance.

    Parameters
    ----------
    item, annotator, answer : sequence of int, length n
        Item, annotator and answer (0 to choices - 1) of n answers, one for each annotator and item.
    choices : int
        Number of possible answers.
    ordinal : bool
        Whether answers are steps of a scale.
    seconds : sequence of float or None, length n, optional
        Time of each answer, in seconds.
    alpha, least, min_cells
        As in `screen`.

    Returns
    -------
    Screening
        The verdicts. Their statistics have no share of replies shown first, and no ties.

    Raises
    ------
    InvalidResponses
        If an argument is out of range.
    """
    rule = _Rule.checked(alpha, least, min_cells)
    columns = [numbers(one, name).astype(np.int64) for one, name in ((item, "item"), (annotator, "annotator"))]
    answers = numbers(answer, "answer").astype(np.int64)
    if not len(columns[0]) == len(columns[1]) == len(answers):
        raise InvalidResponses("the columns of answers differ in length", code="bad_length", hint="give one value each")
    if len(answers) and not 0 <= answers.min() <= answers.max() < choices:
        raise InvalidResponses("an answer is outside the choices", code="bad_answer", hint="number them from 0")
    shared = shared_answers(columns[0], columns[1], answers, similarities(choices, ordinal=ordinal))
    pool = pooled_agreement(shared)
    statistics = statistics_of_answers(columns[1], shared, pool, times_of(seconds, len(answers)))
    return rule.screening(shared, pool, statistics, len(answers))


@dataclass(frozen=True, slots=True)
class _Rule:
    """The options of a screening."""

    alpha: float
    least: float
    min_cells: int

    @classmethod
    def checked(cls, alpha: float, least: float, min_cells: int) -> _Rule:
        if not is_number(alpha) or not 0.0 < alpha < 1.0:
            raise InvalidResponses(f"alpha {alpha} is no probability", code="bad_alpha", hint="for example 0.05")
        if not is_number(least) or not -1.0 <= least <= 1.0:
            raise InvalidResponses(f"least {least} is no correlation", code="bad_least", hint="for example 0.05")
        return cls(alpha, least, check_count(min_cells, "min_cells"))

    def screening(
        self, shared: SharedCells, pool: PooledAgreement, statistics: Sequence[AnnotatorStatistics], votes: int
    ) -> Screening:
        """Return the verdicts."""
        alpha = self.alpha
        # The exact tests of few cells are coarse, so p = 1 there is common and must not weigh on the others.
        judged = shared.cells >= self.min_cells
        chance = np.where(judged, _careful_chance(shared, pool), 1.0)
        passed = (_adjusted(shared.p, shared.p < 1.0) <= alpha) & (shared.r >= self.least)
        failed = ((shared.p > alpha) | (shared.r < self.least)) & judged & (_adjusted(chance, judged) <= alpha)
        agree = bool(shared.z > ndtri(1.0 - alpha))
        power = _power(shared, pool, alpha)
        verdicts = tuple(
            _verdict(statistics[i], agree, bool(passed[i]), bool(failed[i]), float(chance[i]), float(power[i]))
            for i in range(len(statistics))
        )
        lost = sum(v.statistics.votes for v in verdicts if v.decision == "exclude")
        return Screening(verdicts, pool.careful, pool.spread, lost / max(votes, 1))


def without(table: ResponseTable, annotators: Sequence[int]) -> ResponseTable:
    """Return the table without any vote of the given annotators.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    annotators : sequence of int
        Numbers of the annotators.

    Returns
    -------
    ResponseTable
        The remaining votes.

    Raises
    ------
    InvalidResponses
        If no vote remains, or an annotator is no number.
    """
    named = numbers(annotators, "annotators")
    if not (named == np.floor(named)).all():
        raise InvalidResponses("an annotator is no whole number", code="not_whole", hint="give their numbers")
    rows = ~np.isin(table.annotator, named) | (table.annotator < 0)
    columns = ("a", "b", "prompt", "outcome", "annotator", "a_first", "label")
    return replace(table, **{name: getattr(table, name)[rows] for name in columns})


def _careful_chance(shared: SharedCells, pool: PooledAgreement) -> FloatArray:
    """(K,) chance that a careful annotator with these cells has a correlation as low as this one's."""
    chance: FloatArray = ndtr((shared.r - pool.mean) / np.sqrt(pool.spread**2 + shared.variance))
    return chance


def _power(shared: SharedCells, pool: PooledAgreement, alpha: float) -> FloatArray:
    sd = np.sqrt(shared.variance)
    with np.errstate(invalid="ignore"):
        power = ndtr((pool.mean - ndtri(1.0 - alpha) * sd) / np.sqrt(pool.spread**2 + shared.variance))
    return np.where(np.isfinite(sd), power, 0.0)


def _adjusted(p: FloatArray, family: BoolArray) -> FloatArray:
    """(K,) Benjamini and Hochberg's adjusted p-values within the family; 1 outside it."""
    adjusted = np.ones_like(p)
    if family.any():
        adjusted[family] = false_discovery_control(p[family])
    return adjusted


def _verdict(s: AnnotatorStatistics, agree: bool, passed: bool, failed: bool, chance: float, power: float) -> Verdict:
    decision: Decision = "not enough yet"
    code: ReasonCode = "too_few_shared_cells"
    if not agree:
        code = "no_agreement"
    elif s.cells == 0:
        code = "no_shared_cells"
    elif passed:
        decision, code = "keep", "correlation_positive"
    elif failed:
        decision, code = "exclude", "correlation_not_positive"
    return Verdict(s.annotator, decision, code, power, chance, s)
