"""Views of uploaded vote files: choose a file, look at it, name its columns and labels if needed, import it."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.campaigns.drafts import organisations_to_set_up_in
from evalsite.campaigns.models import Campaign
from evalsite.console.forms import VoteFileForm
from evalsite.console.page_frame import person
from evalsite.console.views import console_page
from evalsite.core.errors import NotAllowed, TouchstoneError
from evalsite.core.models import Inquiry
from evalsite.exchange.vote_uploads import (
    OUTCOMES,
    READ,
    TAKE,
    VoteFileOptions,
    options_of,
    vote_file_inquiry,
    vote_file_keep,
    vote_file_of,
    vote_file_read,
    vote_file_take,
)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """Choose a vote file."""
    user, trouble, status = person(request), "", 200
    _own_organisations(request)
    form = VoteFileForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        try:
            upload = vote_file_keep(file=form.cleaned_data["file"], by=user)
            options = VoteFileOptions(encoding=form.cleaned_data["encoding"])
            inquiry = vote_file_read(upload=upload, options=options, by=user)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
        else:
            return redirect("console_vote_file", inquiry=inquiry.public_id)
    status = 400 if form.errors else status
    return render(request, "console/votes/new.html", {"form": form, "trouble": trouble}, status=status)


def _own_organisations(request: HttpRequest) -> list[Any]:
    own = organisations_to_set_up_in(person(request))
    if not own:
        raise NotAllowed(
            _("You may set up campaigns in no organisation."), hint=_("Ask an owner for the role of manager.")
        )
    return own


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def file(request: HttpRequest, inquiry: uuid.UUID) -> HttpResponse:
    """Show what is in the file, or what is wrong with it, and take the next step."""
    user, trouble, status = person(request), "", 200
    found = vote_file_inquiry(public_id=inquiry, by=user)
    if request.method == "POST":
        try:
            return redirect("console_vote_file", inquiry=_next(request, found).public_id)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {"trouble": trouble, "organisations": _own_organisations(request), **_context(found)}
    return render(request, "console/votes/file.html", context, status=status)


@console_page
@require_safe
def state(request: HttpRequest, inquiry: uuid.UUID) -> HttpResponse:
    """Return the part of that page that changes."""
    found = vote_file_inquiry(public_id=inquiry, by=person(request))
    context = {"organisations": _own_organisations(request), **_context(found)}
    return render(request, "console/votes/_state.html", context)


def _next(request: HttpRequest, found: Inquiry) -> Inquiry:
    """Ask for the import, or for another look with other columns, labels or another encoding."""
    user, sent = person(request), request.POST
    upload = vote_file_of(public_id=uuid.UUID(found.args["upload"]), by=user)
    if "take" not in sent:
        options = VoteFileOptions(
            encoding=sent.get("encoding", ""),
            labels=_labels(sent),
            a=sent.get("a", ""),
            b=sent.get("b", ""),
            winner=sent.get("winner", ""),
        )
        return vote_file_read(upload=upload, options=options, by=user)
    own = _own_organisations(request)
    chosen = next((one for one in own if one.slug == sent.get("organisation")), own[0])
    visible = sent.get("visibility")
    visibility = Campaign.Visibility(visible) if visible in Campaign.Visibility.values else Campaign.Visibility.PRIVATE
    return vote_file_take(
        upload=upload,
        options=options_of(found),
        name=sent.get("campaign", ""),
        organisation=chosen,
        visibility=visibility,
        by=user,
    )


def _labels(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the labels whose meaning was chosen: label-0 and meaning-0, and so on."""
    numbers = [name.removeprefix("label-") for name in sent if name.startswith("label-")]
    return {sent[f"label-{one}"]: sent[f"meaning-{one}"] for one in numbers if sent.get(f"meaning-{one}")}


def _context(found: Inquiry) -> dict[str, Any]:
    options, result = options_of(found), found.result or {}
    problem = result.get("problem")
    return {
        "inquiry": found,
        "waiting": found.answered_at is None,
        "importing": found.kind == TAKE,
        "failed": found.trouble_text,
        "problem": problem,
        "result": result if result and not problem else None,
        "facts": _facts(result) if found.kind == READ and result and not problem else [],
        "options": options,
        "labels": _asked_labels(problem, options),
        "chosen": [("a", _("Chatbot A"), options.a), ("b", _("Chatbot B"), options.b),
                   ("winner", _("Winner"), options.winner)],
        "meanings": list(zip(OUTCOMES, (_("A is better"), _("B is better"), _("Tie"), _("Both are bad")), strict=True)),
        "visibilities": Campaign.Visibility.choices,
    }  # fmt: skip


def _facts(result: Mapping[str, Any]) -> list[tuple[str, int]]:
    labels = {
        "votes": _("Votes"),
        "a_better": _("A is better"),
        "b_better": _("B is better"),
        "ties": _("Tie"),
        "both_bad": _("Both are bad"),
        "prompts": _("Prompts"),
        "annotators": _("Annotators"),
        "chatbots": _("Chatbots"),
    }
    return [(label, result[name]) for name, label in labels.items()]


def _asked_labels(problem: Mapping[str, Any] | None, options: VoteFileOptions) -> list[tuple[str, str]]:
    """Return the labels to explain, with their meanings so far."""
    asked = dict.fromkeys([*options.labels, *(problem["labels"] if problem else ())])
    return [(label, options.labels.get(label, "")) for label in asked]
