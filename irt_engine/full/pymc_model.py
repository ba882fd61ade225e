"""The PyMC model of a fit: its data, its parameters, and its compiled log density.

Every normal effect is a standard normal times its SD (non-centred), so that chains do not stick near an SD of 0. A cell
has two edges, log P = log sigma(x_left) + log sigma(-x_right) + log(1 - e^-(x_left - x_right)). The last term depends
on the prompt alone, and is summed over cells beforehand.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from irt_engine.arrays import FloatArray, IntArray
from irt_engine.errors import EngineError, InvalidResponses
from irt_engine.fitting.design import FitDesign
from irt_engine.models.priors import Priors

MAX_PARAMETERS = 50_000  # a draw of so many numbers is 400 kB, and a gradient takes tens of milliseconds
_SMALLEST_GAP = 1e-7  # as in `kernels`: two thresholds never quite meet


@dataclass(frozen=True, slots=True, eq=False)
class SampledCells:
    """Store the cells for the likelihood of the PyMC model.

    Edge terms are triples (cell, edge, count); gaps are summed by slot.

    Parameters
    ----------
    slot, comparison : ndarray of int, shape (n,)
        Slot and comparison of each cell.
    side : ndarray of float, shape (n,)
        Orders, as in `Cells`.
    above, below : tuple of ndarray
        Triples for the terms log sigma(x) and log sigma(-x).
    inner : ndarray of float, shape (J, E - 1)
        Observations in the category between edges c and c + 1.
    alone : ndarray of float, shape (n,)
        1 in the pooled slot, whose replies have no effects of their own.
    replies : ndarray of int, shape (n, 2) or (n, 0)
        Places of the replies' effects, low then high; 0 where alone.
    """

    slot: IntArray  # (n,)
    comparison: IntArray  # (n,)
    side: FloatArray  # (n,)
    above: tuple[IntArray, IntArray, FloatArray]  # log sigma(x)
    below: tuple[IntArray, IntArray, FloatArray]  # log sigma(-x)
    inner: FloatArray  # (J, E - 1): how often a category between edges c and c + 1 was seen
    alone: FloatArray  # (n,) 1 in the shared slot, where replies have no place of their own, 0 elsewhere
    replies: IntArray  # (n, 2) places among the replies' effects, low then high; 0 where alone, (n, 0) without any


def sampled_cells(made: FitDesign) -> SampledCells:
    """Return the cells of a design for sampling.

    With form vote every cell has its own effect, so that merged cells are separated again.

    Parameters
    ----------
    made : FitDesign
        The design.

    Returns
    -------
    SampledCells
        The cells.
    """
    cells, counts, weight = made.cells, made.problem.counts, made.cells.weight
    index = np.arange(len(weight))
    if made.form == "vote":
        index = np.repeat(index, weight.astype(np.int64))
        seen, weight = counts[index], np.ones(len(index))
    else:
        seen = (counts == np.arange(7)).astype(np.float64)
    times = seen * weight[:, None]
    slot = cells.slot[index]
    inner = np.zeros((cells.slots, times.shape[1] - 2))
    np.add.at(inner, slot, times[:, 1:-1])
    return SampledCells(
        slot,
        cells.comparison[index],
        cells.side[index],
        _nonzero(times[:, 1:]),
        _nonzero(times[:, :-1]),
        inner,
        (slot == cells.shared).astype(np.float64),
        _reply_places(made)[index],
    )


def _reply_places(made: FitDesign) -> IntArray:
    replies = made.problem.replies
    if replies is None:
        return made.problem.own
    number = np.cumsum(replies.there).reshape(replies.there.shape) - 1
    return np.where(replies.own >= 0, number[replies.slot[:, None], replies.own], 0)


def _nonzero(times: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    cell, edge = np.nonzero(times)
    return cell, edge, times[cell, edge]


def check_size(size: int) -> None:
    """Check the number of parameters.

    Parameters
    ----------
    size : int
        The number.

    Raises
    ------
    InvalidResponses
        If it exceeds `MAX_PARAMETERS`.
    """
    if size > MAX_PARAMETERS:
        raise InvalidResponses(
            f"{size} parameters are more than {MAX_PARAMETERS}",
            code="too_many_parameters",
            hint="take a part of the prompts, or form 'net'; the everyday fit has no such limit",
        )


def has_pair_effects(made: FitDesign, priors: Priors) -> bool:
    """Return whether a design has pair effects to sample.

    Parameters
    ----------
    made : FitDesign
        The design.
    priors : Priors
        Prior SDs.

    Returns
    -------
    bool
        True if there are.
    """
    return made.board and priors.pair_sd > 0


def load_libraries() -> tuple[ModuleType, ModuleType, ModuleType]:
    """Return pymc, pytensor.tensor and nutpie.

    PyTensor is configured not to need a C++ compiler.

    Returns
    -------
    tuple of module
        The three modules.

    Raises
    ------
    EngineError
        If one is not installed.
    """
    os.environ.setdefault("PYTENSOR_FLAGS", "mode=NUMBA")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ArviZ announces its next version at every import
            import nutpie
            import pymc
            import pytensor.tensor
    except ImportError as error:
        raise EngineError(
            f"the full fit needs a library that is not here: {error.name}",
            code="no_sampler",
            hint="pip install 'touchstone-eval[full]'",
        ) from error
    return pymc, pytensor.tensor, nutpie


@dataclass(frozen=True, slots=True, eq=False)
class ParameterLayout:
    """Describe the places of normal effects in one vector of S standard normals, and their SDs.

    One vector and few operations keep the compilation short; it takes longer than the draws of a small board.

    Parameters
    ----------
    places : dict of ndarray of int
        Places by name.
    given : ndarray of float, shape (S,)
        Given SDs.
    learned : dict of float
        SDs to draw, by name; "cell" is last and has no place in the vector.
    kind : ndarray of int, shape (S - F,)
        Index of the drawn SD of each effect after the first F.
    """

    places: dict[str, IntArray]
    given: FloatArray  # (S,) SDs
    learned: dict[str, float]  # SDs to draw as well, by name; "cell" last, which has no place in the vector
    kind: IntArray  # (S - F,) which of them each effect behind the first F has

    @property
    def fixed(self) -> int:
        """Return the number F of effects before the first one whose SD is drawn."""
        return len(self.given) - len(self.kind)

    def effects(self, lib: Any, standard: Any, ratio: Any) -> Any:
        """Return the effects of standard normals.

        Parameters
        ----------
        lib : module
            numpy or pytensor.tensor.
        standard : tensor, shape (..., S)
            Standard normals.
        ratio : tensor, shape (..., L), or None
            Drawn SDs, relative to the given ones.

        Returns
        -------
        tensor, shape (..., S)
            The effects.
        """
        if ratio is None:
            return self.given * standard
        F = self.fixed
        head, tail = self.given[:F] * standard[..., :F], self.given[F:] * standard[..., F:]
        return lib.concatenate([head, tail * ratio[..., self.kind]], axis=-1)


def parameter_layout(made: FitDesign, priors: Priors) -> ParameterLayout:
    """Return the layout of a design.

    Parameters
    ----------
    made : FitDesign
        The design.
    priors : Priors
        Prior SDs.

    Returns
    -------
    ParameterLayout
        The layout.
    """
    J, prompts = made.cells.slots, made.problem.prompts
    fixed: list[tuple[str, float, tuple[int, ...]]] = [
        ("ability", priors.ability_sd, (made.abilities,))
        if made.board
        else ("theta", priors.theta_sd, (made.abilities,)),
        ("common_log_gap", priors.common_log_gap_sd, (1, prompts.gaps)),
    ]
    scaled: list[tuple[str, float, tuple[int, ...]]] = [
        ("log_discrimination", priors.log_discrimination_sd, (J, 1)),
        ("log_gap", priors.log_gap_sd, (J, prompts.gaps)),
    ]
    if prompts.located:
        scaled.append(("location", priors.location_sd, (J, 1)))
    if has_pair_effects(made, priors):
        scaled.append(("pair", priors.pair_sd, (len(made.comparisons.low),)))
    if made.side >= 0:
        scaled.append(("side", priors.side_sd, (1,)))
    if made.problem.replies:
        scaled.append(("reply", priors.reply_sd, (int(made.problem.replies.there.sum()),)))
    sizes = [int(np.prod(shape)) for _, _, shape in (*fixed, *scaled)]
    starts = np.cumsum([0, *sizes])
    places = {
        name: start + np.arange(size).reshape(shape)
        for (name, _, shape), start, size in zip((*fixed, *scaled), starts, sizes, strict=False)
    }
    learned = {name: sd for name, sd, _ in scaled} | ({"cell": priors.cell_sd} if made.form == "vote" else {})
    return ParameterLayout(
        places=places,
        given=np.repeat([sd for _, sd, _ in (*fixed, *scaled)], sizes),
        learned=learned,
        kind=np.repeat(np.arange(len(scaled)), sizes[len(fixed) :]),
    )


def split_parameters(effects: Any, layout: ParameterLayout, made: FitDesign) -> dict[str, Any]:
    """Return the model's parameters of a vector of effects, for the model and for its draws.

    Parameters
    ----------
    effects : tensor, shape (..., S)
        The effects.
    layout : ParameterLayout
        Their places.
    made : FitDesign
        The design.

    Returns
    -------
    dict of tensor
        theta (..., C) in the orientation of the counts; log_alpha and location (..., J, 1); log_gap (..., J, G) with
        the common ones; ability (..., M) and side (..., 1).
    """
    parts = {name: effects[..., place] for name, place in layout.places.items()}
    own = np.ones((made.cells.slots, 1))
    if made.cells.shared >= 0:
        own[made.cells.shared] = 0.0  # pooled prompts are typical by definition: alpha = 1 and the common gaps
    parts["log_alpha"] = parts.pop("log_discrimination") * own
    parts["log_gap"] = parts.pop("common_log_gap") + parts["log_gap"] * own
    if made.board:
        ability = parts["ability"]
        theta = ability[..., made.comparisons.high] - ability[..., made.comparisons.low]
        parts["theta"] = theta + parts.pop("pair") if "pair" in parts else theta
    return parts


def compiled_model(made: FitDesign, priors: Priors, cells: SampledCells, layout: ParameterLayout) -> Any:
    """Return the compiled model.

    Parameters
    ----------
    made : FitDesign
        The design.
    priors : Priors
        Prior SDs.
    cells : SampledCells
        The cells.
    layout : ParameterLayout
        The layout.

    Returns
    -------
    object
        nutpie's compiled model.
    """
    pymc, tensor, nutpie = load_libraries()
    with pymc.Model() as written:
        kept = ["standard"]
        standard, ratio = pymc.Normal("standard", 0.0, 1.0, shape=len(layout.given)), None
        if priors.learn:
            kept.append("ratio")
            ratio = pymc.HalfNormal("ratio", 2.0, shape=len(layout.learned))
        parts = split_parameters(layout.effects(tensor, standard, ratio), layout, made)
        at = parts["theta"][cells.comparison]
        if made.side >= 0:
            at = at + parts["side"] * cells.side
        if made.problem.replies:
            met = parts["reply"][cells.replies[:, 1]] - parts["reply"][cells.replies[:, 0]]
            at = at + (1.0 - cells.alone) * met
        alpha = tensor.exp(parts["log_alpha"])
        at = alpha[cells.slot, 0] * at
        if made.form == "vote":
            sd = _cell_sd(tensor, priors, layout, ratio, cells)
            at = at + sd * pymc.Normal("cell", 0.0, 1.0, shape=len(cells.slot))
        thresholds = tensor.dot(tensor.exp(parts["log_gap"]), made.problem.prompts.spread.T) + parts.get(
            "location", 0.0
        )
        pymc.Potential("votes", _log_likelihood(tensor, at, alpha * thresholds, cells))
    return nutpie.compile_pymc_model(written, var_names=kept)


def _cell_sd(tensor: Any, priors: Priors, layout: ParameterLayout, ratio: Any, cells: SampledCells) -> Any:
    """Of each cell's effect: where its replies have no place, theirs are part of it, as in `scales.pooled_sd`."""
    sd = priors.cell_sd * (1.0 if ratio is None else ratio[-1])
    if "reply" not in layout.learned:
        return sd
    of_reply = priors.reply_sd * (1.0 if ratio is None else ratio[list(layout.learned).index("reply")])
    return tensor.sqrt(sd**2 + 2.0 * of_reply**2 * cells.alone)


def _log_likelihood(tensor: Any, at: Any, level: Any, cells: SampledCells) -> Any:
    """at (n,) = alpha theta, level (J, E) = alpha b."""
    total = 0.0
    for (cell, edge, times), sign in ((cells.above, 1.0), (cells.below, -1.0)):
        x = at[cell] - level[cells.slot[cell], edge]
        total = total - (times * tensor.softplus(-sign * x)).sum()
    gap = tensor.maximum(level[:, 1:] - level[:, :-1], _SMALLEST_GAP)
    return total + (cells.inner * tensor.log(-tensor.expm1(-gap))).sum()
