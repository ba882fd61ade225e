"""Warm start of a fit: the end of an earlier fit, from which the next one starts.

A warm start shortens a fit. It never changes the result, because both fits solve the same equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np

from irt_engine.arrays import FloatArray, IntArray, frozen

_LABELS = ("model", "form", "chatbots", "comparisons", "prompts")
_INTEGERS = ("comparison", "prompt", "flip", "own")


@dataclass(frozen=True, slots=True, eq=False)
class WarmStart:
    """Store the state in which a fit ended.

    Names are kept, because the next table may have more chatbots, comparisons and prompts. Sizes: K abilities, C
    comparisons, J prompts, n stored cells, P parameters of a prompt, M chatbots.

    Parameters
    ----------
    model, form : str
        Model and form of the fit, as in `Posterior`.
    chatbots, prompts : tuple of str
        Chatbots (M,), empty for model pair, and prompts (J,).
    comparisons : tuple of (str, str, str or None)
        The two chatbots and the label of each comparison (C,).
    z : ndarray of float, shape (S,)
        Abilities (K), pair effects (C or none), side effect (1 or none) and common log gaps, one after another.
    log_sd : ndarray of float
        Log standard deviations of the effects, in the order of the fit.
    phi : ndarray of float, shape (J, P)
        Parameters of the prompts.
    excess_phi : ndarray of float, shape (J, P, P) or (0, P, P)
        Expected information of the prompts' parameters minus the information at the mean.
    excess_theta : ndarray of float, shape (n,)
        The same for theta of each stored cell.
    excess_cross : ndarray of float, shape (n, P)
        The same between theta and the prompt's parameters.
    comparison, prompt : ndarray of int, shape (n,)
        Comparison and prompt of each stored cell.
    flip : ndarray of int, shape (C,)
        1 where the fit reversed the orientation of the comparison.
    own : ndarray of int, shape (J,)
        1 where the prompt has parameters of its own.
    reply : ndarray of float, shape (J, M) or (0, 0)
        Effects of the replies.
    """

    model: str
    form: str
    chatbots: tuple[str, ...]
    comparisons: tuple[tuple[str, str, str | None], ...]
    prompts: tuple[str, ...]
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
        for name in ARRAYS:
            kind = np.int64 if name in _INTEGERS else np.float64
            object.__setattr__(self, name, frozen(getattr(self, name), kind))


ARRAYS = tuple(part.name for part in fields(WarmStart) if part.name not in _LABELS)
