"""Stored live reports: their mark, their renewal, and what readers get."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max
from django.utils import timezone

from evalsite.boards.models import AnalysisPlan, LiveReport
from evalsite.campaigns.models import Campaign
from evalsite.core.db import write_transaction
from evalsite.core.jobs import job_enqueue
from evalsite.dialogues.models import Conversation, Turn
from evalsite.judgments.models import Exclusion

LIVE_REPORT = "live_report"


@dataclass(frozen=True, slots=True)
class LiveReportContent:
    """A stored report with its plan; the reports of a study's other arms stand beside it.

    content: None before the first report. cleaning: for the console only.
    """

    campaign: Campaign
    content: Mapping[str, Any] | None
    cleaning: Mapping[str, Any] | None
    computed_at: datetime | None
    plan: AnalysisPlan | None
    arms: tuple[LiveReport, ...]

    @property
    def etag(self) -> str:
        """Return a tag that changes with the report, its plan and the other arms."""
        times = [self.computed_at, *(arm.computed_at for arm in self.arms)]
        text = f"{times};{self.plan.sha256 if self.plan else ''}"
        return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def live_report_get(campaign: Campaign) -> LiveReportContent:
    """Return the stored report of a live campaign, with those of repetitions and other arms of its study."""
    report = LiveReport.objects.filter(campaign=campaign).first()
    plan = AnalysisPlan.objects.filter(campaign=campaign).first()
    study = campaign.live.study_id
    arms = LiveReport.objects.filter(campaign__live__study=study, campaign__live__study__isnull=False)
    arms = arms.exclude(campaign=campaign).select_related("campaign__live").order_by("campaign")
    return LiveReportContent(
        campaign,
        report.content if report else None,
        report.cleaning if report else None,
        report.computed_at if report else None,
        plan,
        tuple(arms) if study else (),
    )


def report_mark(campaign: Campaign) -> str:
    """Return a hash of what a report depends on, by counting rows."""
    turns = Turn.objects.filter(conversation__campaign=campaign).exclude(state__in=Turn.OPEN)
    counted = turns.aggregate(n=Count("pk"), last=Max("closed_at"))
    excluded = Exclusion.objects.filter(campaign=campaign).aggregate(n=Count("pk"), last=Max("pk"))
    talks = Conversation.objects.filter(campaign=campaign).aggregate(
        n=Count("pk"), ended=Count("ended_at"), erased=Count("erased_at"), rated=Count("rating")
    )
    return hashlib.sha256(repr((counted, excluded, talks)).encode()).hexdigest()


def live_report_request(campaign: Campaign) -> None:
    """Request a new report. A report that is requested twice before it begins is computed once."""
    job_enqueue(kind=LIVE_REPORT, key=f"{LIVE_REPORT}:{campaign.pk}", args={"campaign": campaign.pk})


def outdated_reports_request() -> None:
    """Request reports of live campaigns whose turns or exclusions have changed."""
    marks = dict(LiveReport.objects.values_list("campaign", "mark"))
    started = Campaign.objects.filter(mode=Campaign.Mode.LIVE, conversations__isnull=False).distinct()
    for campaign in started:
        if marks.get(campaign.pk) != report_mark(campaign):
            with write_transaction():
                live_report_request(campaign)


def live_report_store(
    *, campaign: Campaign, mark: str, content: Mapping[str, Any], cleaning: Mapping[str, Any]
) -> LiveReport:
    """Replace the stored report. The caller holds a transaction."""
    values = {"mark": mark, "content": dict(content), "cleaning": dict(cleaning), "computed_at": timezone.now()}
    report, _ = LiveReport.objects.update_or_create(campaign=campaign, defaults=values)
    return report
