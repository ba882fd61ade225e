"""Views of studies: the list, a new one out of a live draft, progress and launch."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.console.page_frame import person
from evalsite.console.studies import StudyForm, arms_table, study_answer, study_context
from evalsite.console.tables import ROWS, page_number, paged
from evalsite.console.views import console_page
from evalsite.core.errors import TouchstoneError
from evalsite.operations.studies import (
    studies_of,
    studies_progress,
    study_for,
    study_launch,
    study_launchable,
    study_make,
    study_template,
    study_templates,
)


@console_page
@require_safe
def studies(request: HttpRequest) -> HttpResponse:
    """List the studies of which the person may see an arm, newest first."""
    user, start = person(request), page_number(request.GET)
    found = list(studies_of(user).order_by("-pk")[start : start + ROWS + 1])
    rows = [(one, study_answer(one)) for one in studies_progress(found[:ROWS], user)]
    context = {"rows": rows, **paged(request.GET, start, bool(found[ROWS:]))}
    return render(request, "console/studies/list.html", context)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Choose a live draft; then choose the arms, look at them, and make the study."""
    user, key = person(request), request.GET.get("draft", "")
    if not key:
        return render(request, "console/studies/choose.html", {"drafts": study_templates(user)})
    draft = study_template(key=key, user=user)
    form = StudyForm(draft, request.POST if request.method == "POST" else None)
    context = {"draft": draft, "form": form, "trouble": "", "arms": []}
    status = 200
    if request.method == "POST":
        try:
            if form.is_valid() and "show" in request.POST:
                context["arms"] = arms_table(draft, form.given())
            elif form.is_valid():
                return redirect("console_study", study_make(key=key, **form.given(), by=user).public_id)
            status = 200 if form.is_valid() else 400
        except TouchstoneError as error:
            context["trouble"], status = f"{error.message} {error.hint}".strip(), error.status
    return render(request, "console/studies/new.html", context, status=status)


@console_page
@require_safe
def study(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show a study: its address for annotators, and how far each arm is."""
    user = person(request)
    found = study_for(public_id=public_id, user=user)
    context = study_context(studies_progress([found], user)[0])
    may_launch = bool(context["drafts"]) and study_launchable(found, user)
    return render(request, "console/studies/study.html", {**context, "may_launch": may_launch})


@console_page
@require_POST
def launch(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Launch all arms of a study, or none."""
    try:
        study_launch(public_id=public_id, by=person(request))
        messages.success(request, _("Launched. Give annotators the address of the study."))
    except TouchstoneError as error:
        if error.status != 409:
            raise
        messages.error(request, f"{error.message} {error.hint}".strip())
    return redirect("console_study", public_id)
