"""Thresholds of a prompt from its parameters; they are ordered by construction, through log gaps.

Notation: phi (P,) = (log alpha, [tier effects], [location], log gaps). A prompt's log gaps are the sum of the common
ones and its own deviations; this module takes the sum. b_c = location + sum_k spread[c, k] exp(gap_k), c = 0..E - 1:
six thresholds for a net rating, and two for a vote.
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
    """Describe the parameters of a prompt and its thresholds.

    Parameters
    ----------
    name : str
        Name of the model.
    located : bool
        Whether a prompt has a location.
    spread : ndarray of float, shape (E, G)
        Weights with which the G gaps add up to the thresholds.
    tiers : int
        Number of tier effects T.
    """

    name: str
    located: bool
    spread: FloatArray
    tiers: int = 0

    @property
    def gaps(self) -> int:
        """Return the number of log gaps, G."""
        return int(self.spread.shape[1])

    @property
    def first_gap(self) -> int:
        """Return the index of the first log gap in phi."""
        return 1 + self.tiers + int(self.located)

    @property
    def location(self) -> slice:
        """Return the place of the location in phi; it is empty without one."""
        return slice(1 + self.tiers, self.first_gap)

    @property
    def size(self) -> int:
        """Return the number of parameters, P."""
        return self.first_gap + self.gaps

    def thresholds(self, phi: FloatArray) -> FloatArray:
        """Return the thresholds.

        Parameters
        ----------
        phi : ndarray of float, shape (n, P)
            Parameters.

        Returns
        -------
        ndarray of float, shape (n, E)
            Ascending thresholds.
        """
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
    """Return the prompt parameters of a model and form.

    Parameters
    ----------
    model : {"pair", "board"}
        The model.
    form : {"net", "vote"}
        The form.

    Returns
    -------
    PromptModel
        The description.
    """
    if form == "vote":
        return FREE_VOTE if model == "pair" else MIRRORED_VOTE
    return FREE if model == "pair" else MIRRORED
