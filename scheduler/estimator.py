"""The estimator of campaigns: the fit that plans, boards and replays rest on."""

from __future__ import annotations

from collections.abc import Callable

from irt_engine import Posterior, Priors, ResponseTable, fit
from scheduler.tiers import place

# Six sets of real votes have pair effects of .02 to .08 and one of .30; four have effects of replies of .6 to 2.1, and
# beside them cell effects of .03 to .4. Most votes of an adaptive campaign are alone in their cell, and two on the same
# reply are few: wide priors let both SDs run away with the scale of the abilities. In 180 campaigns of 240 votes, drawn
# with effects of replies of SD .7, 95 % intervals cover .926 with this width, .917 with twice as much, and .941 with
# the SDs given.
CAMPAIGN_PRIORS = Priors(cell_sd=0.25, pair_sd=0.1, shared_width=0.5)


def estimate(
    table: ResponseTable,
    start: Posterior | None = None,
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
    start : Posterior, optional
        The last fit, to start from.
    seed : int
        Seed of the fit.
    tiers : int
        Tiers of ability in which a prompt may discriminate differently. With several, a first fit places the chatbots
        and a second one is made with these tiers. Fewer than two chatbots per tier are fitted without tiers.
    progress : callable, optional
        Called with the iteration and the largest number of iterations, by each fit.

    Returns
    -------
    Posterior
        The fit, in marginal logits.
    """
    found = fit(table, "board", form="vote", priors=CAMPAIGN_PRIORS, start=start, seed=seed, progress=progress)
    if tiers < 2 or len(table.chatbots) < 2 * tiers:
        return found.marginal()
    placed = place(found, count=tiers)
    labels = [placed[name] for name in table.chatbots]
    again = fit(
        table, "board", form="vote", priors=CAMPAIGN_PRIORS, start=found, tiers=labels, seed=seed, progress=progress
    )
    return again.marginal()
