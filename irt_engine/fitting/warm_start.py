"""Warm start: where an earlier fit ended, as the state in which the next one starts.

The names are matched, because the next table may have more chatbots, prompts and votes. New cells, and prompts with new
cells, start without excess information. A warm start shortens the iterations; it never changes their result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.fitting.comparison_names import names_of
from irt_engine.fitting.state import FitState, Solution
from irt_engine.fitting.variational import no_excess
from irt_engine.models.parameters import Information, Point
from irt_engine.posterior.warm_start import WarmStart

if TYPE_CHECKING:
    from irt_engine.fitting.design import FitDesign
    from irt_engine.fitting.expectations import CellEvaluator

MOST_CELLS = 50_000  # with stored excess information, 2 MB; larger fits store none


def warm_start_of(made: FitDesign, found: Solution) -> WarmStart:
    """Return the warm start of the next fit.

    Parameters
    ----------
    made : FitDesign
        The problem that was solved, with the names of its parts.
    found : Solution
        Its solution.

    Returns
    -------
    WarmStart
        The means, the scales and the excess information by name.
    """
    cells, problem, state, excess = made.cells, made.problem, found.state, found.state.excess
    own = cells.prompt_slot != cells.shared
    prompt_of = np.full(problem.slots, -1)
    prompt_of[cells.prompt_slot[own]] = np.flatnonzero(own)
    kept = prompt_of[cells.slot] >= 0
    if kept.sum() > MOST_CELLS:
        kept[:] = False
    P = problem.prompts.size
    phi, excess_phi = np.zeros((len(own), P)), np.zeros((len(own), P, P))
    phi[own] = state.point.phi[cells.prompt_slot[own], :P]
    excess_phi[own] = excess.i_phi[cells.prompt_slot[own]]
    return WarmStart(
        model=made.model,
        form=made.form,
        chatbots=made.table.chatbots if made.board else (),
        comparisons=tuple(zip(*names_of(made.table, made.comparisons), strict=True)),
        prompts=made.table.prompts,
        z=_without_style(made, state.point.z),
        log_sd=np.delete(state.log_sd, _style_groups(made)),
        phi=phi,
        excess_phi=excess_phi if kept.any() else np.zeros((0, P, P)),
        excess_theta=excess.i_theta[kept],
        excess_cross=excess.cross[kept],
        comparison=cells.comparison[kept],
        prompt=prompt_of[cells.slot[kept]],
        flip=made.comparisons.flip.astype(np.int64),
        own=own.astype(np.int64),
        reply=_by_prompt(made, state.point.phi[:, P:]),
    )


def _by_prompt(made: FitDesign, effects: FloatArray) -> FloatArray:
    """(J, M) the replies' effects by prompt and chatbot, from those of slots (J', R); (0, 0) without."""
    replies = made.problem.replies
    if replies is None:
        return np.zeros((0, 0))
    return replies.by_chatbot(effects, made.abilities, 0.0)[made.cells.prompt_slot]


def state_of(made: FitDesign, start: WarmStart, cells: CellEvaluator) -> FitState | None:
    """Return the state in which a fit starts.

    Parameters
    ----------
    made : FitDesign
        The problem to solve.
    start : WarmStart
        The end of an earlier fit.
    cells : CellEvaluator
        The cells of the problem.

    Returns
    -------
    FitState or None
        None if the earlier fit has another model, form or set of effects.
    """
    if (start.model, start.form) != (made.model, made.form):
        return None
    warm = _with_style(made, _with_tiers(made, start))
    old = _Places.of(made, warm)
    if old is None or len(warm.log_sd) != len(cells.effects.start()):
        return None
    point = _point(made, warm, old)
    return FitState(point, cells.effects.restored(warm.log_sd), _excess(made, warm, old))


def _style_groups(made: FitDesign) -> list[int]:
    """The place of the effects of style among the groups of effects, as a list of one or none."""
    return [place for place, group in enumerate(made.effects.groups) if group.name == "style"]


def _without_style(made: FitDesign, z: FloatArray) -> FloatArray:
    """Shared parameters without the effects of style: they move little else, and another fit may have others."""
    return z if made.style is None else np.delete(z, made.style)


def _with_style(made: FitDesign, warm: WarmStart) -> WarmStart:
    """As if the earlier fit had had effects of style, with the SD as given."""
    for place in _style_groups(made):
        warm = replace(warm, log_sd=np.insert(warm.log_sd, place, made.effects.start()[place]))
    return warm


def _with_tiers(made: FitDesign, warm: WarmStart) -> WarmStart:
    """As if the earlier fit had had as many tiers as this one: none of their effects are known, and no information."""
    wide, P = made.problem.prompts, warm.phi.shape[1]
    had = P - (wide.size - wide.tiers)
    if had == wide.tiers:
        return warm
    none = np.zeros((len(warm.phi), wide.tiers))
    slope = warm.phi[:, :1] + (warm.phi[:, 1 : 1 + had].mean(axis=1, keepdims=True) if had else 0.0)
    names = [group.name for group in made.effects.groups if group.name != "style"]
    place = names.index("log_discrimination") + 1
    kept = np.delete(warm.log_sd, place) if had else warm.log_sd
    given = np.delete(made.effects.start(), _style_groups(made))[place : place + (wide.tiers > 0)]
    return replace(
        warm,
        phi=np.concatenate([slope, none, warm.phi[:, 1 + had :]], axis=1),
        log_sd=np.concatenate([kept[:place], given, kept[place:]]),
        excess_phi=np.zeros((0, wide.size, wide.size)),
        excess_theta=np.zeros(0),
        excess_cross=np.zeros((0, wide.size)),
        comparison=np.zeros(0, np.int64),
        prompt=np.zeros(0, np.int64),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where things were: index in the earlier fit, -1 for what is new."""

    ability: IntArray  # (K,)
    comparison: IntArray  # (C,)
    prompt: IntArray  # (J,)
    abilities: int
    pairs: int
    side: int

    @classmethod
    def of(cls, made: FitDesign, start: WarmStart) -> _Places | None:
        named = {name: i for i, name in enumerate(start.comparisons)}
        names = zip(*names_of(made.table, made.comparisons), strict=True)
        comparison = np.array([named.get(name, -1) for name in names])
        turned = (comparison >= 0) & (start.flip[comparison] != made.comparisons.flip)
        comparison[turned] = -1
        prompts = {name: j for j, name in enumerate(start.prompts)}
        prompt = np.array([prompts.get(name, -1) for name in made.table.prompts])
        prompt[(prompt >= 0) & (start.own[prompt] == 0)] = -1
        chatbots = {name: m for m, name in enumerate(start.chatbots)}
        ability = np.array([chatbots.get(n, -1) for n in made.table.chatbots]) if made.board else comparison
        abilities = len(start.chatbots) if made.board else len(start.comparisons)
        rest = len(start.z) - abilities - made.problem.prompts.gaps
        pairs = len(start.comparisons) if made.board and rest >= len(start.comparisons) else 0
        if rest - pairs not in (0, 1) or (made.pair is not None) != (pairs > 0):
            return None
        return cls(ability, comparison, prompt, abilities, pairs, rest - pairs)


def _point(made: FitDesign, warm: WarmStart, old: _Places) -> Point:
    problem, cells = made.problem, made.cells
    P, z, phi = problem.prompts.size, np.zeros(problem.shared_size), np.zeros((problem.slots, problem.width))
    z[: made.abilities] = _taken(warm.z[: old.abilities], old.ability)
    if made.pair is not None:
        z[made.pair] = _taken(warm.z[old.abilities : old.abilities + old.pairs], old.comparison)
    if made.side >= 0 and old.side:
        z[made.side] = warm.z[old.abilities + old.pairs]
    z[problem.common] = warm.z[len(warm.z) - problem.prompts.gaps :]
    own = cells.prompt_slot != cells.shared
    phi[cells.prompt_slot[own], :P] = _taken(warm.phi, old.prompt[own])
    if problem.replies is not None and warm.reply.size:
        by_chatbot = np.zeros((problem.slots, made.abilities))
        by_chatbot[cells.prompt_slot[own]] = _taken(_taken(warm.reply, old.prompt[own]).T, old.ability).T
        phi[:, P:] = np.where(
            problem.replies.there, np.take_along_axis(by_chatbot, np.maximum(problem.replies.chatbot, 0), axis=1), 0.0
        )
    return Point(z, phi)


def _taken(values: FloatArray, index: IntArray) -> FloatArray:
    """Rows of values, 0 where the index is -1."""
    taken: FloatArray = np.zeros((len(index), *values.shape[1:]))
    taken[index >= 0] = values[index[index >= 0]]
    return taken


def _excess(made: FitDesign, warm: WarmStart, old: _Places) -> Information:
    """That of the cells and prompts which were there."""
    cells, problem, excess = made.cells, made.problem, no_excess(made.problem)
    if not len(warm.excess_theta):
        return excess
    J = max(int(warm.prompt.max()) + 1, len(warm.own))
    kept = warm.comparison * J + warm.prompt
    order = np.argsort(kept)
    prompt_of = np.full(problem.slots, -1)
    own = cells.prompt_slot != cells.shared
    prompt_of[cells.prompt_slot[own]] = old.prompt[own]
    was, on = old.comparison[cells.comparison], prompt_of[cells.slot]
    code = was * J + on
    place = np.minimum(np.searchsorted(kept[order], code), len(kept) - 1)
    found: BoolArray = (was >= 0) & (on >= 0) & (kept[order][place] == code)
    whole = np.bincount(cells.slot, minlength=problem.slots) == np.bincount(cells.slot[found], minlength=problem.slots)
    whole &= prompt_of >= 0
    found &= whole[cells.slot]  # a slot's blocks must belong together, or its precision may not be positive
    excess.i_theta[found], excess.cross[found] = (
        warm.excess_theta[order][place[found]],
        warm.excess_cross[order][place[found]],
    )
    excess.i_phi[whole] = warm.excess_phi[prompt_of[whole]]
    return excess
