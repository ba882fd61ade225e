"""The estimator of campaigns: what a campaign's plans and boards rest on, and what every replay measures with."""

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
    """Votes with an effect of their cell, the pairs' own effects, all scales learned; see `irt_engine.fit`. In marginal
    logits: how much of what votes leave open lies in replies and cells, a campaign's votes tell too late to be a unit.

    Net ratings are on another scale for a cell of one vote than for a cell of three, so a board that collects one here
    and three there is fitted vote by vote.
    With several `tiers` the chatbots are placed in them by a fit without, so that they follow from these votes alone,
    and in a second fit a prompt may discriminate otherwise in each. Fewer than two chatbots a tier are in none.
    `progress` is called by each fit after every iteration, as by `irt_engine.fit`.
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
