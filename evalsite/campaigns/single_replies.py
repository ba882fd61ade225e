"""Screening of campaigns that judge replies one at a time: it rests on several annotators of a reply, or on gold."""

from django.utils.translation import gettext as _

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.plans import PlanOptions
from evalsite.core.errors import InvalidInput


def has_screening_data(plan: PlanOptions, votes_per_item: int, *, by_gold: bool) -> bool:
    """Return whether several annotators judge a reply, or gold excludes. Otherwise nobody is screened."""
    return by_gold or votes_per_item > 1 or plan.overlap_share > 0.0


def screening_data_check(plan: PlanOptions, votes_per_item: int, *, by_gold: bool) -> None:
    """Raise InvalidInput if rules may exclude annotators of replies, but neither overlap nor gold checks them."""
    if not has_screening_data(plan, votes_per_item, by_gold=by_gold):
        raise InvalidInput(
            _("Annotators cannot be screened: no reply is judged by two of them."),
            hint=_("Have a share judged by several, set how much gold is to be passed, or exclude nobody by rule."),
            field="screening",
            code="no_overlap",
        )


def screens_blindly(campaign: Campaign, plan: PlanOptions) -> bool:
    """Return whether screening is on although no data separates careful from careless annotators."""
    by_gold = bool(campaign.gold_share) and campaign.gold_mark is not None
    off = campaign.screening == Campaign.Screening.OFF
    return not (off or has_screening_data(plan, campaign.votes_per_item, by_gold=by_gold))
