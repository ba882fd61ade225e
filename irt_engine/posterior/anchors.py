"""Anchored: a posterior as it is shown, with one chatbot or the mean at a stated value.

Abilities are identified up to a shift in each group, and a posterior keeps them minus the mean of the group. An
anchor moves what is shown, so that the scale stays where it was between refits; it is no estimate and has no
uncertainty, so it changes no SE. How far apart two chatbots are, and how sure that is, is `Posterior.difference`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from irt_engine.arrays import FloatArray, frozen, is_number
from irt_engine.errors import EngineError

if TYPE_CHECKING:
    from irt_engine.posterior.posterior import Posterior


@dataclass(frozen=True, slots=True, eq=False)
class Anchored:
    """A view of `posterior`: ability (M,) = posterior.ability + shift (M,); one shift for each group."""

    posterior: Posterior
    ability: FloatArray
    shift: FloatArray

    @property
    def se(self) -> FloatArray:
        """(M,) as the posterior's: of each ability minus the mean of its group."""
        return self.posterior.se

    def interval(self, level: float = 0.95) -> FloatArray:
        """(M, 2) the posterior's intervals, moved. Raises EngineError unless 0 < level < 1."""
        moved: FloatArray = self.posterior.interval(level) + self.shift[:, None]
        return moved


def anchored(posterior: Posterior, chatbot: int | None, value: float) -> Anchored:
    """See `Posterior.anchored`; chatbot is an index, or None for the mean."""
    if not (is_number(value) and math.isfinite(value)):
        raise EngineError(f"the anchor's value is {value}", code="bad_anchor", hint="give a finite number, such as 0")
    shift = np.full(len(posterior.chatbots), float(value))
    if chatbot is not None:
        shift[posterior.group == posterior.group[chatbot]] -= posterior.ability[chatbot]
    ability = posterior.ability + shift
    if chatbot is not None:
        ability[chatbot] = value  # exactly, whatever rounding does
    return Anchored(posterior, frozen(ability, np.float64), frozen(shift, np.float64))
