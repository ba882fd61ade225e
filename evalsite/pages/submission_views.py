"""Views of submitters: submit a chatbot, follow what was submitted, withdraw it."""

import uuid
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.accounts.models import User
from evalsite.campaigns.models import Campaign
from evalsite.core.column_choice import ColumnsUnclear
from evalsite.core.errors import NotAllowed, NotFound, TouchstoneError
from evalsite.core.row_files import MOST_BYTES, MOST_ROWS
from evalsite.pages.reply_files import reply_file_drop, reply_file_keep, reply_file_kept
from evalsite.pages.submission_forms import SubmitForm
from evalsite.pages.submissions import submission_context, submissions_listed
from evalsite.presentation.column_choice import can_be_chosen
from evalsite.submissions.access import campaign_to_submit_to, prompts_check, submitter_for
from evalsite.submissions.checks import report_kept
from evalsite.submissions.models import Submission, SubmissionSettings
from evalsite.submissions.prompt_files import TYPES, prompt_file
from evalsite.submissions.selectors import (
    campaigns_accepting,
    closed_reason,
    organisations_to_submit_for,
    submission_get,
    submissions_of,
    with_events,
)
from evalsite.submissions.services import SentReplies, submission_check, submission_create, submission_withdraw

LISTED = 200
BOARDS_LISTED = 30


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def submit(request: HttpRequest, key: str) -> HttpResponse:
    """Show the form of a submission, and what became of one that was sent."""
    user = cast("User", request.user)
    campaign, settings = campaign_to_submit_to(key=key, user=user)
    own = organisations_to_submit_for(user, settings)
    posted = request.method == "POST"
    sent = (request.POST, request.FILES) if posted else (None, None)
    form = SubmitForm(settings, own, *sent, initial={"name": request.GET.get("name", "")[:200]})
    report, status, checked = None, 200, False
    if posted and form.is_valid():
        try:
            found = _taken(request, campaign, settings, form, user)
        except TouchstoneError as refused:
            form.refuse(refused)
            status = refused.status
        else:
            if isinstance(found, Submission):
                return redirect("submission", submission=found.public_id)
            checked, report = True, found
    if form.errors and status == 200:
        status = 400
    kept = reply_file_kept(key=form.kept, given=request.POST, prompt_set=campaign.prompt_set, by=user)
    answer = {"form": form, "report": report, "checked": checked, "kept": kept}
    return render(request, "submit.html", {**_campaign_context(campaign, settings, key), **answer}, status=status)


def _taken(
    request: HttpRequest, campaign: Campaign, settings: SubmissionSettings, form: SubmitForm, user: User
) -> Submission | dict[str, Any]:
    """Return the submission; of a check alone, the report (empty for an endpoint).

    A file whose columns are unclear is kept, so that they can be chosen.
    """
    who = submitter_for(settings=settings, user=user, slug=form.cleaned_data["organisation"])
    sent = form.sent(user)
    try:
        if "check" in request.POST:
            checked = submission_check(campaign=campaign, who=who, sent=sent)
            return report_kept(checked.report) if checked.report else {}
        made, _checked = submission_create(campaign=campaign, who=who, sent=sent)
    except ColumnsUnclear as unclear:
        if isinstance(sent.source, SentReplies) and can_be_chosen(unclear):
            form.kept = reply_file_keep(sent=sent.source, by=user)
        raise
    reply_file_drop(key=form.kept, by=user)
    return made


def _campaign_context(campaign: Campaign, settings: SubmissionSettings, key: str) -> dict[str, Any]:
    _code, why = closed_reason(campaign, settings, timezone.now())
    return {
        "key": key,
        "campaign": campaign,
        "settings": settings,
        "closed": why,
        "moderated": settings.admission == SubmissionSettings.Admission.MODERATED,
        "allowed": list(settings.organisations.order_by("name")) if settings.pk else [],
        "megabytes": MOST_BYTES // 1_000_000,
        "most_rows": MOST_ROWS,
        "forms": list(TYPES),
    }


@never_cache
@login_required
@require_safe
def prompts(request: HttpRequest, key: str, form: str) -> HttpResponse:
    """Return the prompts as a file."""
    campaign, settings = campaign_to_submit_to(key=key, user=cast("User", request.user))
    prompts_check(campaign=campaign, settings=settings, user=cast("User", request.user))
    if form not in TYPES:
        raise NotFound(_("There is no such file."), hint=_("Choose CSV, JSON Lines or text."))
    response = HttpResponse(prompt_file(campaign, form), content_type=f"{TYPES[form]}; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{campaign.slug}-prompts.{form}"'
    return response


@never_cache
@login_required
@require_safe
def submissions(request: HttpRequest) -> HttpResponse:
    """List the submissions of this person's organisations, and the boards that accept more."""
    rows = list(with_events(submissions_of(cast("User", request.user)))[:LISTED])
    context = {"submissions": submissions_listed(rows), "boards": campaigns_accepting(most=BOARDS_LISTED)}
    return render(request, "submissions.html", context)


@never_cache
@login_required
@require_safe
def submission(request: HttpRequest, submission: uuid.UUID) -> HttpResponse:
    """Show one submission with its private results."""
    user = cast("User", request.user)
    found = submission_get(public_id=submission, user=user)
    return render(request, "submission.html", submission_context(found, user))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, submission: uuid.UUID) -> HttpResponse:
    """Ask whether to withdraw a submission, and withdraw it with POST."""
    user = cast("User", request.user)
    found = submission_get(public_id=submission, user=user)
    context = submission_context(found, user)
    if not context["may_withdraw"]:
        raise NotAllowed(_("This submission cannot be withdrawn."), hint=_("Look at its state."))
    if request.method == "POST":
        submission_withdraw(submission=found, reason=request.POST.get("reason", ""), by=user)
        messages.success(request, _("It is withdrawn."))
        return redirect("submission", submission=found.public_id)
    return render(request, "submission_withdraw.html", context)
