"""The judging page: thin doors that parse, call one service or selector, and present."""

import uuid
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsite.campaigns.models import Campaign
from evalsite.campaigns.selectors import aspect_primary, campaign_get
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.leases import assignment_skip
from evalsite.judgments.models import Annotator, Enrolment
from evalsite.judgments.services import annotator_enrol, assignment_claim, judgment_record
from evalsite.pages.judging import NOTHING, Happened, stage_context

ANNOTATOR = "annotator"


def _user(request: HttpRequest) -> Any:
    return request.user if request.user.is_authenticated else None


@never_cache
@require_safe
def judge(request: HttpRequest, key: str) -> HttpResponse:
    """The page, or for htmx its stage: the first open item, or the answered one that `item` names."""
    campaign = campaign_get(key=key, user=_user(request))
    annotator = _annotator(request, campaign)
    happened = Happened(claimed="asked" in request.GET)
    context = stage_context(campaign, key, annotator, revisit=request.GET.get("item", ""), happened=happened)
    return render(request, "_judge_stage.html" if request.htmx else "judge.html", context)  # type: ignore[attr-defined]


@require_POST
def judge_begin(request: HttpRequest, key: str) -> HttpResponse:
    """Take part, or go on: whoever has nothing open is given the next block."""
    campaign = campaign_get(key=key, user=_user(request))
    known = _known(request)
    if known is None:
        admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    annotator = annotator_enrol(campaign=campaign, annotator=known, user=_user(request))
    request.session[ANNOTATOR] = str(annotator.public_id)
    assignment_claim(campaign=campaign, annotator=annotator)
    return _next(request, campaign, key, annotator, Happened(claimed=True))


@require_POST
def judge_answer(request: HttpRequest, key: str) -> HttpResponse:
    """Record an answer. The next block is not claimed by itself: until then the answers of this one can be changed."""
    campaign = campaign_get(key=key, user=_user(request))
    annotator = _annotator(request, campaign)
    if annotator is None:
        return redirect("judge", key=key)
    admit(what="answer", who=str(annotator.public_id), at_most=settings.ANSWERS_PER_MINUTE, per_s=60)
    assignment = _uuid(request.POST.get("assignment", ""))
    try:
        recorded = judgment_record(
            annotator=annotator,
            assignment_id=assignment,
            choices={aspect_primary(campaign).key: request.POST.get("choice", "")},
            client_ms=_milliseconds(request.POST.get("client_ms", "")),
            supersedes=_uuid(request.POST["supersedes"]) if request.POST.get("supersedes") else None,
        )
    except Conflict as refused:
        if refused.code != "block_closed":
            raise
        stands = _("This round is closed, so your earlier answer stands.")
        return _next(request, campaign, key, annotator, Happened(notice=stands))
    late = _("That answer came after its time. It is kept and paid, and counts if nobody has taken its place.")
    happened = Happened(answered=str(assignment), notice=late if recorded.judgment.late else "")
    return _next(request, campaign, key, annotator, happened)


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
    return _next(request, campaign, key, annotator, NOTHING)


def _next(request: HttpRequest, campaign: Campaign, key: str, annotator: Annotator, happened: Happened) -> HttpResponse:
    """The next stage: swapped in by htmx, or a fresh page for a browser without scripts."""
    if not getattr(request, "htmx", False):
        return redirect(reverse("judge", args=[key]) + ("?asked=1" if happened.claimed else ""))
    campaign.refresh_from_db()
    return render(request, "_judge_stage.html", stage_context(campaign, key, annotator, happened=happened))


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
