"""Design of a fit: the columns of the shared parameters, and the groups of effects with a common scale.

The shared parameters are the abilities (one per chatbot, or one theta per comparison with model pair), the pair effects
(board), the side effect if an order is known, the effects of style, and the common log gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.fitting.annotated_votes import AnnotatedVotes, annotated_votes
from irt_engine.fitting.kernels import kernels_for
from irt_engine.fitting.problem import FitProblem
from irt_engine.models.effects import LOOSE, MOST_SLOPES, TIGHT, Effects, Group
from irt_engine.models.parameters import Point
from irt_engine.models.priors import Priors
from irt_engine.models.reply_effects import MOST_WORK, most_replies, replies_of
from irt_engine.models.thresholds import prompt_model
from irt_engine.models.tier_effects import parts_of
from irt_engine.responses.cells import Cells, Comparisons, cells_of, compare, separate_cells
from irt_engine.responses.style import StyleDifferences
from irt_engine.responses.table import ResponseTable

MOST_PAIR_EFFECTS = 600  # larger boards are fitted without pair effects, and `scales.pair` is None


@dataclass(frozen=True, slots=True, eq=False)
class FitDesign:
    """Store a problem and the names of its parts.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model, form : str
        Model and form.
    comparisons : Comparisons
        The C comparisons.
    cells : Cells
        The cells.
    problem : FitProblem
        The problem to solve.
    effects : Effects
        Groups of effects with a common SD.
    abilities : int
        Number of abilities K.
    pair : slice, optional
        Columns of the pair effects.
    side : int
        Column of the side effect; -1 without one.
    tiers : ndarray of int, shape (M,), optional
        Tiers of the chatbots.
    style : slice, optional
        Columns of the effects of style.
    style_names : tuple of str
        Their covariates.
    order : ndarray of int, shape (n,), optional
        Order in which the design has the given cells, if it is another.
    """

    table: ResponseTable
    model: str
    form: str
    comparisons: Comparisons
    cells: Cells
    problem: FitProblem
    effects: Effects
    abilities: int  # K
    pair: slice | None  # columns of the pairs' own effects
    side: int  # column of the side effect, -1 without one
    tiers: IntArray | None = None  # (M,) of the chatbots
    style: slice | None = None  # columns of the effects of style
    style_names: tuple[str, ...] = ()
    order: IntArray | None = None  # (n,) of the given cells

    @property
    def board(self) -> bool:
        """Return whether the model is board."""
        return self.model == "board"

    @property
    def origin(self) -> Point:
        """Return the point 0, at which a cold fit starts."""
        return Point(np.zeros(self.problem.shared_size), np.zeros((self.problem.slots, self.problem.width)))


def design(
    table: ResponseTable,
    model: str,
    form: str,
    priors: Priors,
    tiers: IntArray | None = None,
    *,
    pool: bool = True,
    style: StyleDifferences | None = None,
) -> FitDesign:
    """Return the design of a table.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model, form : str
        Model and form.
    priors : Priors
        Prior SDs.
    tiers : ndarray of int, shape (M,), optional
        Tiers of the chatbots, if discriminations depend on them.
    pool : bool
        Give prompts with few cells the pooled slot.
    style : StyleDifferences, optional
        Differences of style of the votes, each of which differs in some vote.

    Returns
    -------
    FitDesign
        The design.
    """
    comparisons, index = compare(table)
    cells = cells_of(table, index, votes=form == "vote", pool=pool, style=style)
    return design_of(table, model, form, priors, comparisons, cells, tiers, style.names if style else ())


def annotated_design(
    table: ResponseTable,
    model: str,
    priors: Priors,
    tiers: IntArray | None = None,
    style: StyleDifferences | None = None,
) -> tuple[FitDesign, AnnotatedVotes]:
    """Return the design of a table in form vote with its separate cells, and the votes of these cells.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model : str
        The model.
    priors : Priors
        Prior SDs.
    tiers : ndarray of int, shape (M,), optional
        Tiers of the chatbots, if discriminations depend on them.
    style : StyleDifferences, optional
        Differences of style of the votes, each of which differs in some vote.

    Returns
    -------
    tuple of (FitDesign, AnnotatedVotes)
        The design and its votes.
    """
    comparisons, index = compare(table)
    separate, cell = separate_cells(table, index, style)
    made = design_of(table, model, "vote", priors, comparisons, separate, tiers, style.names if style else ())
    if made.order is not None:
        place = np.empty(len(made.order), np.int64)
        place[made.order] = np.arange(len(made.order))
        cell = place[cell]
    return made, annotated_votes(table, made.comparisons.flip[index] & (model != "board"), cell)


def design_of(
    table: ResponseTable,
    model: str,
    form: str,
    priors: Priors,
    comparisons: Comparisons,
    cells: Cells,
    tiers: IntArray | None = None,
    style_names: tuple[str, ...] = (),
) -> FitDesign:
    """Return the design of given cells.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    model, form : str
        Model and form.
    priors : Priors
        Prior SDs.
    comparisons : Comparisons
        The comparisons of the table.
    cells : Cells
        The cells of the table.
    tiers : ndarray of int, shape (M,), optional
        Tiers of the chatbots.
    style_names : tuple of str
        Covariates of `cells.style`.

    Returns
    -------
    FitDesign
        The design.
    """
    board, parts, order = model == "board", None, None
    if tiers is not None:
        both = tiers[np.stack([comparisons.low, comparisons.high], axis=1)][cells.comparison]
        order, parts = parts_of(cells.slot, cells.slots, both, int(tiers.max()) + 1)
        cells = _in_order(cells, order)
    K = len(table.chatbots) if board else len(comparisons.low)
    shared = _SharedColumns()
    pair, side = _add_board(shared, K, comparisons, cells, priors) if board else _add_pairs(shared, K, cells, priors)
    style = _add_style(shared, cells, comparisons, priors, board=board)
    prompts = prompt_model(model, form)
    if parts is not None:
        prompts = replace(prompts, tiers=parts.tiers)
    shared.add("common_log_gap", prompts.gaps, priors.common_log_gap_sd)
    problem = FitProblem(
        prompts=prompts,
        starts=np.searchsorted(cells.slot, np.arange(cells.slots + 1)),
        counts=cells.counts if board else _turned(cells.counts, comparisons.flip[cells.comparison]),
        weight=cells.weight,
        again=cells.again,
        col=np.ascontiguousarray(np.stack(shared.col, axis=1)),
        coef=np.ascontiguousarray(np.stack(shared.coef, axis=1)),
        shared_size=shared.size,
        parts=parts,
        kernels=kernels_for(len(cells.slot)),
    )
    if board and priors.reply_sd > 0:
        problem = _with_replies(problem, cells, comparisons, K)
    effects = _effects(shared, problem, cells, priors, form)
    return FitDesign(
        table, model, form, comparisons, cells, problem, effects, K, pair, side, tiers, style, style_names, order
    )


def _add_pairs(shared: _SharedColumns, K: int, cells: Cells, priors: Priors) -> tuple[None, int]:
    """Add one theta per comparison."""
    shared.add("theta", K, priors.theta_sd)
    shared.use(cells.comparison, np.ones(len(cells.comparison)))
    return None, -1


def _add_board(
    shared: _SharedColumns, K: int, comparisons: Comparisons, cells: Cells, priors: Priors
) -> tuple[slice | None, int]:
    """Add abilities, pair effects and the side effect; return the columns of the latter two."""
    which, n, C = cells.comparison, len(cells.comparison), len(comparisons.low)
    shared.add("ability", K, priors.ability_sd)
    shared.use(comparisons.low[which], -np.ones(n))
    shared.use(comparisons.high[which], np.ones(n))
    pair, side = None, -1
    if priors.pair_sd > 0 and C <= MOST_PAIR_EFFECTS:
        pair = shared.add("pair", C, priors.pair_sd, learned=priors.learn, width=LOOSE)
        shared.use(pair.start + which, np.ones(n))
    if np.any(cells.side):
        side = shared.add("side", 1, priors.side_sd, learned=priors.learn, width=LOOSE).start
        shared.use(np.full(n, side), cells.side)
    return pair, side


def _add_style(
    shared: _SharedColumns, cells: Cells, comparisons: Comparisons, priors: Priors, *, board: bool
) -> slice | None:
    """Add the effects of style, in units of ability for one root mean square of a difference; return their columns."""
    if cells.style is None:
        return None
    turned = np.ones(len(cells.comparison)) if board else np.where(comparisons.flip[cells.comparison], -1.0, 1.0)
    style = shared.add("style", cells.style.shape[1], priors.style_sd)
    for column, values in enumerate(cells.style.T, start=style.start):
        shared.use(np.full(len(values), column), turned * values)
    return style


def _with_replies(problem: FitProblem, cells: Cells, comparisons: Comparisons, chatbots: int) -> FitProblem:
    """Return the problem with reply effects, if slots with so many parameters are eliminated fast enough."""
    most = most_replies(cells, comparisons, chatbots)
    width = problem.prompts.size + most
    if not most or cells.slots * width * (width + problem.shared_size) ** 2 > MOST_WORK:
        return problem
    return replace(problem, replies=replies_of(cells, comparisons, chatbots))


def _effects(shared: _SharedColumns, problem: FitProblem, cells: Cells, priors: Priors, form: str) -> Effects:
    """Return the groups of effects with a common scale."""
    prompts, replies = problem.prompts, problem.replies
    again = priors.learn and bool(cells.again.any())  # without, nothing tells a cell's SD from the given one
    sd = priors.log_discrimination_sd
    groups = [*shared.groups, Group("log_discrimination", sd, priors.learn, phi=slice(0, 1), most=MOST_SLOPES)]
    if prompts.tiers:
        groups.append(Group("tier", priors.tier_sd, priors.learn, LOOSE, phi=slice(1, 1 + prompts.tiers)))
    if prompts.located:
        groups.append(Group("location", priors.location_sd, priors.learn, phi=prompts.location))
    groups.append(Group("log_gap", priors.log_gap_sd, priors.learn, phi=slice(prompts.first_gap, prompts.size)))
    if replies:
        learned = again or (priors.learn and bool(replies.again.any()))
        columns = slice(prompts.size, problem.width)
        groups.append(Group("reply", priors.reply_sd, learned, priors.shared_width, phi=columns))
    return Effects(
        groups=tuple(groups),
        cell=Group("cell", priors.cell_sd, again, priors.shared_width) if form == "vote" else None,
        shared_size=shared.size,
        shape=(cells.slots, problem.width),
        shared=cells.shared,
        replies=replies.there if replies else None,
        again=replies.again if replies else None,
    )


class _SharedColumns:
    """The shared parameters in the order in which they are added, and the cells' design on them."""

    def __init__(self) -> None:
        self.size = 0
        self.groups: list[Group] = []
        self.col: list[IntArray] = []
        self.coef: list[FloatArray] = []

    def use(self, columns: IntArray, coefficients: FloatArray) -> None:
        """Add one column (n,) and coefficient (n,) per cell."""
        self.col.append(columns)
        self.coef.append(coefficients)

    def add(self, name: str, columns: int, sd: float, *, learned: bool = False, width: float = TIGHT) -> slice:
        part = slice(self.size, self.size + columns)
        self.groups.append(Group(name, sd, learned, width, z=part))
        self.size += columns
        return part


def _in_order(cells: Cells, order: IntArray) -> Cells:
    columns = ("comparison", "slot", "counts", "side", "weight")
    style = None if cells.style is None else cells.style[order]
    return replace(cells, style=style, **{name: getattr(cells, name)[order] for name in columns})


def _turned(counts: FloatArray, flip: BoolArray) -> FloatArray:
    """Counts in the comparisons' own orientation."""
    other = 6.0 - counts if counts.shape[1] == 1 else counts[:, ::-1]
    return np.ascontiguousarray(np.where(flip[:, None], other, counts))
