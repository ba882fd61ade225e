"""Views of payments, for roles that may pay."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from evalsite.campaigns.permissions import Act
from evalsite.console.page_frame import CampaignContext, campaign_context_for, frame, person
from evalsite.console.payments import bonuses_give_pending, bonuses_keep, mark_paid, payments_context
from evalsite.console.views import console_page
from evalsite.core.errors import TouchstoneError
from evalsite.judgments.payments import payment_export


@console_page
@require_http_methods(["GET", "HEAD", "POST"])
def payments(request: HttpRequest, key: str) -> HttpResponse:
    """Show the statements. A bonus list is reviewed first; due amounts are marked as paid at once."""
    desk, trouble, status = campaign_context_for(request, key, Act.PAY), "", 200
    if request.method == "POST":
        try:
            _sent(request, desk)
            return redirect("console_payments", key=key)
        except TouchstoneError as error:
            trouble, status = f"{error.message} {error.hint}".strip(), error.status
    context = {
        **frame(desk, "console_payments"),
        **payments_context(desk, request.GET, anew=bool(trouble)),
        "trouble": trouble,
        "reference": request.POST.get("reference", ""),
    }
    return render(request, "console/payments.html", context, status=status)


def _sent(request: HttpRequest, desk: CampaignContext) -> None:
    if "paid" in request.POST:
        made = mark_paid(desk.campaign, request.POST, person(request))
        words = ngettext("%(n)s payment was marked.", "%(n)s payments were marked.", made) % {"n": made}
    elif "take" in request.POST:
        given = bonuses_give_pending(desk.campaign, person(request))
        words = ngettext("%(n)s bonus was given.", "%(n)s bonuses were given.", given) % {"n": given}
    else:
        bonuses_keep(desk.campaign, request.FILES.get("file"), person(request))
        words = _("Look at the list, and then give the bonuses.")
    messages.success(request, words)


@console_page
@require_POST
def file(request: HttpRequest, key: str) -> HttpResponseBase:
    """Return the payment file. It requires POST, because the audit log records who downloaded it."""
    desk = campaign_context_for(request, key, Act.PAY)
    rows = payment_export(campaign=desk.campaign, by=person(request))
    response = StreamingHttpResponse(rows, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{desk.campaign.slug}-payments.csv"'
    return response
