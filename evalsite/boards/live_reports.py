"""Stored live reports: their mark, their renewal, and what readers get."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Max, Q, QuerySet
from django.utils import timezone

from evalsite.accounts.models import User
from evalsite.boards.models import AnalysisPlan, Board, LiveReport
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import visible_to
from evalsite.core.db import write_transaction
from evalsite.core.jobs import job_enqueue
from evalsite.dialogues.models import Conversation, Turn
from evalsite.judgments.models import Batch, Exclusion, Judgment

LIVE_REPORT = "live_report"
AFTER_VOTES = ~Q(provisional=True, lifted=False)  # A newcomer begins without votes.


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


def live_report_get(campaign: Campaign, user: User | None = None) -> LiveReportContent:
    """Return the stored report of a live campaign, with those of repetitions and other arms of its study.

    Comparisons with static campaigns are shown to those who may see these campaigns.
    """
    report = LiveReport.objects.filter(campaign=campaign).first()
    plan = AnalysisPlan.objects.filter(campaign=campaign).first()
    study = campaign.live.study_id
    arms = LiveReport.objects.filter(campaign__live__study=study, campaign__live__study__isnull=False)
    arms = arms.exclude(campaign=campaign).select_related("campaign__live").order_by("campaign")
    return LiveReportContent(
        campaign,
        _content_for(report.content, user) if report else None,
        report.cleaning if report else None,
        report.computed_at if report else None,
        plan,
        tuple(arms) if study else (),
    )


def _content_for(content: Mapping[str, Any], user: User | None) -> dict[str, Any]:
    modes = content.get("modes", [])
    named = Campaign.objects.filter(public_id__in=[one["campaign"] for one in modes])
    seen = {str(one) for one in named.filter(visible_to(user, by_link=False)).values_list("public_id", flat=True)}
    return {**content, "modes": [one for one in modes if one["campaign"] in seen]}


def report_mark(campaign: Campaign) -> str:
    """Return a hash of what a report depends on, by counting rows."""
    turns = Turn.objects.filter(conversation__campaign=campaign).exclude(state__in=Turn.OPEN)
    counted = turns.aggregate(n=Count("pk"), last=Max("closed_at"))
    excluded = Exclusion.objects.filter(AFTER_VOTES, campaign=campaign).aggregate(n=Count("pk"), last=Max("pk"))
    talks = Conversation.objects.filter(campaign=campaign).aggregate(
        n=Count("pk"), ended=Count("ended_at"), erased=Count("erased_at"), rated=Count("rating")
    )
    beside = (_third_parties_mark(campaign), static_mark(campaign), _labels_mark(campaign))
    return hashlib.sha256(repr((counted, excluded, talks, *beside)).encode()).hexdigest()


def _third_parties_mark(campaign: Campaign) -> tuple[object, ...]:
    reviews = campaign.reviews.values("campaign")
    judged = Judgment.objects.filter(assignment__campaign__in=reviews).aggregate(n=Count("pk"), last=Max("pk"))
    excluded = Exclusion.objects.filter(AFTER_VOTES, campaign__in=reviews).aggregate(last=Max("pk"))
    return (judged, excluded)


def _labels_mark(campaign: Campaign) -> int:
    """Return the number of closed batches: labels and ratings count from then on. 0 without such questions."""
    if not campaign.rubric.aspects.exclude(position=0).exists():
        return 0
    return Batch.objects.filter(campaign=campaign, state=Batch.State.CLOSED).count()


def static_boards(campaign: Campaign) -> QuerySet[Board]:
    """Return the boards of the organisation's static campaigns in which two or more of the same chatbots were judged.

    Samples of live turns for third parties are left out: they are the same turns.
    """
    chatbots = campaign.entrants.values("version__chatbot")
    own = Q(default_of__entrants__version__chatbot__in=chatbots)
    static = Board.objects.filter(
        default_of__organisation=campaign.organisation_id,
        default_of__mode=Campaign.Mode.STATIC,
        default_of__review__isnull=True,
        snapshots__isnull=False,
    )
    shared = Count("default_of__entrants__version__chatbot", filter=own, distinct=True)
    found: QuerySet[Board] = (
        static.annotate(shared=shared).filter(shared__gte=2).select_related("default_of").order_by("pk")
    )
    return found


def static_mark(campaign: Campaign) -> list[tuple[int, str, int]]:
    """Return what is known of the static boards: while they collect, a mark that changes when judgments double."""
    rows = static_boards(campaign).annotate(newest=Max("snapshots__pk"), most=Max("snapshots__judgments"))
    return [
        (pk, state, most.bit_length() if state in Campaign.COLLECTING else newest)
        for pk, state, most, newest in rows.values_list("pk", "default_of__state", "most", "newest")
    ]


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
