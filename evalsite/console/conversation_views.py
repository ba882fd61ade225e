"""Views of imported conversations and their scorecards."""

import tempfile
import uuid
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.models import Organisation
from evalsite.console.conversation_pages import chatbot_context, csv_rows, set_context, shown_scorecard
from evalsite.console.page_frame import person
from evalsite.console.tables import ROWS, page_number, paged
from evalsite.console.views import console_page
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound, TouchstoneError
from evalsite.core.row_files import csv_text
from evalsite.core.throttle import admit_costly
from evalsite.core.uploads import uploads_check
from evalsite.exchange.conversation_import import ImportReport, file_import
from evalsite.scorecards.models import ConversationSet
from evalsite.scorecards.selectors import (
    conversation_set_get,
    conversation_sets_of,
    has_chatbot,
    organisations_to_import,
    scorecard_document,
)
from evalsite.scorecards.services import conversation_set_delete, conversation_set_open, scorecard_request, user_erase


@console_page
@require_safe
def conversation_sets(request: HttpRequest) -> HttpResponse:
    """List the sets of conversations of the person's organisations."""
    own, start = conversation_sets_of(person(request)), page_number(request.GET)
    rows = list(own[start : start + ROWS + 1])
    context = {"rows": rows[:ROWS], "may_import": bool(organisations_to_import(person(request)))}
    return render(
        request, "console/conversations/sets.html", {**context, **paged(request.GET, start, bool(rows[ROWS:]))}
    )


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def import_file(request: HttpRequest) -> HttpResponse:
    """Import a file of conversations or ratings, or check it."""
    own = organisations_to_import(person(request))
    if not own:
        raise NotAllowed(_("You may import conversations into no organisation."), hint=_("Ask one of its owners."))
    values = request.POST if request.method == "POST" else request.GET
    chosen = _chosen(own, values.get("organisation", ""))
    context: dict[str, Any] = {"organisations": own, "chosen": chosen, "values": values}
    if request.method != "POST":
        return render(request, "console/conversations/import.html", context)
    try:
        into, report = _imported(request, chosen)
    except (InvalidInput, Conflict) as error:
        return render(request, "console/conversations/import.html", {**context, "trouble": error}, status=400)
    if report.problems or request.POST.get("check"):
        context |= {"report": report, "counts": dict(report.counts), "most": len(report.problems)}
        return render(request, "console/conversations/import.html", context, status=400 if report.problems else 200)
    messages.success(
        request,
        ngettext("%(n)s row imported.", "%(n)s rows imported.", report.counts["added"]) % {"n": report.counts["added"]},
    )
    return redirect("console_conversation_set", into.public_id)


def _chosen(own: list[Organisation], public_id: str) -> Organisation:
    """Return the organisation of this id, or the first one without an id. Raises NotFound for one of others."""
    found = next((one for one in own if str(one.public_id) == public_id), None if public_id else own[0])
    if found is None:
        raise NotFound(_("There is no such organisation."), hint=_("It may be one that you are not in."))
    return found


def _imported(request: HttpRequest, organisation: Organisation) -> tuple[ConversationSet, ImportReport]:
    file = request.FILES.get("file")
    if file is None:
        raise InvalidInput(_("Choose a file."), field="file")
    admit_costly(what="upload", who=person(request).public_id)
    uploads_check([file])
    into = conversation_set_open(organisation=organisation, name=request.POST.get("set", ""), by=person(request))
    with tempfile.NamedTemporaryFile(suffix=Path(file.name or "").suffix) as copy:
        for chunk in file.chunks():
            copy.write(chunk)
        copy.flush()
        report = file_import(
            path=Path(copy.name),
            conversation_set=into,
            source=Path(file.name or "").name,
            chatbot=request.POST.get("chatbot", "").strip(),
            check=bool(request.POST.get("check")),
            by=person(request),
        )
    return into, report


@console_page
@require_safe
def conversation_set(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show the scorecard of a set."""
    found = conversation_set_get(person(request), public_id)
    return render(request, "console/conversations/scorecard.html", set_context(found, person(request), request.GET))


@console_page
@require_safe
def chatbot(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show one chatbot of a set: ?name=<chatbot>."""
    found, name = conversation_set_get(person(request), public_id), request.GET.get("name", "")
    if not has_chatbot(found, name):
        raise NotFound(_("The set has no such chatbot."), hint=_("Follow a link of the scorecard."))
    return render(request, "console/conversations/chatbot.html", chatbot_context(found, name))


@console_page
@require_safe
def scorecard_csv(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Send the scorecard as a table, with the weights of the address."""
    found = conversation_set_get(person(request), public_id)
    shown = shown_scorecard(found, request.GET)
    answer = HttpResponse(content_type="text/csv; charset=utf-8")
    answer["Content-Disposition"] = 'attachment; filename="scorecard.csv"'
    if shown is not None:
        answer.write(csv_text(csv_rows(shown)))
    return answer


@console_page
@require_safe
def scorecard_json(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Send the scorecard as the command prints it, with the weights of the address."""
    found = conversation_set_get(person(request), public_id)
    shown = shown_scorecard(found, request.GET)
    return JsonResponse(scorecard_document(shown) if shown is not None else {}, json_dumps_params={"indent": 2})


@console_page
@require_POST
def erase_user(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Delete the conversations and ratings of a user."""
    found = conversation_set_get(person(request), public_id, change=True)
    try:
        conversations, ratings = user_erase(
            conversation_set=found, user_id=request.POST.get("user_id", ""), by=person(request)
        )
    except TouchstoneError as error:
        messages.error(request, error.message)
    else:
        messages.success(
            request,
            _("Deleted: %(conversations)s conversations, %(ratings)s ratings.")
            % {"conversations": conversations, "ratings": ratings},
        )
    return redirect("console_conversation_set", found.public_id)


@console_page
@require_POST
def recompute(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Queue a new scorecard."""
    found = conversation_set_get(person(request), public_id, change=True)
    scorecard_request(found)
    return redirect("console_conversation_set", found.public_id)


@console_page
@require_POST
def delete(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Delete a set, after its name was typed."""
    found = conversation_set_get(person(request), public_id, change=True)
    if request.POST.get("confirm", "").strip() != found.name:
        messages.error(request, _("Type the name of the set to delete it."))
        return redirect("console_conversation_set", found.public_id)
    try:
        conversation_set_delete(conversation_set=found, by=person(request))
    except TouchstoneError as error:
        messages.error(request, error.message)
        return redirect("console_conversation_set", found.public_id)
    messages.success(request, _("The set was deleted."))
    return redirect("console_conversation_sets")
