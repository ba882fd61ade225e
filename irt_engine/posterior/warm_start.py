"""The part of a posterior from which the next fit starts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, frozen


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """K abilities, C comparisons (0 pair effects where the fit has none), J prompts, n kept cells, P parameters each.

    z holds (abilities, pair effects, side, common log gaps) one after another; log_sd the scales in the fit's order.
    reply (J, M) are the replies' effects by chatbot, (0, 0) where the fit has none.
    flip (C,) is 1 where a comparison was turned; own (J,) is 1 where a prompt had parameters of its own.
    excess_theta (n,), excess_cross (n, P) and excess_phi (J, P, P), or (0, P, P): of the information under q.
    """

    z: FloatArray
    log_sd: FloatArray
    phi: FloatArray
    excess_phi: FloatArray
    excess_theta: FloatArray
    excess_cross: FloatArray
    comparison: IntArray
    prompt: IntArray
    flip: IntArray
    own: IntArray
    reply: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    def __post_init__(self) -> None:
        for part in fields(self):
            kind = np.int64 if part.name in ("comparison", "prompt", "flip", "own") else np.float64
            object.__setattr__(self, part.name, frozen(getattr(self, part.name), kind))
