"""The start page and the judging page: thin doors that parse, call one service or selector, and present."""

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsite.adaptive.selectors import board_state_get, boards_public
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary, campaign_get, campaigns_to_judge
from evalsite.core.errors import InvalidInput
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.services import annotator_enrol, assignment_claim, judgment_record
from evalsite.pages.board import status
from evalsite.pages.judging import stage_context

ANNOTATOR = "annotator"
SHOWN_ON_HOME = 30


def _user(request: HttpRequest) -> Any:
    return request.user if request.user.is_authenticated else None


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    standings = [board_state_get(board) for board in boards_public()[:SHOWN_ON_HOME]]
    boards = [
        {
            "name": standing.board.name,
            "url": reverse("board", args=[standing.board.slug]),
            "state": standing.campaign.state if standing.campaign else "",
            "state_text": status(standing)["text"],
            "judgments": standing.tally.judgments,
            "chatbots": len(standing.snapshot.rows) if standing.snapshot else 0,
            "question": standing.board.aspect.question,
        }
        for standing in standings
    ]
    campaigns = campaigns_to_judge().prefetch_related("rubric__aspects")[:SHOWN_ON_HOME]
    judging = [
        {"name": one.name, "url": reverse("judge", args=[one.slug]), "question": one.rubric.aspects.all()[0].question}
        for one in campaigns
    ]
    return render(request, "home.html", {"boards": boards, "open": judging})


@require_safe
def favicon(request: HttpRequest) -> HttpResponse:
    """Browsers ask here when what they show is not a page of ours: a picture, a JSON file."""
    return redirect(static("img/favicon.ico"))


@never_cache
@require_safe
def judge(request: HttpRequest, key: str) -> HttpResponse:
    campaign = campaign_get(key=key, user=_user(request))
    return render(request, "judge.html", stage_context(campaign, key, _annotator(request, campaign)))


@require_POST
def judge_begin(request: HttpRequest, key: str) -> HttpResponse:
    campaign = campaign_get(key=key, user=_user(request))
    known = _known(request)
    if known is None:
        admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    annotator = annotator_enrol(campaign=campaign, annotator=known, user=_user(request))
    request.session[ANNOTATOR] = str(annotator.public_id)
    assignment_claim(campaign=campaign, annotator=annotator)
    return _next(request, campaign, key, annotator)


@require_POST
def judge_answer(request: HttpRequest, key: str) -> HttpResponse:
    campaign = campaign_get(key=key, user=_user(request))
    annotator = _annotator(request, campaign)
    if annotator is None:
        return redirect("judge", key=key)
    admit(what="answer", who=str(annotator.public_id), at_most=settings.ANSWERS_PER_MINUTE, per_s=60)
    recorded = judgment_record(
        annotator=annotator,
        assignment_id=_uuid(request.POST.get("assignment", "")),
        choices={aspect_primary(campaign).key: request.POST.get("choice", "")},
        client_ms=_milliseconds(request.POST.get("client_ms", "")),
    )
    assignment_claim(campaign=campaign, annotator=annotator)
    late = _("That answer came after its time. It is kept and counts if nobody has taken its place.")
    return _next(request, campaign, key, annotator, notice=late if recorded.judgment.late else "")


@require_POST
def judge_skip(request: HttpRequest, key: str) -> HttpResponse:
    campaign = campaign_get(key=key, user=_user(request))
    annotator = _annotator(request, campaign)
    if annotator is None:
        return redirect("judge", key=key)
    assignment_skip(
        annotator=annotator,
        assignment_id=_uuid(request.POST.get("assignment", "")),
        reason=request.POST.get("reason", ""),
        note=request.POST.get("note", ""),
    )
    assignment_claim(campaign=campaign, annotator=annotator)
    return _next(request, campaign, key, annotator)


def _next(
    request: HttpRequest, campaign: Campaign, key: str, annotator: Annotator, *, notice: str = ""
) -> HttpResponse:
    """The next stage: swapped in by htmx, or a fresh page for a browser without scripts."""
    if not getattr(request, "htmx", False):
        return redirect("judge", key=key)
    campaign.refresh_from_db()
    return render(request, "_judge_stage.html", stage_context(campaign, key, annotator, notice=notice))


def _known(request: HttpRequest) -> Annotator | None:
    """The annotator of this account, or the pseudonym that this browser has had before."""
    user = _user(request)
    if user is not None and (own := Annotator.objects.filter(user=user).first()) is not None:
        return own
    public_id = request.session.get(ANNOTATOR)
    return Annotator.objects.filter(public_id=public_id, user__isnull=True).first() if public_id else None


def _annotator(request: HttpRequest, campaign: Campaign) -> Annotator | None:
    annotator = _known(request)
    if annotator and Enrolment.objects.filter(campaign=campaign, annotator=annotator).exists():
        return annotator
    return None


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise InvalidInput("The form does not say which assignment it answers.", hint="Reload the page.") from None


def _milliseconds(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else None
