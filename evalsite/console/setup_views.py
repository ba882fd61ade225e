"""Views of the set-up. Each step is saved on submission; the browser stores nothing."""

import uuid
from typing import Any

from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.campaigns.drafts import draft_check, draft_create, organisations_to_set_up_in
from evalsite.campaigns.live import live_settings_set
from evalsite.campaigns.models import Campaign
from evalsite.campaigns.permissions import Act
from evalsite.console import setup
from evalsite.console.endpoints import live_chatbots_context, live_versions_context, replies_collect
from evalsite.console.forms import PromptsForm
from evalsite.console.live_forms import NewCampaignForm, mode_options
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.review import review_context
from evalsite.console.views import console_page
from evalsite.core.errors import InvalidInput, NotAllowed, NotFound, TooMany, TouchstoneError
from evalsite.core.inquiries import inquiry_get
from evalsite.exchange.draft_forecasts import FORECAST, forecast_ask


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Show the first step of a new campaign."""
    own = organisations_to_set_up_in(person(request))
    if not own:
        raise NotAllowed(
            _("You may set up campaigns in no organisation."), hint=_("Ask an owner for the role of manager.")
        )
    form = NewCampaignForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        chosen = next((one for one in own if str(one.public_id) == request.POST.get("organisation")), own[0])
        mode = Campaign.Mode(form.cleaned_data["mode"])
        aspect = setup.new_aspect(form.cleaned_data, single=mode == Campaign.Mode.SINGLE)
        made = draft_create(
            organisation=chosen, name=form.cleaned_data["name"], aspect=aspect, by=person(request), mode=mode
        )
        if form.cleaned_data["mode"] == Campaign.Mode.LIVE:
            live_settings_set(campaign=made, values={}, by=person(request))
        desk = campaign_context_for(request, str(made.public_id), Act.SET_UP)
        setup.save(desk, "goal", form.cleaned_data, person(request))
        return redirect("console_step", key=made.public_id, step=setup.steps_of(desk.campaign)[1])
    context = {"form": form, "organisations": own if len(own) > 1 else [], "modes": mode_options(form)}
    return render(request, "console/new.html", context)


@console_page
@require_safe
def begin(request: HttpRequest, key: str) -> HttpResponse:
    desk = campaign_context_for(request, key, Act.SET_UP)
    return redirect("console_step", key=key, step=setup.steps_of(desk.campaign)[0])


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def step(request: HttpRequest, key: str, step: str) -> HttpResponse:
    """Show and save one step."""
    desk = _draft_desk(request, key, fixed=step not in setup.AFTER_PILOT)
    if step not in setup.steps_of(desk.campaign):
        raise NotFound(_("There is no such step."), hint=_("Go back to the set-up."))
    if step in setup.forms_of(desk.campaign):
        return _form_step(request, desk, step)
    steps = {"prompts": _prompts_step, "chatbots": _chatbots_step, "review": _review_step}
    return steps[step](request, desk)


def _draft_desk(request: HttpRequest, key: str, *, fixed: bool = False) -> CampaignContext:
    desk = campaign_context_for(request, key, Act.SET_UP)
    draft_check(desk.campaign, fixed=fixed)
    return desk


def _page(
    request: HttpRequest, desk: CampaignContext, step: str, context: dict[str, Any], *, status: int = 200
) -> HttpResponse:
    shown = {**frame(desk, "console_setup"), **setup.steps_context(desk, step), **context}
    template = "form" if step in setup.forms_of(desk.campaign) else step
    if desk.campaign.is_live and step == "chatbots":
        template = "live_chatbots"
    return render(request, f"console/setup/{template}.html", shown, status=status)


def _form_step(request: HttpRequest, desk: CampaignContext, step: str) -> HttpResponse:
    form = setup.form_of(desk.campaign, step, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _saved(request, desk, step, form):
        return redirect(setup.steps_context(desk, step)["next_url"])
    context = {"form": form, **setup.step_extras(desk, step)}
    if step == "conversation":
        context["options"] = setup.settings_options(form)
    return _page(request, desk, step, context, status=400 if form.errors else 200)


def _saved(request: HttpRequest, desk: CampaignContext, step: str, form: Form) -> bool:
    """Save the step and return True. On errors, add them to the fields of the form."""
    try:
        setup.save(desk, step, form.cleaned_data, person(request))
    except InvalidInput as error:
        form.add_error(error.field if error.field in form.fields else None, f"{error.message} {error.hint}")
        return False
    return True


def _prompts_step(request: HttpRequest, desk: CampaignContext) -> HttpResponse:
    form, trouble, status = PromptsForm(request.POST or None, request.FILES or None), "", 200
    if request.method == "POST":
        try:
            return _prompts_sent(request, desk, form)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {"form": form, "trouble": trouble, **setup.prompts_context(desk.campaign, person(request))}
    return _page(request, desk, "prompts", context, status=status)


def _prompts_sent(request: HttpRequest, desk: CampaignContext, form: PromptsForm) -> HttpResponse:
    """Review the submitted prompts, or import them."""
    if "take" in request.POST:
        added = setup.prompts_import_pending(desk.campaign, person(request))
        words = ngettext("%(n)s prompt was added.", "%(n)s prompts were added.", added) % {"n": added}
        messages.success(request, words)
        return redirect(desk.url("console_step", "chatbots" if added else "prompts"))
    if "columns" in request.POST:
        setup.prompts_columns_choose(desk.campaign, request.POST)
        return redirect(desk.url("console_step", "prompts"))
    if "use" in request.POST:
        setup.set_use(desk.campaign, request.POST.get("set", ""), person(request))
        messages.success(request, _("Saved."))
        return redirect(desk.url("console_step", "chatbots"))
    if not form.is_valid():
        raise InvalidInput(_("The file is empty."), field="file")
    sent = form.cleaned_data
    setup.prompts_keep(desk.campaign, sent["file"], sent["pasted"], person(request), encoding=sent["encoding"])
    return redirect(desk.url("console_step", "prompts"))


def _chatbots_step(request: HttpRequest, desk: CampaignContext) -> HttpResponse:
    if desk.campaign.is_live:
        return _page(request, desk, "chatbots", live_chatbots_context(desk))
    trouble, status = "", 200
    if request.method == "POST":
        try:
            return _chatbots_sent(request, desk)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    live = live_versions_context(desk.campaign, person(request))
    context = {"trouble": trouble, **live, **setup.chatbots_context(desk.campaign)}
    return _page(request, desk, "chatbots", context, status=status)


def _chatbots_sent(request: HttpRequest, desk: CampaignContext) -> HttpResponse:
    if "take" in request.POST:
        names = {name: str(value) for name, value in request.POST.items()}
        taken = setup.chatbots_import_pending(desk.campaign, names, person(request))
        words = ngettext("%(n)s chatbot was added.", "%(n)s chatbots were added.", taken) % {"n": taken}
        messages.success(request, words)
    elif "columns" in request.POST:
        setup.replies_columns_choose(desk.campaign, request.POST["columns"], request.POST)
    elif "collect" in request.POST:
        replies_collect(desk.campaign, request.POST["collect"], person(request))
        messages.success(request, _("Replies are being collected."))
    else:
        files, encoding = request.FILES.getlist("file"), request.POST.get("encoding", "")
        setup.replies_keep(desk.campaign, files, person(request), encoding=encoding)
    return redirect(desk.url("console_step", "chatbots"))


@console_page
@require_safe
def live_versions(request: HttpRequest, key: str) -> HttpResponse:
    """Return the live chatbots of that step, with their progress."""
    desk = _draft_desk(request, key)
    context = {"key": desk.key, **live_versions_context(desk.campaign, person(request))}
    return render(request, "console/setup/_live.html", context)


def _review_step(request: HttpRequest, desk: CampaignContext) -> HttpResponse:
    may = {"may_launch": desk.may(Act.LAUNCH), "may_try": desk.may(Act.PILOT)}
    return _page(request, desk, "review", {**may, **review_context(desk.campaign)})


@console_page
@require_POST
def forecast(request: HttpRequest, key: str) -> HttpResponse:
    """Request a forecast for the draft under these limits. The page asks again after each change."""
    desk = _draft_desk(request, key)
    form = setup.form_of(desk.campaign, "stopping", request.POST)
    if not form.is_valid():
        return _problem_response(request, _first_problem(form))
    try:
        inquiry = forecast_ask(
            desk.campaign, setup.changed_design(desk.campaign, form.cleaned_data), by=person(request)
        )
    except (InvalidInput, TooMany) as error:
        return _problem_response(request, f"{error.message} {error.hint}".strip())
    return _forecast(request, desk, inquiry.public_id)


def _first_problem(form: Form) -> str:
    return str(next(iter(form.errors.values()))[0])


def _problem_response(request: HttpRequest, trouble: str) -> HttpResponse:
    return render(request, "console/setup/_forecast.html", {"trouble": trouble})


@console_page
@require_safe
def forecast_of(request: HttpRequest, key: str, inquiry: uuid.UUID) -> HttpResponse:
    """Return the state of the requested forecast."""
    return _forecast(request, _draft_desk(request, key), inquiry)


def _forecast(request: HttpRequest, desk: CampaignContext, inquiry: uuid.UUID) -> HttpResponse:
    found = inquiry_get(kind=FORECAST, public_id=inquiry, subject=desk.campaign.public_id)
    context = {**setup.forecast_context(desk.campaign, found), "key": desk.key, "trouble": found.trouble_text}
    return render(request, "console/setup/_forecast.html", context)
