"""Sizes and costs of a live study in all settings side by side: an inquiry, answered by the worker.

Web processes load this module.
"""

import uuid

from evalsite.boards.analysis_plans import size_setting
from evalsite.boards.models import AnalysisPlan
from evalsite.campaigns.models import Campaign, Entrant
from evalsite.core.inquiries import inquiry_ask
from evalsite.core.models import Inquiry

STUDY_SIZES = "study_sizes"


def study_sizes_ask(campaign: Campaign, plan: AnalysisPlan, *, by: uuid.UUID) -> Inquiry:
    """Request the sizes of all settings for the campaign's chatbots, pay and pace.

    Conversations are taken to have their minimum of turns. Raises TooMany for too many requests.
    """
    live = campaign.live
    counted = live.minimum_turns - (0 if live.count_first_turn else 1)
    args = {
        "chosen": size_setting(live),
        "chatbots": max(campaign.entrants.filter(state=Entrant.State.ACTIVE).count(), 1),
        "difference": plan.difference,
        "alpha": plan.alpha,
        "power": plan.power,
        "baseline": plan.baseline,
        "discordance": plan.discordance,
        "counted_turns": max(counted, 1),
        "paid_turns": live.minimum_turns,
        "pay": float(campaign.pay_rate),
        "pay_per": live.pay_per,
        "per_day": campaign.per_day,
    }
    return inquiry_ask(kind=STUDY_SIZES, args=args, by=by, subject=campaign.public_id)
