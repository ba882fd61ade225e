"""The worker's jobs of refits: refit, findings, slices, pilot summary, full check."""

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from evalsite.boards.public_log import public_log_request
from evalsite.boards.services import board_default
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.services import REFIT, refit_key, refit_request
from evalsite.core import inquiries, jobs
from evalsite.refits.full_check import FULL_CHECK
from evalsite.refits.models import Findings, FullCheck
from evalsite.refits.services import (
    EXCLUSION,
    FINDINGS,
    PILOT,
    SLICES,
    alarm_clear,
    alarm_raise,
    failure,
    findings_request,
)

FINDINGS_KEPT = timedelta(minutes=1)  # For a board of 100,000 judgments, findings take three seconds.
FINDINGS_WAIT = timedelta(seconds=5)


log = logging.getLogger(__name__)


@jobs.handles(REFIT, tireless=True)
def refit(lease: jobs.Lease) -> None:
    """Refit, decide and plan for the job's campaign. Raise an alarm on any error."""
    # Imported here: every process registers this handler, and only the worker should pay for numpy and scipy.
    from evalsite.refits.refit import refit_campaign
    from evalsite.refits.single_replies import refit_single

    campaign = Campaign.objects.select_related("stopping").get(pk=lease.args["campaign"])
    try:
        (refit_single if campaign.is_single else refit_campaign)(campaign, lease)
    except jobs.LeaseLost:
        raise
    except Exception as error:
        alarm_raise(campaign=campaign, message=failure(error))
        raise
    alarm_clear(campaign=campaign)
    public_log_request(board_default(campaign=campaign))


@jobs.prepares
def rehearse() -> None:
    """Compile the code that a refit needs, so that the first campaign on a new machine does not wait for it."""
    from irt_engine.compilation import needs_compiling
    from scheduler.warmup import COMPILING, warm_up

    if needs_compiling():
        log.warning(COMPILING)
    warm_up()


@jobs.sweeps
def deadlines_keep() -> None:
    """Request a refit to stop each campaign whose deadline has passed, unless one is queued already."""
    due = Campaign.objects.filter(state__in=Campaign.COLLECTING, stopping__deadline__lte=timezone.now())
    for campaign in due:
        if not jobs.job_is_pending(refit_key(campaign)):
            refit_request(campaign)


@jobs.sweeps
def both_modes_keep() -> None:
    """Request boards of static and live judgments together, where the live report has changed."""
    from evalsite.refits.both_modes import both_modes_request

    both_modes_request()


@jobs.handles(FINDINGS)
def findings(lease: jobs.Lease) -> None:
    """Compute the findings of the campaign; while refits are queued, at most once in FINDINGS_KEPT."""
    from evalsite.refits.findings import findings_make

    campaign, now = Campaign.objects.get(pk=lease.args["campaign"]), timezone.now()
    recent = Findings.objects.filter(campaign=campaign, made_at__range=(now - FINDINGS_KEPT, now))
    if jobs.job_is_due(REFIT) and recent.exists():
        findings_request(campaign, wait=FINDINGS_WAIT)  # Otherwise a worker could claim the job again before the refit.
        return
    findings_make(campaign, lease)


@jobs.handles(SLICES)
def slices(lease: jobs.Lease) -> None:
    """Fit the boards of the campaign's slices."""
    from evalsite.refits.slices import slices_refit

    slices_refit(Campaign.objects.get(pk=lease.args["campaign"]), lease)


@jobs.handles(PILOT)
def pilot(lease: jobs.Lease) -> None:
    """Summarise the campaign's pilot."""
    from evalsite.refits.pilot_summary import summary_make

    summary_make(Campaign.objects.select_related("stopping").get(pk=lease.args["campaign"]), lease)


@jobs.handles(FULL_CHECK, slow=True)
def full_check(lease: jobs.Lease) -> None:
    """Run the full Bayesian fit that a person requested."""
    from evalsite.refits.full_check_fit import check_make

    check_make(FullCheck.objects.select_related("campaign", "snapshot__board").get(pk=lease.args["check"]), lease)


@inquiries.answers(EXCLUSION)
def exclusion(args: Mapping[str, Any]) -> Mapping[str, Any]:
    """Compute the board without an annotator."""
    from evalsite.refits.findings import board_without

    return board_without(Campaign.objects.get(pk=args["campaign"]), args["annotator"])
