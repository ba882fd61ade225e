"""Tiers: bands of ability, so that a prompt may discriminate among strong chatbots and not among weak ones.

Tier 0 is the strongest (Sedoc & Ungar 2020). A chatbot that changed its tier at every fit would move the votes of all
its prompts to other parameters. A chatbot therefore keeps its tier until the posterior is clear that it is beyond the
border.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtri

from irt_engine.arrays import FloatArray
from irt_engine.posterior import Posterior
from scheduler.errors import InvalidRequest

TIERS = 2  # as in the paper


def place(
    posterior: Posterior, *, count: int = TIERS, earlier: Mapping[str, int] | None = None, level: float = 0.9
) -> dict[str, int]:
    """Return the tier of every chatbot of a board, by name; 0 is the strongest.

    The borders cut the abilities into `count` bands of equal size; stronger bands get the remainder. A chatbot with an
    `earlier` tier leaves it when its ability is beyond the tier's border with a probability above `level`.

    Parameters
    ----------
    posterior : Posterior
        The fit of the board.
    count : int
        Number of tiers, at least 1.
    earlier : mapping of str to int, optional
        Tiers of the last fit, by name.
    level : float
        Probability from .5 to below 1.

    Returns
    -------
    dict of str to int
        Tier by name. The same arguments give the same tiers.

    Raises
    ------
    InvalidRequest
        For another count or level, or an earlier tier outside 0..count - 1.
    """
    given = dict(earlier or {})
    _check(count, level, given)
    ability, se = posterior.ability, posterior.se
    borders = _borders(ability, count)
    now = (ability[:, None] < borders).sum(axis=1)
    tiers = {}
    for m, name in enumerate(posterior.chatbots):
        before = min(given.get(name, int(now[m])), len(borders))
        tiers[name] = int(now[m]) if _left(ability[m], se[m], before, int(now[m]), borders, level) else before
    return tiers


def _check(count: int, level: float, earlier: Mapping[str, int]) -> None:
    if count < 1 or not 0.5 <= level < 1.0 or not all(0 <= tier < count for tier in earlier.values()):
        raise InvalidRequest(
            f"{count} tiers at level {level}, earlier ones {sorted(set(earlier.values()))}",
            code="bad_tiers",
            hint="at least 1 tier, a level from 0.5 to 1, earlier tiers from 0 to count - 1",
        )


def _borders(ability: FloatArray, count: int) -> FloatArray:
    """(count - 1,) falling: half-way between the weakest of a band and the strongest of the next."""
    ordered = np.sort(ability)[::-1]
    bands = [band for band in np.array_split(ordered, count) if len(band)]
    borders: FloatArray = np.array([(upper[-1] + lower[0]) / 2.0 for upper, lower in itertools.pairwise(bands)])
    return borders


def _left(ability: float, se: float, before: int, now: int, borders: FloatArray, level: float) -> bool:
    """Whether a chatbot is clearly beyond the border of its earlier tier on the way to where it stands now."""
    if now == before:
        return False
    border = borders[before - 1] if now < before else borders[before]
    return bool(abs(ability - border) > ndtri(level) * se)
