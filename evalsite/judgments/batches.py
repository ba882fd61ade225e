"""Closing of batches: when full, when old, or after a stop when nothing is issued any more. Each requests a refit."""

from datetime import timedelta

from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.db import CLOCK_SET_BACK, write_transaction
from evalsite.judgments.models import Assignment, Batch


def batch_close_due(batch: Batch, *, ends_issue: bool) -> None:
    """Close the batch if it is due. Runs in the transaction that has written a judgment into the locked batch.

    `ends_issue` means that the judgment answered an issued assignment. After a stop, such answers are collected for one
    last refit. Later ones (late, or taken back) form ordinary batches.
    """
    due = batch.is_full
    if batch.is_after_stop:
        due = not has_open_assignments(batch.campaign_id) and (batch.is_full or ends_issue)
    if due:
        batch_close(batch)


def batch_close_last(campaign: Campaign) -> None:
    """Close the batch for the last refit if nothing is issued any more.

    Runs in a transaction that stops a campaign, or that ends an issue after its stop.
    """
    # Lock before the check: of a simultaneous answer and end of an issue, the second one sees that nothing is left.
    batch = Batch.objects.select_for_update().filter(campaign=campaign, state=Batch.State.OPEN).first()
    if batch is not None and not has_open_assignments(campaign.pk):
        batch_close(batch)


def has_open_assignments(campaign: int) -> bool:
    """Return whether any issued assignment may still be answered in time."""
    return Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).exists()


def batches_close_aged() -> None:
    """Close batches older than their campaign's batch age, so that a slow campaign still shows its newest state.

    A batch that collects answers issued before a stop waits for the last of them.
    """
    now = timezone.now()
    for batch in Batch.objects.filter(state=Batch.State.OPEN).select_related("campaign"):
        if -CLOCK_SET_BACK < now - batch.opened_at < timedelta(seconds=batch.campaign.batch_age_s):
            continue
        if batch.campaign.state == Campaign.State.STOPPED and has_open_assignments(batch.campaign_id):
            continue
        with write_transaction():
            still = Batch.objects.select_for_update().filter(pk=batch.pk, state=Batch.State.OPEN).first()
            if still is not None:
                batch_close(still)


def batch_close(batch: Batch) -> None:
    batch.state, batch.closed_at = Batch.State.CLOSED, timezone.now()
    batch.save(update_fields=["state", "closed_at"])
    refit_request(batch.campaign)
