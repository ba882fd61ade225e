"""Events of a campaign that its webhooks are told: changes of its state, of its board and of its annotators."""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act, allows, role_of
from evalsite.core.reasons import StoredReason, as_stored, reason_code, reason_text
from evalsite.webhooks.selectors import webhooks_on
from evalsite.webhooks.services import WebhookEvent, event_record
from scheduler.reasons import Reason


class CampaignEvent(models.TextChoices):
    """Types of events, as messages name them."""

    STATE = "campaign.changed", _("The campaign starts, pauses, resumes or stops")
    BOARD = "board.published", _("The board has new results")
    ANNOTATOR = "annotator.changed", _("An annotator is excluded or re-admitted, or the screening proposes it")


def campaign_tell(
    *, campaign: Campaign, event: CampaignEvent, about: uuid.UUID, at: datetime, data: Callable[[], Mapping[str, Any]]
) -> None:
    """Queue a message to each webhook of the campaign, in the transaction of the event.

    data: the content beside the campaign, called in the language of each receiver. Webhooks of people who may no longer
    manage webhooks here are told nothing.
    """
    webhooks = webhooks_on(campaign.public_id)
    told = [one.pk for one in webhooks if allows(role_of(one.user, campaign), Act.WEBHOOKS)]
    if told:
        message = WebhookEvent(event, about, at, lambda: {"campaign": campaign.slug, **data()})
        event_record(webhooks=webhooks.filter(pk__in=told), event=message)


def state_tell(campaign: Campaign, before: str, reason: str | Reason | StoredReason = "") -> None:
    """Tell that the state has changed from `before`, if it has."""
    if campaign.state == before:
        return
    state, kept = str(campaign.state), as_stored(reason)
    campaign_tell(
        campaign=campaign,
        event=CampaignEvent.STATE,
        about=campaign.public_id,
        at=timezone.now(),
        data=lambda: {
            "state": state,
            "before": str(before),
            **reason_told(kept),
            "url": f"{settings.SITE_URL}/console/{campaign.public_id}/",
        },
    )


def reason_told(reason: StoredReason) -> dict[str, str]:
    """Return a reason in the active language, with its code. The code is blank for a person's own words."""
    return {"reason": reason_text(reason.text, reason.data), "reason_code": reason_code(reason.data)}
