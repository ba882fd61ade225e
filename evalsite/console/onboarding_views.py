"""Views of annotator onboarding: invitations, arrivals and qualification items."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evalsite.campaigns.drafts import draft_check
from evalsite.campaigns.models import Campaign, Onboarding
from evalsite.campaigns.onboarding import NewQualificationItem, onboarding_set, qualification_of, qualification_set
from evalsite.campaigns.permissions import Act
from evalsite.campaigns.selectors import aspect_primary, onboarding_of
from evalsite.console.formatting import unchecked_text
from evalsite.console.forms import AnnotatorInviteForm, ArrivalsForm, QualificationForm
from evalsite.console.gold import verdict_words
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.setup import arrive_url
from evalsite.console.views import console_page
from evalsite.core.errors import InvalidInput, TouchstoneError
from evalsite.judgments.arrivals import (
    arrivals_are_checked,
    invitation_issue,
    invitation_revoke,
    invitations_of,
    prolific_token,
)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def invitations(request: HttpRequest, key: str) -> HttpResponse:
    """Show and change invitation links. The address of a new one is displayed only once."""
    desk = campaign_context_for(request, key, Act.INVITE)
    form, address, trouble, status = (
        AnnotatorInviteForm(request.POST if "invite" in request.POST else None),
        "",
        "",
        200,
    )
    if request.method == "POST":
        try:
            address = _invited(request, desk, form)
            if not address:
                return redirect("console_invitations", key=key)
            form = AnnotatorInviteForm()
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {"form": form, "address": address, "trouble": trouble, "rows": list(invitations_of(desk.campaign)[:200])}
    shown = {**frame(desk, "console_annotators"), **context}
    return render(request, "console/invitations.html", shown, status=status)


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def arrivals(request: HttpRequest, key: str) -> HttpResponse:
    """Show and change arrivals from the crowd platform: the address and the study."""
    desk = campaign_context_for(request, key, Act.INVITE)
    onboarding = onboarding_of(desk.campaign)
    initial = {"secret_required": onboarding.secret_required, "study": onboarding.study}
    form, trouble, status = ArrivalsForm(request.POST if "save" in request.POST else None, initial=initial), "", 200
    if request.method == "POST":
        try:
            _arrivals_set(request, desk, form)
            messages.success(request, _("Saved."))
            return redirect("console_arrivals", key=key)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    shown = {**frame(desk, "console_annotators"), **_arrivals(desk.campaign), "form": form, "trouble": trouble}
    return render(request, "console/arrivals.html", shown, status=status)


def _arrivals(campaign: Campaign) -> dict[str, object]:
    address = arrive_url(campaign)
    return {
        "address": address,
        "secret": onboarding_of(campaign).secret_required,
        "by_api": onboarding_of(campaign).platform == Onboarding.Platform.PROLIFIC and bool(prolific_token(campaign)),
        "unchecked": unchecked_text() if address and not arrivals_are_checked(campaign) else "",
    }


def _arrivals_set(request: HttpRequest, desk: CampaignContext, form: ArrivalsForm) -> None:
    if "renew" in request.POST:
        number = onboarding_of(desk.campaign).secret_number + 1
        onboarding_set(campaign=desk.campaign, by=person(request), secret_number=number)
        return
    if not form.is_valid():
        raise InvalidInput(_("Look at the fields below."), field="form")
    onboarding_set(campaign=desk.campaign, by=person(request), **form.cleaned_data)


def _invited(request: HttpRequest, desk: CampaignContext, form: AnnotatorInviteForm) -> str:
    """Create or end an invitation and return the new address, or ""."""
    if "revoke" in request.POST:
        invitation_revoke(campaign=desk.campaign, name=request.POST["revoke"], by=person(request))
        messages.success(request, _("The invitation was revoked."))
        return ""
    if not form.is_valid():
        raise InvalidInput(_("Look at the fields below."), field="form")
    secret = invitation_issue(campaign=desk.campaign, by=person(request), **form.cleaned_data)
    return settings.SITE_URL + reverse("join", args=[secret])


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def qualification(request: HttpRequest, key: str) -> HttpResponse:
    """Show and change the qualification items that precede the first assignment."""
    desk = campaign_context_for(request, key, Act.SET_UP)
    draft_check(desk.campaign)
    form, trouble, status = QualificationForm(request.POST if "write" in request.POST else None), "", 200
    if request.method == "POST":
        try:
            _qualified(request, desk, form)
            messages.success(request, _("Saved."))
            return redirect("console_qualification", key=key)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    shown = {**frame(desk, "console_setup"), **_qualification(desk.campaign), "form": form, "trouble": trouble}
    return render(request, "console/qualification.html", shown, status=status)


def _qualification(campaign: Campaign) -> dict[str, object]:
    items, words = qualification_of(campaign), verdict_words()
    rows = [
        {"text": item.turns[-1]["text"], "of": item, "right": words[item.right], "number": number}
        for number, item in enumerate(items)
    ]
    return {"rows": rows, "pass_mark": onboarding_of(campaign).pass_mark}


def _qualified(request: HttpRequest, desk: CampaignContext, form: QualificationForm) -> None:
    """Add or remove an item, or change the pass mark."""
    items, mark = qualification_of(desk.campaign), onboarding_of(desk.campaign).pass_mark
    if "write" in request.POST:
        items, mark = [*items, _written(desk.campaign, form)], mark + 1
    elif "remove" in request.POST:
        items = [item for number, item in enumerate(items) if str(number) != request.POST["remove"]]
        mark = min(mark, len(items))
    else:
        text = request.POST.get("pass_mark", "")
        mark = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else -1
    qualification_set(campaign=desk.campaign, items=items, pass_mark=mark, by=person(request))


def _written(campaign: Campaign, form: QualificationForm) -> NewQualificationItem:
    if not form.is_valid():
        raise InvalidInput(_("Look at the fields below."), field="form")
    cells = form.cleaned_data
    if cells["right"] not in aspect_primary(campaign).choices:
        raise InvalidInput(
            _("Annotators cannot answer that here."), hint=_("Allow it in the step Goal."), field="right"
        )
    turns = [{"speaker": "user", "text": cells["text"]}]
    return NewQualificationItem(turns, cells["reply_a"], cells["reply_b"], cells["right"], cells["explanation"])
