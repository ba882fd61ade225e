"""The page that annotates conversations: the size of the sample first, then the launch."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.campaigns.models import Campaign
from evalsite.console.annotation_forms import AnnotationForm
from evalsite.console.page_frame import person
from evalsite.console.views import console_page
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.operations.annotations import annotation_launch
from evalsite.scorecards.annotation import judgments_planned, sample_plan
from evalsite.scorecards.models import Annotation
from evalsite.scorecards.selectors import conversation_set_get


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def annotate(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show the form, the sample that it describes, or the campaign that it launched."""
    found = conversation_set_get(person(request), public_id, change=True)
    form = AnnotationForm(request.POST or None, initial={"name": _("Errors of %(set)s") % {"set": found.name[:150]}})
    context = {"set": found, "form": form}
    if request.method != "POST" or not form.is_valid():
        status = 400 if form.errors else 200
        return render(request, "console/conversations/annotate.html", context, status=status)
    try:
        wanted = form.request()
        if request.POST.get("check"):
            plan = sample_plan(found, wanted.sample, seed=wanted.seed, unit=wanted.unit)
            judgments = judgments_planned(plan, wanted.votes, wanted.unit)
            sizes = {"plan": plan, "drawn": sum(len(one.drawn) for one in plan), "judgments": judgments}
            sizes["whole"] = wanted.unit != Annotation.Unit.REPLY
            return render(request, "console/conversations/annotate.html", {**context, **sizes})
        draft = bool(request.POST.get("draft"))
        campaign = annotation_launch(conversation_set=found, request=wanted, by=person(request), draft=draft)
    except (InvalidInput, Conflict) as error:
        return render(request, "console/conversations/annotate.html", {**context, "trouble": error}, status=400)
    if campaign.state == Campaign.State.DRAFT:
        messages.success(request, _("The campaign is a draft. An owner launches it."))
        return redirect("console_setup", campaign.public_id)
    messages.success(request, _("The campaign collects judgments."))
    return redirect("console_campaign", campaign.public_id)
