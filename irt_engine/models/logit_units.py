"""The unit of abilities: conditional and marginal logits.

P(B) = E[sigma(x + e)] over e ~ N(0, v^2) is nearly that of x / sqrt(1 + c^2 v^2), c = 16 sqrt(3) / (15 pi)
(Zeger, Liang & Albert 1988, Biometrics 44, 1049-1060).
"""

from __future__ import annotations

import math

_C2 = (16.0 * math.sqrt(3.0) / (15.0 * math.pi)) ** 2


def unit_of(fresh: float) -> float:
    """Return the size of a marginal logit, in conditional logits.

    Parameters
    ----------
    fresh : float
        SD of the effects that a vote on two new replies has in common, in conditional logits.

    Returns
    -------
    float
        sqrt(1 + c^2 fresh^2) with c = 16 sqrt(3) / (15 pi).

    References
    ----------
    S. L. Zeger, K.-Y. Liang and P. S. Albert (1988), Models for longitudinal data: a generalized estimating equation
    approach, Biometrics 44, 1049-1060.
    """
    return math.sqrt(1.0 + _C2 * fresh**2)
