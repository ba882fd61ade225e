"""How a prompt's parameters become its six thresholds; ordered by construction, through log gaps.

Notation: phi (P,) = (log alpha, [effects of tiers, see `parts`], [location], log gaps); a prompt's log gaps are the
common ones plus its own deviation, and everything in this file takes the sum. b_c = location + sum_k spread[c, k]
exp(gap_k), c = 0..E - 1: six thresholds for a net rating, two for a vote.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray
from irt_engine.models.graded_response import EDGES

FARTHEST = 12.0  # e^12 = 160,000: no prompt is there, only a line search's trial steps are


def _exp(log: FloatArray) -> FloatArray:
    """exp without overflow, so that a trial step too far is a bad value and not a warning."""
    return np.exp(np.clip(log, -FARTHEST, FARTHEST))


@dataclass(frozen=True, slots=True, eq=False)
class PromptModel:
    """One shape of thresholds. `spread` (E, G) says how the G gaps add up to the thresholds."""

    name: str
    located: bool
    spread: FloatArray
    tiers: int = 0

    @property
    def gaps(self) -> int:
        """G, the number of log gaps."""
        return int(self.spread.shape[1])

    @property
    def first_gap(self) -> int:
        """Where the log gaps begin in phi."""
        return 1 + self.tiers + int(self.located)

    @property
    def location(self) -> slice:
        """Where the location is in phi: nowhere without one."""
        return slice(1 + self.tiers, self.first_gap)

    @property
    def size(self) -> int:
        """P, the length of phi."""
        return self.first_gap + self.gaps

    def thresholds(self, phi: FloatArray) -> FloatArray:
        """(n, P) -> (n, E), increasing along the last axis."""
        b: FloatArray = _exp(phi[:, self.first_gap :]) @ self.spread.T
        if self.located:
            b += phi[:, self.location]
        return b


def _free() -> PromptModel:
    """Five gaps around a location in the middle of the tie category: six free, ordered thresholds."""
    spread = np.zeros((EDGES, 5))
    spread[2, 2], spread[3, 2] = -0.5, 0.5
    for c in (1, 0):
        spread[c] = spread[c + 1]
        spread[c, c] = -1.0
    for c in (4, 5):
        spread[c] = spread[c - 1]
        spread[c, c - 1] = 1.0
    return PromptModel("pair", located=True, spread=spread)


def _mirrored() -> PromptModel:
    """Three half-widths and their mirror image, b_c = -b_{1-c} in net ratings: swapping A and B changes only signs."""
    widths = np.tril(np.ones((3, 3)))
    return PromptModel("board", located=False, spread=np.vstack([-widths[::-1], widths]))


def _tie(*, located: bool) -> PromptModel:
    """A single vote: one half-width of the tie category, around a location or around 0."""
    return PromptModel("pair vote" if located else "board vote", located=located, spread=np.array([[-1.0], [1.0]]))


FREE = _free()
MIRRORED = _mirrored()
FREE_VOTE = _tie(located=True)
MIRRORED_VOTE = _tie(located=False)


def prompt_model(model: str, form: str) -> PromptModel:
    """The thresholds of model pair or board under observation form net or vote."""
    if form == "vote":
        return FREE_VOTE if model == "pair" else MIRRORED_VOTE
    return FREE if model == "pair" else MIRRORED
