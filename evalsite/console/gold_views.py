"""View of a campaign's gold.

Only roles that may add gold see it, because a viewer may judge and must not know the answers.
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from evalsite.campaigns.permissions import Act
from evalsite.console.forms import GoldForm
from evalsite.console.gold import gold_context, gold_form, gold_import_pending, gold_keep, gold_write
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.views import console_page
from evalsite.core.errors import InvalidInput, TouchstoneError


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def gold(request: HttpRequest, key: str) -> HttpResponse:
    """Show the items. A file is reviewed first; an item from the form is added at once."""
    desk = campaign_context_for(request, key, Act.GOLD)
    form, trouble, status = gold_form(desk.campaign), "", 200
    if request.method == "POST":
        form = gold_form(desk.campaign, request.POST) if "write" in request.POST else form
        try:
            _sent(request, desk, form)
            return redirect("console_gold", key=key)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {**frame(desk, "console_gold"), **gold_context(desk, request.GET), "form": form, "trouble": trouble}
    return render(request, "console/gold.html", context, status=status)


def _sent(request: HttpRequest, desk: CampaignContext, form: GoldForm) -> None:
    if "write" in request.POST:
        if not form.is_valid():
            raise InvalidInput(_("Look at the fields below."), field="form")
        gold_write(desk.campaign, form, person(request))
        messages.success(request, _("The gold item was added."))
    elif "take" in request.POST:
        added = gold_import_pending(desk.campaign, person(request))
        words = ngettext("%(n)s gold item was added.", "%(n)s gold items were added.", added) % {"n": added}
        messages.success(request, words)
    else:
        gold_keep(desk.campaign, request.FILES.get("file"), person(request))
