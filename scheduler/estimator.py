"""The estimator of campaigns: the fit for plans, boards and replays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from irt_engine import FitResult, Posterior, Priors, ResponseTable, WarmStart, fit_with_warm_start
from scheduler.tiers import place

# Six sets of real votes have pair effects of .02 to .08 and one of .30; four have effects of replies of .6 to 2.1, and
# beside them cell effects of .03 to .4. Most votes of an adaptive campaign are alone in their cell, and two on the same
# reply are few: wide priors let both SDs run away with the scale of the abilities. In 180 campaigns of 240 votes, drawn
# with effects of replies of SD .7, 95 % intervals cover .926 with this width, .917 with twice as much, and .941 with
# the SDs given.
CAMPAIGN_PRIORS = Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5)


def estimate(
    table: ResponseTable,
    start: WarmStart | None = None,
    seed: int = 0,
    *,
    tiers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Posterior:
    """Fit a campaign's votes: with effects of cells and pairs, and all scales estimated; see `irt_engine.fit`.

    A board that collects one vote here and three there is fitted vote by vote, because net ratings of one vote and of
    three are on different scales. Abilities are in marginal logits: the unit of a vote on two replies that nobody has
    judged before.

    Parameters
    ----------
    table : ResponseTable
        The votes.
    start : WarmStart, optional
        The end of the last fit, to start from.
    seed : int
        Seed of the fit.
    tiers : int
        Tiers of ability in which a prompt may discriminate differently. With several, a first fit places the chatbots
        and a second one is made with these tiers. Fewer than two chatbots per tier are fitted without tiers.
    progress : callable, optional
        Called with the finished percentage and 100, by each fit.

    Returns
    -------
    Posterior
        The fit, in marginal logits.
    """
    return estimate_with_warm_start(table, start, seed, tiers=tiers, progress=progress).posterior


def estimate_with_warm_start(
    table: ResponseTable,
    start: WarmStart | None = None,
    seed: int = 0,
    *,
    tiers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> FitResult:
    """Fit a campaign's votes, and return the warm start of the next fit too.

    Parameters
    ----------
    table, start, seed, tiers, progress
        The arguments of `estimate`.

    Returns
    -------
    FitResult
        The posterior in marginal logits, and the warm start.
    """

    def fitted(start: WarmStart | None, labels: list[int] | None) -> FitResult:
        return fit_with_warm_start(
            table, "board", form="vote", priors=CAMPAIGN_PRIORS, start=start, tiers=labels, seed=seed, progress=progress
        )

    found = fitted(start, None)
    if tiers >= 2 and len(table.chatbots) >= 2 * tiers:
        placed = place(found.posterior, count=tiers)
        found = fitted(found.warm_start, [placed[name] for name in table.chatbots])
    return replace(found, posterior=found.posterior.marginal())
