"""Tiers: bands of ability, so that a prompt may discriminate among strong chatbots and not among weak ones.

Tier 0 is the strongest (Sedoc & Ungar 2020). A chatbot that changed its tier at every fit would move the votes of all
its prompts to other parameters. A chatbot therefore keeps its tier until the posterior is clear that it is beyond the
border.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
from scipy.special import expit, ndtri

from irt_engine.arrays import FloatArray
from irt_engine.models.priors import DEFAULT_PRIORS
from irt_engine.posterior import Posterior
from irt_engine.responses import ResponseTable
from scheduler.errors import InvalidRequest

TIERS = 2  # as in the paper
LEAST_IN_TIER = 3  # chatbots; fewer hardly tell how a prompt discriminates among them
_STEPS, _TOLERANCE, _DIGITS = 100, 1e-10, 8


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


def tiers_of_votes(table: ResponseTable, count: int = TIERS) -> list[int]:
    """Return a tier for each chatbot before any fit; 0 is the strongest.

    The borders are those of `place`, of Bradley-Terry abilities: ties count as half a win for each side, and prompts
    and annotators have no effects. They depend on the votes alone, so a fit with these tiers depends on no earlier fit.

    Parameters
    ----------
    table : ResponseTable
        The votes on M chatbots.
    count : int
        Number of tiers, at least 1.

    Returns
    -------
    list of int, length M
        Tiers in the order of `table.chatbots`.

    Raises
    ------
    InvalidRequest
        For another count.

    References
    ----------
    R. A. Bradley and M. E. Terry (1952), Rank analysis of incomplete block designs, Biometrika 39, 324-345.
    """
    _check(count, 0.9, {})
    ability = _bradley_terry(table)
    tiers: list[int] = (ability[:, None] < _borders(ability, count)).sum(axis=1).tolist()
    return tiers


def _bradley_terry(table: ResponseTable) -> FloatArray:
    """(M,) the posterior mode under s ~ N(0, 1.5^2), by Newton's method."""
    M = len(table.chatbots)
    wins = np.zeros((M, M))
    np.add.at(wins, (table.b, table.a), 0.5 * (1.0 + table.outcome))
    np.add.at(wins, (table.a, table.b), 0.5 * (1.0 - table.outcome))
    met, precision, ability = wins + wins.T, DEFAULT_PRIORS.ability_sd**-2, np.zeros(M)
    for _ in range(_STEPS):
        chance = expit(ability[:, None] - ability)
        gradient = wins.sum(axis=1) - (met * chance).sum(axis=1) - precision * ability
        curvature = met * chance * (1.0 - chance)
        step = np.linalg.solve(np.diag(curvature.sum(axis=1) + precision) - curvature, gradient)
        ability = ability + step / max(1.0, float(np.abs(step).max()))
        if float(np.abs(step).max()) < _TOLERANCE:
            break
    return np.round(ability, _DIGITS)  # equal ones by rounding errors alone are equal


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
