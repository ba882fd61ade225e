"""Marginal logits: the unit in which a board does not depend on how much of its noise was given a name.

A fit splits what one vote leaves open into the vote's own noise, what the votes of a cell share, and what the two
replies are worth. Its abilities are in logits given the latter two, and the more it makes of these, the farther apart
it puts the chatbots: the same verdicts, in another unit. Votes that meet few replies twice hardly tell the split. On
oa_gpt4 the strongest chatbot stands at 2.0 by 1,500 votes on 20,000 items (SD of replies .6), and at 3.5 by all of them
(2.1), with SEs that know nothing of it.

In marginal (population-averaged) logits both are 1.8. P(B) = E[sigma(x + e)] over e ~ N(0, v^2) is nearly that of
x / sqrt(1 + c^2 v^2), c = 16 sqrt(3) / (15 pi) (Zeger, Liang & Albert 1988, Biometrics 44, 1049-1060): a difference of
abilities is then the log odds of one vote on two replies that nobody has judged yet.
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
