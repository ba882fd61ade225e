"""Anchored abilities: a posterior with one chatbot, or the mean, at a stated value.

Abilities are identified up to a shift in each group, and a posterior stores them minus the group's mean. An anchor
shifts what is shown, so that the scale is stable between refits. It is no estimate and changes no standard error. For
the difference of two chatbots, see `Posterior.difference`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from irt_engine.arrays import FloatArray, frozen, is_number
from irt_engine.errors import EngineError
from irt_engine.posterior.moments import PosteriorMoments


@dataclass(frozen=True, slots=True, eq=False)
class Anchored:
    """View a posterior with shifted abilities.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    ability : ndarray of float, shape (M,)
        posterior.ability + shift.
    shift : ndarray of float, shape (M,)
        One shift per group.
    """

    posterior: PosteriorMoments
    ability: FloatArray
    shift: FloatArray

    @property
    def se(self) -> FloatArray:
        """Return the standard errors (M,) of the posterior."""
        return self.posterior.se

    def interval(self, level: float = 0.95) -> FloatArray:
        """Return the shifted intervals of the posterior.

        Parameters
        ----------
        level : float
            Probability of each interval.

        Returns
        -------
        ndarray of float, shape (M, 2)
            Lower and upper bounds.

        Raises
        ------
        EngineError
            If the level is not between 0 and 1 (``bad_level``).
        """
        moved: FloatArray = self.posterior.interval(level) + self.shift[:, None]
        return moved


def anchored(posterior: PosteriorMoments, chatbot: int | None, value: float) -> Anchored:
    """Return a view of a posterior; see `Posterior.anchored`.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior.
    chatbot : int or None
        Index of the chatbot at the value; None for the mean of each group.
    value : float
        The value, in units of ability.

    Returns
    -------
    Anchored
        The view.

    Raises
    ------
    EngineError
        If the value is not finite (``bad_anchor``).
    """
    if not (is_number(value) and math.isfinite(value)):
        raise EngineError(f"the anchor's value is {value}", code="bad_anchor", hint="give a finite number, such as 0")
    shift = np.full(len(posterior.chatbots), float(value))
    if chatbot is not None:
        shift[posterior.group == posterior.group[chatbot]] -= posterior.ability[chatbot]
    ability = posterior.ability + shift
    if chatbot is not None:
        ability[chatbot] = value  # exactly, whatever rounding does
    return Anchored(posterior, frozen(ability, np.float64), frozen(shift, np.float64))
