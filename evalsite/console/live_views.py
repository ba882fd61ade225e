"""Views of live campaigns in the console: conversations, and the triage of reported replies."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from evalsite.boards.live_reports import live_report_get
from evalsite.campaigns.live import static_campaign_set
from evalsite.campaigns.permissions import Act, campaign_for
from evalsite.console.live import conversations_context, reports_context, samples_context, static_choices
from evalsite.console.live_forms import SampleForm
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.views import console_page
from evalsite.core.errors import Conflict, NotFound
from evalsite.dialogues.reports import entrant_pause, entrant_resume, report_get, report_settle
from evalsite.dialogues.third_parties import third_parties_ask
from evalsite.operations.actions import entrant_of
from evalsite.presentation.live_report import cleaning_context, live_report_context


@console_page
@require_safe
def conversations(request: HttpRequest, key: str) -> HttpResponse:
    desk = _live_desk(request, key, Act.SEE)
    context = {**frame(desk, "console_conversations"), **conversations_context(desk, request.GET)}
    return render(request, "console/conversations.html", context)


@console_page
@require_safe
def reports(request: HttpRequest, key: str) -> HttpResponse:
    """Show the chatbots with their failures, and the replies that annotators reported."""
    desk = _live_desk(request, key, Act.SEE)
    context = {**frame(desk, "console_reports"), **reports_context(desk, request.GET)}
    return render(request, "console/reports.html", context)


@console_page
@require_POST
def report_act(request: HttpRequest, key: str, report: uuid.UUID, outcome: str) -> HttpResponse:
    """Uphold or dismiss a report."""
    desk = _live_desk(request, key, Act.WITHDRAW_ENTRANT)
    found = report_get(campaign=desk.campaign, public_id=report)
    if outcome not in {"uphold", "dismiss"}:
        raise NotFound(_("There is no such report."), hint=_("Go back to the reports."))
    report_settle(report=found, upheld=outcome == "uphold", by=person(request))
    messages.success(request, _("Saved."))
    return redirect("console_reports", key=key)


@console_page
@require_POST
def chatbot_act(request: HttpRequest, key: str, entrant: uuid.UUID, act: str) -> HttpResponse:
    """Pause or resume a chatbot in this campaign."""
    desk = _live_desk(request, key, Act.WITHDRAW_ENTRANT)
    acts = {"pause": entrant_pause, "resume": entrant_resume}
    if act not in acts:
        raise NotFound(_("There is no such act."), hint=_("Go back to the campaign."))
    acts[act](entrant=entrant_of(desk.campaign, entrant), by=person(request))
    messages.success(request, _("Saved."))
    return redirect("console_reports", key=key)


@console_page
@require_safe
def live_report(request: HttpRequest, key: str) -> HttpResponse:
    """Show the statistics of live conversations, which ones should be left out, and the samples for third parties."""
    return _live_report(request, _live_desk(request, key, Act.SEE))


@console_page
@require_POST
def third_parties(request: HttpRequest, key: str) -> HttpResponse:
    """Make a draft of a sample of live turns."""
    desk = _live_desk(request, key, Act.SEE)
    form = SampleForm(request.POST)
    if not form.is_valid():
        return _live_report(request, desk, _("Enter a number of conversations."), status=400)
    try:
        draft = third_parties_ask(campaign=desk.campaign, by=desk.user, **form.cleaned_data)
    except Conflict as error:
        return _live_report(request, desk, f"{error.message} {error.hint}".strip(), status=error.status)
    messages.success(request, _("A draft was made. Read its prompts before you launch it."))
    return redirect("console_prompts", key=draft.public_id)


@console_page
@require_POST
def static_campaign(request: HttpRequest, key: str) -> HttpResponse:
    """Link the campaign to a static one of the same chatbots, or remove the link."""
    desk = _live_desk(request, key, Act.SHOW)
    wanted = request.POST.get("static_campaign", "")
    other = campaign_for(key=wanted, user=desk.user, act=Act.SHOW)[0] if wanted else None
    static_campaign_set(campaign=desk.campaign, static=other, by=person(request))
    messages.success(request, _("Saved."))
    return redirect("console_live_report", key=key)


def _live_report(request: HttpRequest, desk: CampaignContext, trouble: str = "", *, status: int = 200) -> HttpResponse:
    report = live_report_get(desk.campaign, desk.user)
    context = {**live_report_context(report), **cleaning_context(report), **samples_context(desk), "trouble": trouble}
    context |= {"static_choices": static_choices(desk) if desk.may(Act.SHOW) else []}
    shown = {**frame(desk, "console_live_report"), **context, "may_exclude": desk.may(Act.EXCLUDE)}
    return render(request, "console/live_report.html", shown, status=status)


def _live_desk(request: HttpRequest, key: str, act: Act) -> CampaignContext:
    desk = campaign_context_for(request, key, act)
    if not desk.campaign.is_live:
        raise NotFound(_("This campaign has no conversations."), hint=_("Go back to its overview."))
    return desk
