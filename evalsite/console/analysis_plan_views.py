"""Views of a live campaign's analysis plan: its values, and what each setting needs, side by side."""

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.boards.analysis_plans import LARGEST, plan_of, plan_set
from evalsite.boards.models import AnalysisPlan
from evalsite.boards.study_sizes import STUDY_SIZES, study_sizes_ask
from evalsite.campaigns.permissions import Act
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.views import console_page
from evalsite.core.errors import NotFound, TouchstoneError
from evalsite.core.inquiries import inquiry_get
from evalsite.core.models import Inquiry
from evalsite.presentation.formatting import fixed, whole

_STEP = {"step": "any"}


def _share(label: Any, help_text: Any = "") -> forms.FloatField:
    widget = forms.NumberInput(attrs=_STEP)
    return forms.FloatField(label=label, help_text=help_text, min_value=0.0001, max_value=0.9999, widget=widget)


class PlanForm(forms.Form):
    """The values of an analysis plan."""

    difference = _share(
        gettext_lazy("Smallest difference that matters"),
        gettext_lazy("Of win rates, from 0 to 1. For the best of two: distance of a win rate from 0.5."),
    )
    alpha = _share(gettext_lazy("Level (alpha)"))
    power = _share(gettext_lazy("Power"))
    baseline = _share(gettext_lazy("Null rate of a single chatbot"))
    discordance = _share(gettext_lazy("Share of turns in which one of two chatbots alone is selected"))
    turns = forms.IntegerField(
        label=gettext_lazy("Sample size in turns"),
        help_text=gettext_lazy("Only turns that count. Leave it empty to plan none."),
        min_value=1,
        max_value=LARGEST,
        required=False,
    )
    stops = forms.BooleanField(label=gettext_lazy("End the campaign at this sample size"), required=False)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def analysis_plan(request: HttpRequest, key: str) -> HttpResponse:
    """Show the plan; save it, and work out what all settings need."""
    desk = campaign_context_for(request, key, Act.SET_UP)
    if not desk.campaign.is_live:
        raise NotFound(_("This campaign has no analysis plan."), hint=_("Only live campaigns have one."))
    plan = plan_of(desk.campaign)
    form = PlanForm(request.POST if request.method == "POST" else None, initial=_initial(plan))
    trouble, status = "", 200
    if request.method == "POST":
        try:
            if form.is_valid():
                return _save(request, desk, form)
            status = 400
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {**frame(desk, "console_analysis_plan"), "form": form, "plan": plan, "trouble": trouble}
    return render(request, "console/analysis_plan.html", context, status=status)


def _save(request: HttpRequest, desk: CampaignContext, form: PlanForm) -> HttpResponse:
    user = person(request)
    plan = plan_set(campaign=desk.campaign, values=form.cleaned_data, by=user)
    messages.success(request, _("Saved."))
    inquiry = study_sizes_ask(desk.campaign, plan, by=user.public_id)
    return redirect("console_study_sizes", key=desk.key, inquiry=inquiry.public_id)


def _initial(plan: AnalysisPlan) -> dict[str, Any]:
    return {name: getattr(plan, name) for name in PlanForm.base_fields}


@console_page
@require_safe
def study_sizes_of(request: HttpRequest, key: str, inquiry: uuid.UUID) -> HttpResponse:
    """Show the sizes of all settings side by side; the part that changes while the worker computes."""
    desk = campaign_context_for(request, key, Act.SET_UP)
    found = inquiry_get(kind=STUDY_SIZES, public_id=inquiry, subject=desk.campaign.public_id)
    context = {"key": desk.key, "inquiry": found, "rows": _rows(desk, found), "trouble": found.trouble_text}
    context["waiting"] = found.answered_at is None
    part = "console/_study_sizes.html" if request.headers.get("HX-Request") else "console/study_sizes.html"
    return render(request, part, {**frame(desk, "console_analysis_plan"), **context})


def _rows(desk: CampaignContext, inquiry: Inquiry) -> list[dict[str, Any]]:
    rows = (inquiry.result or {}).get("settings", [])
    return [
        {
            **row,
            "turns": whole(row["turns"]),
            "conversations": whole(row["conversations"]),
            "money": f"{fixed(row['money'])} {desk.campaign.currency}".strip(),
            "days": "–" if row["days"] is None else fixed(row["days"], 1),
        }
        for row in rows
    ]
