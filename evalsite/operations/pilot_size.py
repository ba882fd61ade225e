"""Size of a pilot in judgments.

The results of a pilot are in `refits.pilot_summary`, which only the worker loads.
"""

import math

from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.errors import InvalidInput
from evalsite.core.number_format import whole


def pilot_size(campaign: Campaign, judgments: int | None, share: float | None) -> int:
    """Return the number itself, or a share of the budget; without a budget, a share of all questions.

    Raises InvalidInput.
    """
    if (judgments is None) == (share is None):
        raise InvalidInput(
            _("A pilot needs a size."), hint=_("Give its judgments, or its share of the campaign's."), field="judgments"
        )
    most = campaign.stopping.budget or _questions(campaign)
    if share is not None and not 0.0 < share < 1.0:
        raise InvalidInput(
            _("%(share)s is no share.") % {"share": f"{share:g}"}, hint=_("Give one between 0 and 1."), field="share"
        )
    size = judgments if judgments is not None else math.ceil((share or 0.0) * most)
    if not 1 <= size < most:
        raise InvalidInput(
            _("A pilot of %(size)s of %(most)s judgments is none.") % {"size": whole(size), "most": whole(most)},
            hint=_("Ask fewer than all of them."),
            field="judgments",
        )
    return size


def _questions(campaign: Campaign) -> int:
    """Return the number of possible judgments."""
    chatbots = campaign.entrants.filter(state=Entrant.State.ACTIVE).count()
    prompts = campaign.prompt_set.prompts.filter(corrected_by__isnull=True).count()
    return math.comb(chatbots, 2) * prompts * campaign.votes_per_item
