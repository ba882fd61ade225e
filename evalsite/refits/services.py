"""Close campaigns, raise and clear alarms, and request the jobs that follow a refit."""

import logging
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import campaign_stop
from evalsite.core.db import write_transaction
from evalsite.core.jobs import job_enqueue
from evalsite.core.reasons import as_stored
from evalsite.judgments.batches import batch_close_last
from evalsite.judgments.queue import queue_close
from evalsite.refits.models import Alarm
from scheduler.reasons import Reason

log = logging.getLogger(__name__)
LONGEST_MESSAGE = 2000
FINDINGS = "findings"
SLICES = "slices"
PILOT = "pilot"
NOTICE = "notice"  # Notices to owners; `operations` handles this job.
EXCLUSION = "exclusion"  # The board without an annotator: an inquiry.


def campaign_close(*, campaign: Campaign, reason: str | Reason, by: User | None = None, notify: bool = True) -> None:
    """Stop the campaign, withdraw its queued assignments and close its last batch.

    notify: whether to notify the owners.
    """
    with write_transaction():
        campaign_stop(campaign=campaign, reason=reason, by=by)
        queue_close(campaign=campaign)
        batch_close_last(campaign)
        if notify:
            notice_request(campaign, "stop")


def alarm_raise(*, campaign: Campaign, message: str | Reason, about: Alarm.About = Alarm.About.LOOP) -> None:
    """Report a failure of the campaign's refits or slices. An open alarm counts repeated failures."""
    text, data = as_stored(message)
    text = text[:LONGEST_MESSAGE]
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        again = Alarm.objects.filter(campaign=campaign, about=about, cleared_at=None)
        now = {"failed_at": timezone.now(), "message": text, "reason_data": data}
        if not again.update(failures=F("failures") + 1, **now):
            alarm = Alarm.objects.create(campaign=campaign, about=about, message=text, reason_data=data)
            notice_request(campaign, f"alarm {alarm.pk}", alarm=alarm.pk)
            log.error("campaign %s: the %s: %s", campaign.slug, about, text)


def alarm_clear(*, campaign: Campaign, about: Alarm.About = Alarm.About.LOOP) -> None:
    """Clear the alarm after the refits or the slices succeed again."""
    raised = Alarm.objects.filter(campaign=campaign, about=about, cleared_at=None)
    if raised.exists():  # First without a lock, because this runs after every refit.
        with write_transaction():
            raised.update(cleared_at=timezone.now())


def failure(error: Exception) -> Reason:
    """Return an error as a reason; `error_code` is the error's own code, where it has one."""
    message = str(error)[:LONGEST_MESSAGE]
    return Reason(
        "failed", {"error": type(error).__name__, "message": message, "error_code": getattr(error, "code", "")}
    )


def notice_request(campaign: Campaign, occasion: str, **args: Any) -> None:
    """Request a notice to the campaign's owners, if there is something to report.

    occasion: "stop", "progress" or "alarm" with its number.
    """
    job_enqueue(
        kind=NOTICE,
        key=f"{NOTICE}:{campaign.pk}:{occasion}",
        args={"campaign": campaign.pk, "occasion": occasion, **args},
    )


def findings_request(campaign: Campaign, *, wait: timedelta = timedelta(0)) -> None:
    """Request new findings about annotators and prompts, after the queued refits."""
    job_enqueue(kind=FINDINGS, key=f"{FINDINGS}:{campaign.pk}", args={"campaign": campaign.pk}, wait=wait)


def slices_request(campaign: Campaign) -> None:
    """Request new fits of the board's slices, after the queued refits."""
    job_enqueue(kind=SLICES, key=f"{SLICES}:{campaign.pk}", args={"campaign": campaign.pk})


def pilot_summary_request(campaign: Campaign) -> None:
    """Request the summary of the pilot."""
    job_enqueue(kind=PILOT, key=f"{PILOT}:{campaign.pk}", args={"campaign": campaign.pk})
