"""When a batch closes, and a refit is asked for: full, or old; after a stop, once nothing is issued any more."""

from datetime import timedelta

from django.utils import timezone

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import refit_request
from evalsite.core.db import CLOCK_SET_BACK, write_transaction
from evalsite.judgments.models import Assignment, Batch


def batch_close_due(batch: Batch, *, ends_issue: bool) -> None:
    """Part of the transaction that has written a judgment into the batch, which is locked: close it if it is time.

    ends_issue: the judgment answered what was still issued. After a stop such answers gather for one last refit; what
    comes when nothing is issued any more (late, or taken back) is a batch like any other.
    """
    due = batch.is_full
    if batch.is_after_stop:
        due = not is_awaited(batch.campaign_id) and (batch.is_full or ends_issue)
    if due:
        _close(batch)


def batch_close_last(campaign: Campaign) -> None:
    """Part of a transaction that stops a campaign, or ends an issue after its stop: if nothing is issued any more, what
    has gathered is closed for the last refit."""
    # Locked and then looked at: of an answer and an end at once the second sees that nothing is left.
    batch = Batch.objects.select_for_update().filter(campaign=campaign, state=Batch.State.OPEN).first()
    if batch is not None and not is_awaited(campaign.pk):
        _close(batch)


def is_awaited(campaign: int) -> bool:
    """Whether anything is issued that may still be answered in time."""
    return Assignment.objects.filter(campaign=campaign, state=Assignment.State.ISSUED).exists()


def batches_close_aged() -> None:
    """Close batches that have been open for their campaign's age: a slow campaign still shows its newest state.

    One that gathers what was issued before a stop waits for the last of it.
    """
    now = timezone.now()
    for batch in Batch.objects.filter(state=Batch.State.OPEN).select_related("campaign"):
        if -CLOCK_SET_BACK < now - batch.opened_at < timedelta(seconds=batch.campaign.batch_age_s):
            continue
        if batch.campaign.state == Campaign.State.STOPPED and is_awaited(batch.campaign_id):
            continue
        with write_transaction():
            still = Batch.objects.select_for_update().filter(pk=batch.pk, state=Batch.State.OPEN).first()
            if still is not None:
                _close(still)


def _close(batch: Batch) -> None:
    batch.state, batch.closed_at = Batch.State.CLOSED, timezone.now()
    batch.save(update_fields=["state", "closed_at"])
    refit_request(batch.campaign)
