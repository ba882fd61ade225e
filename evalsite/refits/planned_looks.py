"""The number of looks at a board whose campaigns have stopped (docs/decisions/0017)."""

import math
from collections.abc import Collection, Sequence

from evalsite.campaigns.models import Campaign


def looks_planned(campaigns: Sequence[Campaign]) -> int | None:
    """Return how many looks the campaigns of a board planned together: one for each batch of their budgets.

    It is None while one of them may collect again, and if one has no budget: then nothing limits the number of looks. A
    standing campaign opens again whenever a chatbot joins.
    """
    planned = [_planned(campaign) for campaign in campaigns]
    known = [looks for looks in planned if looks is not None]
    return sum(known) if known and len(known) == len(planned) else None


def _planned(campaign: Campaign) -> int | None:
    if campaign.state != Campaign.State.STOPPED or campaign.standing:
        return None
    budget = campaign.stopping.budget
    return None if budget is None else max(1, math.ceil(budget / campaign.batch_size))


def looks_at_stop(planned: int | None, inputs: Collection[str], current: str) -> int | None:
    """Return the larger of planned and taken looks; None if none are planned.

    inputs: hashes of the inputs of all snapshots so far. The same votes are one look, however often they are published.
    current: hash of the input of this look.
    """
    return None if planned is None else max(planned, len({*inputs, current}))
