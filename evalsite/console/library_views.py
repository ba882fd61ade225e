"""Views of the building blocks of campaigns: chatbots with versions, and prompt sets."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from evalsite.campaigns import library
from evalsite.campaigns.endpoint_access import may_use_endpoints, role_in
from evalsite.campaigns.permissions import MAKERS
from evalsite.console.endpoints import endpoints_by_version
from evalsite.console.page_frame import person
from evalsite.console.tables import ROWS, log_rows, page_number, paged
from evalsite.console.views import console_page
from evalsite.core.audit import audit_of
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.prompts.services import prompt_set_rename


@console_page
@require_safe
def chatbots(request: HttpRequest) -> HttpResponse:
    """List the chatbots of the person's organisations."""
    own, start = library.chatbots_owned(person(request)), page_number(request.GET)
    rows = list(own[start : start + ROWS + 1])
    context = {"rows": rows[:ROWS], "of": own.count(), **paged(request.GET, start, bool(rows[ROWS:]))}
    return render(request, "console/library/chatbots.html", context)


@console_page
@require_safe
def chatbot(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show one chatbot: versions, their campaigns, and the completeness of their replies."""
    found = library.chatbot_owned(person(request), public_id)
    versions = list(found.versions.order_by("-pk")[: library.MOST_VERSIONS])
    live = endpoints_by_version(versions)
    context = {
        "chatbot": found,
        "may_use": may_use_endpoints(found.organisation, person(request)),
        "versions": [(one, live.get(one.pk)) for one in versions],
        "completeness": library.completeness_of_chatbot(versions),
        "entrants": library.entrants_of_chatbot(found),
        "log": log_rows(list(audit_of(found.public_id)[:ROWS])),
    }
    return render(request, "console/library/chatbot.html", context)


@console_page
@require_safe
def prompt_sets(request: HttpRequest) -> HttpResponse:
    """List the prompt sets of the person's organisations."""
    own, start = library.prompt_sets_owned(person(request)), page_number(request.GET)
    rows = list(own[start : start + ROWS + 1])
    context = {"rows": rows[:ROWS], "of": own.count(), **paged(request.GET, start, bool(rows[ROWS:]))}
    return render(request, "console/library/prompt_sets.html", context)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def prompt_set(request: HttpRequest, public_id: uuid.UUID) -> HttpResponse:
    """Show one prompt set: its campaigns, the versions with replies, and its prompts. POST gives it another name.

    ?lacking=<version> lists the prompts without a reply of that version.
    """
    found, start = library.prompt_set_owned(person(request), public_id), page_number(request.GET)
    may_rename = role_in(found.organisation, person(request)) in MAKERS
    if request.method == "POST":
        if not may_rename:
            raise NotAllowed(_("Only owners and managers name prompt sets."))
        prompt_set_rename(prompt_set=found, name=request.POST.get("name", ""), by=person(request))
        return redirect("console_prompt_set", public_id)
    completeness = library.completeness_of_set(found)
    lacking = _lacking(request.GET.get("lacking", ""), [row.version for row in completeness])
    prompts = library.prompts_shown(found, lacking)
    page, campaigns = list(prompts[start : start + ROWS + 1]), list(library.campaigns_using(found))
    context: dict[str, Any] = {
        "prompt_set": found,
        "may_rename": may_rename,
        "campaigns": campaigns,
        "live_turns": any(one.turns is None for one in page) and any(one.is_live for one in campaigns),
        "completeness": completeness,
        "lacking": lacking,
        "log": [] if start or lacking else log_rows(list(audit_of(found.public_id)[:ROWS])),
        "rows": [{"prompt": one, "text": (one.turns or [{"text": ""}])[-1]["text"]} for one in page[:ROWS]],
        **paged(request.GET, start, bool(page[ROWS:])),
    }
    return render(request, "console/library/prompt_set.html", context)


def _lacking(text: str, versions: list[Any]) -> Any:
    if not text:
        return None
    found = next((one for one in versions if str(one.public_id) == text), None)
    if found is None:
        raise InvalidInput(_("No such version has replies to these prompts."), hint=_("Go back and choose again."))
    return found
