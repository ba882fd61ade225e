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
from typing import TypeVar

from irt_engine.models.logit_units import unit_of
from irt_engine.posterior.moments import PosteriorMoments

Moments = TypeVar("Moments", bound=PosteriorMoments)


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

    def less(sd: float | None) -> float | None:
        return None if sd is None else sd / unit

    return replace(
        posterior,
        ability=posterior.ability / unit,
        covariance=posterior.covariance / unit**2,
        theta=posterior.theta / unit,
        theta_se=posterior.theta_se / unit,
        theta_covariance=posterior.theta_covariance / unit**2,
        discrimination=posterior.discrimination * unit,
        discrimination_se=posterior.discrimination_se * unit,
        tier_discrimination=posterior.tier_discrimination * unit,
        tier_discrimination_se=posterior.tier_discrimination_se * unit,
        thresholds=posterior.thresholds / unit,
        thresholds_se=posterior.thresholds_se / unit,
        side=posterior.side / unit,
        side_se=posterior.side_se / unit,
        reply=posterior.reply / unit,
        reply_se=posterior.reply_se / unit,
        scales=replace(
            scales,
            unit=unit,
            pair=less(scales.pair),
            side=less(scales.side),
            reply=less(scales.reply),
            location=less(scales.location),
        ),
    )
