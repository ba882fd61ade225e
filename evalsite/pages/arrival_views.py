"""Arrival of annotators: by invitation link, from Prolific, from Mechanical Turk."""

import uuid
from dataclasses import replace
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.selectors import onboarding_of
from evalsite.core.errors import InvalidInput, NotFound
from evalsite.core.throttle import admit, client_address
from evalsite.dialogues.studies import study_get, study_join
from evalsite.judgments.arrivals import (
    MTURK_HOSTS,
    PREVIEW,
    Visit,
    arrival_secret_check,
    ending_get,
    invitation_accept,
    invitation_get,
    visit_accept,
)
from evalsite.judgments.models import Enrolment
from evalsite.judgments.services import block_claim
from evalsite.pages.judging import welcome_context
from evalsite.pages.known_devices import device_users
from evalsite.pages.visitors import browser_ensure, known_annotator, remember, remember_arrival, user_of

PROLIFIC_FIELDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
MTURK_FIELDS = ("workerId", "hitId", "assignmentId", "turkSubmitTo")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show an invitation, and enrol with POST."""
    campaign = invitation_get(secret).campaign
    if request.method != "POST":
        return _welcome(request, campaign, action=reverse("join", args=[secret]))
    admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    enrolment = invitation_accept(
        secret=secret, annotator=known_annotator(request), user=user_of(request), consents=_consents(request)
    )
    remember(request, enrolment.annotator)
    return _begin(request, enrolment)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Show an arrival from a crowd platform, with its IDs in the address, and enrol with POST.

    A closed campaign is reported at once.
    """
    campaign = _campaign(campaign_id)
    visit = _visit(onboarding_of(campaign).platform, request.POST if request.method == "POST" else request.GET)
    arrival_secret_check(campaign, visit.secret)
    if request.method != "POST":
        names = ("key", *PROLIFIC_FIELDS, *MTURK_FIELDS)
        fields = {name: request.GET[name] for name in names if name in request.GET}
        return _welcome(request, campaign, action=reverse("arrive", args=[campaign_id]), fields=fields, has_task=True)
    admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    visit = replace(visit, browser=browser_ensure(request))
    enrolment = visit_accept(campaign=campaign, visit=visit, consents=_consents(request))
    remember_arrival(request, enrolment)
    return _begin(request, enrolment)


@xframe_options_exempt
@csp_replace({"frame-ancestors": list(MTURK_HOSTS)})  # type: ignore[arg-type]  # as in judging_views
@never_cache
@require_safe
def mturk_frame(request: HttpRequest, campaign_id: uuid.UUID) -> HttpResponse:
    """Return the frame for Mechanical Turk: a preview, or a link to the task in its own window.

    A page within another site's page gets no cookies, so the task cannot run in the frame.
    """
    campaign = _campaign(campaign_id)
    arrival_secret_check(campaign, request.GET.get("key", ""))
    preview = request.GET.get("assignmentId", PREVIEW) == PREVIEW
    if not preview:
        _visit(onboarding_of(campaign).platform, request.GET)
    context = welcome_context(campaign, has_task=True)
    address = f"{reverse('arrive', args=[campaign_id])}?{request.GET.urlencode()}"
    return render(request, "mturk_frame.html", {**context, "preview": preview, "address": address})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study(request: HttpRequest, study_id: uuid.UUID) -> HttpResponse:
    """Show the entry of a study. POST allocates the visitor to an arm and leads there, always to the same one."""
    found = study_get(study_id=study_id, user=user_of(request))
    if request.method != "POST":
        return render(request, "study.html", {"study": found})
    known = known_annotator(request)
    if known is None:
        admit(what="enrol", who=client_address(request), at_most=settings.ENROLMENTS_PER_HOUR, per_s=3600)
    annotator, arm = study_join(study=found, annotator=known, user=user_of(request))
    remember(request, annotator)
    return redirect("judge", key=arm.public_id)


def _welcome(
    request: HttpRequest,
    campaign: Campaign,
    *,
    action: str,
    fields: dict[str, str] | None = None,
    has_task: bool = False,
) -> HttpResponse:
    context = welcome_context(campaign, action=action, fields=fields or {}, has_task=has_task)
    return render(request, "judge.html", context)


def _begin(request: HttpRequest, enrolment: Enrolment) -> HttpResponse:
    """Redirect to the first item if there is one and nothing else comes first. In a live campaign nothing is claimed:
    the judging page leads to the chat."""
    if not enrolment.campaign.is_live and not ending_get(enrolment).state:
        address, users = client_address(request), device_users(request)
        block_claim(campaign=enrolment.campaign, annotator=enrolment.annotator, address=address, users=users)
    return redirect("judge", key=enrolment.campaign.public_id)


def _campaign(campaign_id: uuid.UUID) -> Campaign:
    found = Campaign.objects.filter(public_id=campaign_id).exclude(state=Campaign.State.DRAFT)
    campaign: Campaign | None = found.select_related("rubric").first()
    if campaign is None or onboarding_of(campaign).platform == Onboarding.Platform.NONE:
        raise NotFound(_("There is no such study."), hint=_("Check the address."))
    return campaign


def _visit(platform: str, given: Any) -> Visit:
    if len(given.urlencode()) > 2000:
        raise InvalidInput(_("This address is too long."))
    if platform == Onboarding.Platform.PROLIFIC:
        worker, study, session = (given.get(name, "") for name in PROLIFIC_FIELDS)
        return Visit(Onboarding.Platform.PROLIFIC, worker, study, session, secret=given.get("key", ""))
    worker, study, session, submit_to = (given.get(name, "") for name in MTURK_FIELDS)
    if session == PREVIEW:
        raise InvalidInput(_("This is only a preview."), hint=_("Accept the HIT first."))
    return Visit(Onboarding.Platform.MTURK, worker, study, session, submit_to.rstrip("/"), given.get("key", ""))


def _consents(request: HttpRequest) -> bool:
    return request.POST.get("consent") == "on"
