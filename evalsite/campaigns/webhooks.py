"""Webhooks of a campaign: created, rotated and deleted by the people who run it, with entries in its audit log."""

import uuid
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.campaigns.events import CampaignEvent
from evalsite.campaigns.models import Campaign
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import InvalidInput
from evalsite.webhooks.models import Webhook
from evalsite.webhooks.selectors import webhook_get, webhooks_on
from evalsite.webhooks.services import webhook_create, webhook_delete, webhook_rotate


def campaign_webhook_create(
    *, campaign: Campaign, url: str, events: Sequence[str] | None = None, by: User
) -> tuple[Webhook, str]:
    """Create a webhook of this campaign. Return it with its secret, which is shown once.

    events: types of events; None: all that there are now. Raises InvalidInput, Conflict and TooMany.
    """
    wanted = _checked(CampaignEvent.values if events is None else events)
    with write_transaction():
        webhook, secret = webhook_create(user=by, url=url, subject=campaign.public_id, events=wanted)
        _log("add_webhook", webhook, by)
    return webhook, secret


def campaign_webhook_rotate(*, webhook: Webhook, by: User) -> str:
    """Create another secret and return it. The present one signs for 24 hours more. Raises TooMany."""
    with write_transaction():
        secret = webhook_rotate(webhook=webhook)
        _log("rotate_webhook", webhook, by)
    return secret


def campaign_webhook_delete(*, webhook: Webhook, by: User) -> None:
    """Delete a webhook with its secrets and its delivery log."""
    with write_transaction():
        webhook_delete(webhook=webhook)
        _log("delete_webhook", webhook, by)


def campaign_webhook_get(*, campaign: Campaign, public_id: uuid.UUID) -> Webhook:
    """Return a webhook of this campaign. Raises NotFound."""
    return webhook_get(public_id=public_id, among=webhooks_on(campaign.public_id))


def _checked(events: Sequence[str]) -> list[str]:
    """Return the events in the order of the list, each once. Raises InvalidInput."""
    known = ", ".join(CampaignEvent.values)
    unknown = sorted(set(events) - set(CampaignEvent.values))
    if unknown:
        raise InvalidInput(
            _("There is no event %(unknown)s.") % {"unknown": repr(unknown[0])},
            hint=_("Use one of: %(values)s.") % {"values": known},
            field="events",
        )
    if not events:
        raise InvalidInput(_("The webhook has no events."), hint=_("Choose at least one."), field="events")
    return [event for event in CampaignEvent.values if event in events]


def _log(act: str, webhook: Webhook, by: User) -> None:
    """Write the audit entry. It names the host only: the rest of an address may be secret."""
    assert webhook.subject is not None  # noqa: S101
    audit_record(act=act, subject=webhook.subject, by=by, target=urlsplit(webhook.url).hostname or "")
