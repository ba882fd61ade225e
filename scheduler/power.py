"""Power of a sequential comparison: the SE at which a board tells two chatbots apart. Needs the standard library alone.

A board tells two chatbots apart by the sequential p-value of `irt_engine` for any number of tests. With the true
difference d, the votes alone give S ~ N(I d, I) of information I. The p-value is at most alpha where

    |S| >= (2 (I + rho) (log(1 / alpha) + log(1 + I / rho) / 2))^(1/2).
"""

from __future__ import annotations

import math

ABILITY_SD = 1.5  # of the prior that boards are fitted under
TYPICAL_DIFFERENCE = 1.0  # as in `irt_engine.posterior`
_HALVINGS = 100  # of the logarithm of I: to the last digit


def difference_se(difference: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the SE of a difference at which a pair that differs by so much has p <= alpha with the given power.

    It holds for one pair by itself: the correction for all pairs of a board asks for a smaller SE.

    Parameters
    ----------
    difference : float
        True difference in units of ability, above 0.
    power : float
        Probability of telling the pair apart, between alpha and 1.
    alpha : float
        Level of the test.

    Returns
    -------
    float
        The SE, in units of ability.
    """
    difference = min(max(difference, 1e-100), 1e100)
    low, high = math.log(1e-6) - 2.0 * math.log(difference), math.log(1e6 / difference**2 + 1.0)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _power(difference, math.exp(middle), alpha) < power else (low, middle)
    return 1.0 / math.sqrt(math.exp(high) + 0.5 / ABILITY_SD**2)


def _power(difference: float, information: float, alpha: float) -> float:
    """P(p <= alpha) at this I, on either side."""
    rho = TYPICAL_DIFFERENCE**-2.0
    needed = 2.0 * (1.0 + rho / information) * (0.5 * math.log1p(information / rho) - math.log(alpha))
    z, expected = math.sqrt(needed), difference * math.sqrt(information)
    return _below(expected - z) + _below(-expected - z)


def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
