"""Views of submissions in the console: the queue, one submission, the decision, and what the campaign accepts."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.campaigns.permissions import Act
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.submissions import SubmissionsForm, accepted_initial, queue_context, review_context
from evalsite.console.tables import page_number
from evalsite.console.views import console_page
from evalsite.core.errors import InvalidInput, NotFound, TouchstoneError
from evalsite.submissions.models import Submission
from evalsite.submissions.moderation import submission_approve, submission_refuse
from evalsite.submissions.selectors import submission_get
from evalsite.submissions.services import submissions_accept


@console_page
@require_safe
def submissions(request: HttpRequest, key: str) -> HttpResponse:
    """List what was submitted to a campaign."""
    desk = campaign_context_for(request, key, Act.MODERATE)
    context = {**frame(desk, "console_submissions"), **queue_context(desk), "may_set": desk.may(Act.SUBMISSIONS)}
    return render(request, "console/submissions.html", context)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def submission(request: HttpRequest, key: str, public_id: uuid.UUID) -> HttpResponse:
    """Show a submission's replies and flags; approve or refuse it with POST."""
    desk = campaign_context_for(request, key, Act.MODERATE)
    found = submission_get(public_id=public_id, user=desk.user)
    if found.campaign != desk.campaign:
        raise NotFound(_("There is no such submission."), hint=_("Look at the list."))
    trouble, status = "", 200
    if request.method == "POST":
        try:
            return _decided(request, desk, found)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {**frame(desk, "console_submissions"), **review_context(found, page_number(request.GET))}
    return render(request, "console/submission.html", {**context, "trouble": trouble}, status=status)


def _decided(request: HttpRequest, desk: CampaignContext, found: Submission) -> HttpResponse:
    if "approve" in request.POST:
        submission_approve(submission=found, by=desk.user)
        messages.success(request, _("It has joined."))
    else:
        submission_refuse(submission=found, reason=request.POST.get("reason", ""), by=desk.user)
        messages.success(request, _("It is refused. Its submitter reads the reason."))
    return redirect(desk.url("console_submissions"))


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def settings(request: HttpRequest, key: str) -> HttpResponse:
    """Decide what the campaign accepts."""
    desk = campaign_context_for(request, key, Act.SUBMISSIONS)
    form = SubmissionsForm(request.POST if request.method == "POST" else None, initial=accepted_initial(desk.campaign))
    if request.method == "POST" and form.is_valid():
        try:
            submissions_accept(campaign=desk.campaign, accepted=form.accepted(), by=person(request))
        except InvalidInput as error:
            form.add_error(error.field if error.field in form.fields else None, f"{error.message} {error.hint}")
        else:
            messages.success(request, _("Saved."))
            return redirect(desk.url("console_submissions"))
    context = {**frame(desk, "console_submissions"), "form": form}
    return render(request, "console/submission_settings.html", context, status=400 if form.errors else 200)
