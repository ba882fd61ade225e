"""Writes of the adaptive room: boards, opening a campaign with the board that shows it, alarms."""

import logging
from datetime import timedelta

from django.db.models import F
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.adaptive.models import Alarm, Board, Notice
from evalsite.adaptive.notices import notice_raise
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary
from evalsite.campaigns.services import campaign_start
from evalsite.core.db import write_transaction
from evalsite.core.jobs import job_enqueue

log = logging.getLogger(__name__)
LONGEST_MESSAGE = 2000


def board_default(*, campaign: Campaign) -> Board:
    """The campaign's own board: all its judgments, on its primary aspect. Made when first asked for."""
    with write_transaction():
        board, created = Board.objects.get_or_create(
            default_of=campaign,
            defaults={
                "organisation": campaign.organisation,
                "name": campaign.name,
                "slug": campaign.slug,
                "aspect": aspect_primary(campaign),
            },
        )
        if created:
            board.campaigns.add(campaign)
    return board


def campaign_open(*, campaign: Campaign, by: User | None = None, pilot: int | None = None) -> Board:
    """Start collecting, with a board that shows the result from the first judgment on; `pilot`: so many at first."""
    with write_transaction():
        board = board_default(campaign=campaign)
        campaign_start(campaign=campaign, by=by, pilot=pilot)
    return board


def alarm_raise(*, campaign: Campaign, message: str, about: Alarm.About = Alarm.About.LOOP) -> None:
    """Say that the campaign's loop (or its slices) fails; said again, the open alarm counts on."""
    message = message[:LONGEST_MESSAGE]
    with write_transaction():
        Campaign.objects.select_for_update(no_key=True).get(pk=campaign.pk)
        again = Alarm.objects.filter(campaign=campaign, about=about, cleared_at=None)
        if not again.update(failures=F("failures") + 1, failed_at=timezone.now(), message=message):
            alarm = Alarm.objects.create(campaign=campaign, about=about, message=message)
            facts = {"about": str(about), "message": message}
            notice_raise(campaign=campaign, event=Notice.Event.ALARM, mark=str(alarm.pk), facts=facts)
            log.error("campaign %s: the %s: %s", campaign.slug, about, message)


def alarm_clear(*, campaign: Campaign, about: Alarm.About = Alarm.About.LOOP) -> None:
    """The loop goes again, or its slices."""
    raised = Alarm.objects.filter(campaign=campaign, about=about, cleared_at=None)
    if raised.exists():  # first without a lock: this is asked after every refit
        with write_transaction():
            raised.update(cleared_at=timezone.now())


FINDINGS = "findings"
SLICES = "slices"
PILOT = "pilot"
EXCLUSION = "exclusion"  # what a board would be without an annotator: an inquiry


def findings_request(campaign: Campaign, *, wait: timedelta = timedelta(0)) -> None:
    """Ask the worker to look at annotators and prompts anew, after the refits that wait."""
    job_enqueue(kind=FINDINGS, key=f"{FINDINGS}:{campaign.pk}", args={"campaign": campaign.pk}, wait=wait)


def slices_request(campaign: Campaign) -> None:
    """Ask the worker to fit what is behind the board's filters anew, after the refits that wait."""
    job_enqueue(kind=SLICES, key=f"{SLICES}:{campaign.pk}", args={"campaign": campaign.pk})


def pilot_summary_request(campaign: Campaign) -> None:
    """Ask the worker to work out what the pilot taught."""
    job_enqueue(kind=PILOT, key=f"{PILOT}:{campaign.pk}", args={"campaign": campaign.pk})
