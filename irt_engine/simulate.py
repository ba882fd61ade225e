"""Simulation of votes from known parameters. Every draw has a seed.

The model is that of `fit`. A vote or net rating on chatbots (a, b) and prompt j has the edges

    x_c = r (alpha theta + e) - alpha b_jc,   P(category > c) = sigma(x_c),
    theta = s_b - s_a + u_bj - u_aj + pair_ab + side (+1 if b was shown first, -1 if a was),
    log alpha = log alpha_j + (eps_j,tier(a) + eps_j,tier(b)) / 2.

The cell effect e ~ N(0, cell_sd^2) is common to the votes of a cell (form vote). r is the reliability of the annotator.
r = 1 is the model of `fit`. With r = 0 an annotator ties as often as others do between equal chatbots, and guesses
otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.special import expit

from irt_engine.arrays import FloatArray, IntArray, array_of, numbers
from irt_engine.errors import InvalidResponses
from irt_engine.models.graded_response import EDGES
from irt_engine.responses.table import ResponseTable
from irt_engine.truth import Form, Truth, check_known

_VOTE_EDGES = slice(2, 4)  # of the six edges of a net rating: u >= 0 (a is not better) and u >= 1 (b is better)


def all_cells(chatbots: int, prompts: int) -> IntArray:
    """Return every pair on every prompt.

    Parameters
    ----------
    chatbots, prompts : int
        Numbers of chatbots and prompts.

    Returns
    -------
    ndarray of int, shape (n, 3)
        Rows (a, b, prompt) with a < b.
    """
    a, b = np.triu_indices(chatbots, 1)
    J = np.arange(prompts)
    return np.stack([np.repeat(a, prompts), np.repeat(b, prompts), np.tile(J, len(a))], axis=1)


def comparison_cells(comparisons: int, prompts: int) -> IntArray:
    """Return every cell of the comparisons that `draw_truth` draws for model pair.

    Parameters
    ----------
    comparisons, prompts : int
        Numbers of comparisons and prompts.

    Returns
    -------
    ndarray of int, shape (n, 3)
        Rows (2i, 2i + 1, prompt).
    """
    i = np.repeat(np.arange(comparisons), prompts)
    return np.stack([2 * i, 2 * i + 1, np.tile(np.arange(prompts), comparisons)], axis=1)


def some_cells(chatbots: int, prompts: int, share: float, *, seed: int) -> IntArray:
    """Return a random share of `all_cells`, without replacement.

    Parameters
    ----------
    chatbots, prompts : int
        Numbers of chatbots and prompts.
    share : float
        Share of the cells, above 0 and at most 1.
    seed : int
        Seed of the draw.

    Returns
    -------
    ndarray of int, shape (n, 3)
        Rows (a, b, prompt) with a < b.

    Raises
    ------
    InvalidResponses
        If the share is out of range.
    """
    if not 0.0 < share <= 1.0:
        raise InvalidResponses(f"share {share} is outside (0, 1]", code="bad_share", hint="give a share of the cells")
    cells = all_cells(chatbots, prompts)
    count = max(1, round(share * len(cells)))
    return cells[np.sort(np.random.default_rng(seed).choice(len(cells), count, replace=False))]


def draw_votes(
    truth: Truth,
    cells: IntArray,
    *,
    seed: int,
    votes: int | IntArray = 1,
    form: Form = "vote",
    order: Literal["vote", "cell"] = "vote",
) -> ResponseTable:
    """Draw votes on cells.

    Form net draws three votes per cell whose net rating is one draw of the graded model; it excludes cell effects and
    annotators. Form vote draws votes that are independent given the cell effect. Rows with equal chatbots and prompt
    have one cell effect, in either orientation. Six thresholds are reduced to the two of a vote.

    Parameters
    ----------
    truth : Truth
        The parameters.
    cells : ndarray of int, shape (n, 3)
        Rows (a, b, prompt).
    seed : int
        Seed of the draws.
    votes : int or ndarray of int, shape (n,)
        Votes per cell (form vote).
    form : {"vote", "net"}
        The form.
    order : {"vote", "cell"}
        Draw the order of the replies for every vote, or once per row of `cells`. Without a side effect the order is
        unknown.

    Returns
    -------
    ResponseTable
        The votes.

    Raises
    ------
    InvalidResponses
        If the truth does not fit the form, a cell is invalid, or the form or order is unknown.
    """
    _check_form(truth, form)
    check_known("order", order, "vote", "cell")
    _check_cells(truth, cells)
    rng = np.random.default_rng(seed)
    repeats = _repeats(cells, 1 if form == "net" else votes)
    repeated = np.repeat(cells, repeats, axis=0)
    first = _first_shown(truth, repeats, order, rng)
    push = np.where(first == -1, 0.0, np.where(first == 1, -1.0, 1.0)) * truth.side
    a, b, j = repeated.T
    alpha = truth.slope(a, b, j)
    at = alpha * (truth.theta_on(a, b, j) + push) + _cell_effects(truth, repeated, rng)
    annotator = np.full(len(repeated), -1)
    if truth.reliability is not None:
        annotator = rng.integers(0, len(truth.reliability), len(repeated))
        at = truth.reliability[annotator] * at
    thresholds = truth.thresholds
    if form == "vote" and thresholds.shape[1] == EDGES:
        thresholds = thresholds[:, _VOTE_EDGES]
    level = alpha[:, None] * thresholds[j]
    category = (expit(level - at[:, None]) < rng.random(len(at))[:, None]).sum(axis=1)
    if form == "vote":
        return _table(truth, repeated, category - 1, first, annotator)
    u = category - 3
    outcome = (np.sign(u)[:, None] * (np.arange(3) < np.abs(u)[:, None])).ravel()
    thrice = [np.repeat(x, 3, axis=0) for x in (repeated, first, annotator)]
    return _table(truth, thrice[0], outcome, thrice[1], thrice[2])


def with_careless(table: ResponseTable, careless: FloatArray, *, seed: int) -> ResponseTable:
    """Return the same votes by annotators who sometimes answer at random.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    careless : ndarray of float, shape (K,)
        Probability of a random answer for each annotator. A random answer has the table's shares of ties and of
        decisive votes, and prefers neither side.
    seed : int
        Seed of the draws.

    Returns
    -------
    ResponseTable
        The votes with annotators.

    Raises
    ------
    InvalidResponses
        If a probability is outside 0..1.
    """
    careless = numbers(careless, "careless")
    if not (careless.ndim == 1 and careless.size and (careless >= 0.0).all() and (careless <= 1.0).all()):
        raise InvalidResponses("shares of careless votes are outside 0..1", code="bad_share", hint="give 0 to 1")
    rng = np.random.default_rng(seed)
    annotator = rng.integers(0, len(careless), len(table))
    decisive = np.where(rng.random(len(table)) < 0.5, -1, 1)
    guess = np.where(rng.random(len(table)) < (table.outcome == 0).mean(), 0, decisive)
    outcome = np.where(rng.random(len(table)) < careless[annotator], guess, table.outcome)
    return replace(table, outcome=outcome, annotator=annotator)


def _check_form(truth: Truth, form: str) -> None:
    check_known("form", form, "net", "vote")
    if form == "vote":
        return
    if truth.thresholds.shape[1] != EDGES:
        raise InvalidResponses(
            f"thresholds of {truth.thresholds.shape[1]} edges make no net rating",
            code="wrong_thresholds",
            hint="draw the truth with form 'net'",
        )
    if truth.cell_sd or truth.reliability is not None:
        raise InvalidResponses(
            "a net rating has neither a cell effect nor annotators of its own",
            code="wrong_truth",
            hint="draw votes with form 'vote'",
        )


def _check_cells(truth: Truth, cells: IntArray) -> None:
    if cells.ndim != 2 or cells.shape[1] != 3 or cells.dtype.kind not in "iu":
        raise InvalidResponses("cells are not (n, 3) whole numbers", code="shape", hint="see all_cells")
    M, J = len(truth.ability), len(truth.discrimination)
    for name, column, count in zip(("a", "b", "prompt"), cells.T, (M, M, J), strict=True):
        outside = (column < 0) | (column >= count)
        if outside.any():
            row = int(np.argmax(outside))
            raise InvalidResponses(
                f"row {row + 1}: {name} is {column[row]}, outside 0..{count - 1}",
                code="out_of_range",
                hint="give indices of the truth's own chatbots and prompts",
            )


def _repeats(cells: IntArray, votes: int | IntArray) -> IntArray:
    """(n,) votes on every row of `cells`."""
    repeats = array_of(votes, "votes")
    if repeats.shape not in ((), (len(cells),)) or repeats.dtype.kind not in "iu" or (repeats < 1).any():
        raise InvalidResponses(
            "a cell has no votes", code="bad_votes", hint="give a whole number from 1, or one for each cell"
        )
    return np.broadcast_to(repeats, len(cells)).astype(np.int64)


def _first_shown(truth: Truth, repeats: IntArray, order: str, rng: np.random.Generator) -> IntArray:
    """(sum of repeats,) 1 a, 0 b, -1 unknown."""
    if not truth.side:
        return np.full(int(repeats.sum()), -1)
    if order == "cell":
        return np.repeat(rng.integers(0, 2, len(repeats)), repeats)
    return rng.integers(0, 2, int(repeats.sum()))


def _cell_effects(truth: Truth, cells: IntArray, rng: np.random.Generator) -> FloatArray:
    """(n,) each row's effect toward its b; rows of one pair and prompt share theirs, with the sign of their order."""
    if not truth.cell_sd:
        return np.zeros(len(cells))
    a, b, j = cells.T
    key = (np.minimum(a, b) * len(truth.ability) + np.maximum(a, b)) * len(truth.discrimination) + j
    distinct, index = np.unique(key, return_inverse=True)
    effect = truth.cell_sd * rng.standard_normal(len(distinct))
    toward: FloatArray = np.where(a < b, 1.0, -1.0) * effect[index]
    return toward


def _table(truth: Truth, cells: IntArray, outcome: IntArray, first: IntArray, annotator: IntArray) -> ResponseTable:
    n = len(cells)
    return ResponseTable(
        chatbots=truth.chatbots,
        prompts=truth.prompts,
        labels=(),
        a=cells[:, 0],
        b=cells[:, 1],
        prompt=cells[:, 2],
        outcome=outcome,
        annotator=annotator,
        a_first=first,
        label=np.zeros(n, np.int64),
    )
