"""Marginal logits: a unit of ability that does not depend on the estimated effects of cells and replies.

A fit divides the noise of a vote into its own noise, the cell effect and the reply effects. Its abilities are in logits
given these effects: the larger they are estimated, the farther apart are the abilities. Votes with few repeated replies
hardly determine the division. In the data set oa_gpt4 the strongest chatbot has ability 2.0 with 1,500 votes on 20,000
items (SD of replies .6), and 3.5 with all votes (SD 2.1). In marginal (population-averaged) logits both are 1.8.

P(B) = E[sigma(x + e)] over e ~ N(0, v^2) is approximately sigma(x / sqrt(1 + c^2 v^2)), with c = 16 sqrt(3) / (15 pi)
(Zeger, Liang and Albert 1988, Biometrics 44, 1049-1060). A difference of abilities is then the log odds of one vote on
two new replies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from irt_engine.models.logit_units import unit_of
from irt_engine.posterior.moments import PosteriorMoments

Moments = TypeVar("Moments", bound=PosteriorMoments)
_ABILITIES = (
    "ability",
    "theta",
    "theta_se",
    "thresholds",
    "thresholds_se",
    "side",
    "side_se",
    "reply",
    "reply_se",
    "style",
    "style_se",
)
_SLOPES = ("discrimination", "discrimination_se", "tier_discrimination", "tier_discrimination_se")
_SDS = ("pair", "side", "reply", "location")


def in_marginal_logits(posterior: Moments) -> Moments:
    """Return the posterior in marginal logits.

    Values on the ability scale are divided by the unit, and discriminations are multiplied by it. Probabilities of
    votes do not change.

    Parameters
    ----------
    posterior : PosteriorMoments
        The posterior of a fit.

    Returns
    -------
    PosteriorMoments
        The converted posterior; the argument itself if it is converted already.

    References
    ----------
    S. L. Zeger, K.-Y. Liang and P. S. Albert (1988), Models for longitudinal data: a generalized estimating equation
    approach, Biometrics 44, 1049-1060.
    """
    scales = posterior.scales
    if scales.unit != 1.0:
        return posterior
    unit = unit_of(scales.fresh)

    values: dict[str, Any] = {name: getattr(posterior, name) / unit for name in _ABILITIES}
    values |= {name: getattr(posterior, name) / unit**2 for name in ("covariance", "theta_covariance")}
    values |= {name: getattr(posterior, name) * unit for name in _SLOPES}
    sds = {name: sd / unit for name in _SDS if (sd := getattr(scales, name)) is not None}
    return replace(posterior, **values, scales=replace(scales, unit=unit, **sds))
