"""Views of the console. They check the person's role, call one service or selector, and render."""

import uuid
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.campaigns.permissions import Act
from evalsite.console import tables
from evalsite.console.action_pages import (
    LANDS_ON,
    arguments_of,
    arguments_with_form,
    as_suggested,
    confirm_context,
    preview_ask,
    preview_context,
)
from evalsite.console.endpoints import entrants_context
from evalsite.console.full_check import check_context
from evalsite.console.health import health_context
from evalsite.console.overview import home_context, overview_context
from evalsite.console.page_frame import CampaignContext, act_labels, campaign_context_for, frame, person
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.inquiries import inquiry_get
from evalsite.operations.actions import PERFORMED, act_perform
from evalsite.operations.models import Notice
from evalsite.operations.notices import mail_choose, mail_wanted, notices_see
from evalsite.operations.service_health import not_ready, service_health_get
from evalsite.presentation.data_files import data_file
from evalsite.refits.services import EXCLUSION

View = Callable[..., HttpResponseBase]


def console_page(view: View) -> Callable[..., HttpResponseBase]:
    """Require a log-in, and disable caching in browsers and proxies."""

    @wraps(view)
    def asked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return view(request, *args, **kwargs)

    return never_cache(login_required(asked))


@console_page
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "console/home.html", home_context(person(request), tables.page_number(request.GET)))


@console_page
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Show the health of the service to staff."""
    if not person(request).is_staff:
        raise NotAllowed(_("The health page is for staff."), hint=_("Ask who runs this site."))
    return render(request, "console/health.html", health_context(service_health_get(), not_ready()))


@console_page
@require_safe
def campaign(request: HttpRequest, key: str) -> HttpResponse:
    desk = campaign_context_for(request, key)
    context = {**frame(desk, "console_campaign"), **overview_context(desk.campaign)}
    return render(request, "console/overview.html", context)


def rows_page(
    name: str, context: Callable[[CampaignContext, QueryDict], Mapping[str, Any]], *, tab: str = ""
) -> Callable[..., HttpResponseBase]:
    """Return the view of a table of a campaign: `console_<name>`, from the template of the same name, under a tab."""

    @require_safe
    def page(request: HttpRequest, key: str) -> HttpResponse:
        desk = campaign_context_for(request, key)
        shown = {**frame(desk, f"console_{tab or name}"), **context(desk, request.GET)}
        return render(request, f"console/{name}.html", shown)

    return console_page(page)


pairs = rows_page("pairs", tables.pairs_context)
prompts = rows_page("prompts", tables.prompts_context)
chatbots = rows_page("chatbots", lambda desk, _query: entrants_context(desk))
annotators = rows_page("annotators", tables.annotators_context)
judgments = rows_page("judgments", tables.judgments_context)
skips = rows_page("skips", tables.skips_context, tab="judgments")
fits = rows_page("fits", tables.fits_context)
log = rows_page("log", tables.log_context)


@console_page
@require_safe
def data(request: HttpRequest, key: str, name: str) -> HttpResponseBase:
    """Return the campaign's data as a file."""
    desk = campaign_context_for(request, key)
    return data_file(desk.campaign, name, who=f"user:{desk.user.public_id}")


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: HttpRequest) -> HttpResponse:
    """Show and save the events about which this person gets mail."""
    user = person(request)
    if request.method == "POST":
        mail_choose(user=user, wanted=request.POST.getlist("wanted"))
        messages.success(request, _("Saved."))
        return redirect("console_notices")
    wanted = mail_wanted(user)
    events = [(event.value, event.label, event.value in wanted) for event in Notice.Event]
    return render(request, "console/notices.html", {"events": events, "address": user.email})


@console_page
@require_POST
def notices_seen(request: HttpRequest, key: str) -> HttpResponse:
    """Dismiss the banner."""
    desk = campaign_context_for(request, key)
    notices_see(campaign=desk.campaign, user=desk.user)
    return redirect("console_campaign", key=key)


@console_page
@require_safe
def check(request: HttpRequest, key: str) -> HttpResponse:
    """Show the full Bayesian check: its progress or its result."""
    desk = campaign_context_for(request, key)
    return render(request, "console/check.html", {**frame(desk, "console_fits"), **check_context(desk)})


@console_page
@require_safe
def check_state(request: HttpRequest, key: str) -> HttpResponse:
    """Return the part of that page that changes."""
    desk = campaign_context_for(request, key)
    return render(request, "console/_check.html", {"key": desk.key, **check_context(desk)})


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def act(request: HttpRequest, key: str, act: str) -> HttpResponse:
    """Confirm with GET, act with POST."""
    wanted = _act(act)
    if request.method != "POST":
        desk, given = campaign_context_for(request, key, wanted), arguments_of(request.GET)
        return render(request, "console/act.html", _form_page(desk, confirm_context(desk, wanted, given)))
    given = arguments_of(request.POST)
    try:
        given = arguments_with_form(given, wanted, request.POST)
        if wanted == Act.EXCLUDE:
            given = as_suggested(campaign_context_for(request, key, wanted).campaign, given)
        act_perform(key=key, act=wanted, user=person(request), given=given)
    except (Conflict, InvalidInput) as error:
        desk = campaign_context_for(request, key, wanted)
        trouble = f"{error.message} {error.hint}".strip()
        context = confirm_context(desk, wanted, given, trouble=trouble, sent=request.POST)
        return render(request, "console/act.html", _form_page(desk, context), status=error.status)
    messages.success(request, _("Done: %(act)s.") % {"act": act_labels()[wanted]})
    return redirect(LANDS_ON.get(wanted, "console_campaign"), key=key)


def _act(name: str) -> Act:
    if name not in PERFORMED:
        raise NotFound(_("There is no such act."), hint=_("Go back to the campaign."))
    return Act(name)


def _form_page(desk: CampaignContext, context: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**frame(desk, ""), **context}


@console_page
@require_POST
def preview(request: HttpRequest, key: str) -> HttpResponse:
    """Request the board without an annotator."""
    desk = campaign_context_for(request, key, Act.EXCLUDE)
    annotator = arguments_of(request.POST).annotator
    if annotator is None:
        raise InvalidInput(_("This page was opened by a broken link."), hint=_("Go back and try again."))
    return _previewed(request, desk, preview_context(preview_ask(desk.campaign, annotator, person(request))))


@console_page
@require_safe
def preview_of(request: HttpRequest, key: str, inquiry: uuid.UUID) -> HttpResponse:
    """Return the state of the requested preview."""
    desk = campaign_context_for(request, key, Act.EXCLUDE)
    found = inquiry_get(kind=EXCLUSION, public_id=inquiry, subject=desk.campaign.public_id)
    return _previewed(request, desk, preview_context(found))


def _previewed(request: HttpRequest, desk: CampaignContext, context: Mapping[str, Any]) -> HttpResponse:
    return render(request, "console/_preview.html", {**context, "key": desk.key})
