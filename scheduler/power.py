"""How precisely two chatbots must be known for a board to tell them apart. Needs the standard library alone.

A board tells two apart by the sequential p of `irt_engine.posterior` for any number of looks (notation as there): d is
the true difference, and the votes alone say S ~ N(I d, I) about it. p is at most alpha where

    |S| >= (2 (I + rho) (log(1 / alpha) + log(1 + I / rho) / 2))^(1/2).
"""

from __future__ import annotations

import math

ABILITY_SD = 1.5  # of the prior that boards are fitted under
TYPICAL_DIFFERENCE = 1.0  # as in `irt_engine.posterior`
_HALVINGS = 100  # of the logarithm of I: to the last digit


def difference_se(difference: float, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """The SE of a difference at which a board's p for a pair that differs by so much is alpha or less with `power`.

    For one pair by itself: the step-up over all pairs of a board asks for more. difference > 0 in units of ability,
    0 < alpha < power < 1.
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
