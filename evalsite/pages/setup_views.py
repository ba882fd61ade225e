"""The setup page: the holder of the setup link creates the first administrator.

The link's secret is in the address of the first page only. The form sends it in its body, because the log names the
addresses of refused requests.
"""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsite.accounts.account_mail import setup_mail_queue
from evalsite.accounts.first_administrator import administrator_create, setup_link_check
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.core.mail import mails_are_sent
from evalsite.core.throttle import admit, client_network
from evalsite.pages.account_views import BACKEND, SignUp, mark_device


@never_cache
@require_safe
def setup_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Show the form of the first administrator."""
    _count(request)
    setup_link_check(secret)
    return _form(request, SignUp(), secret)


@never_cache
@require_POST
def setup(request: HttpRequest) -> HttpResponse:
    """Create the first administrator, and log them in."""
    _count(request)
    secret, form = request.POST.get("secret", ""), SignUp(request.POST)
    setup_link_check(secret)
    if not form.is_valid():
        return _form(request, form, secret)
    try:
        user = administrator_create(secret=secret, language=get_language() or "", **form.cleaned_data)
    except InvalidInput as refused:
        form.add_error(refused.field or None, f"{refused.message} {refused.hint}".strip())
        return _form(request, form, secret)
    login(request, user, backend=BACKEND)
    messages.success(request, _("You are the administrator of this site now."))
    return mark_device(redirect("me"), user)


@require_POST
def setup_mail(request: HttpRequest) -> HttpResponse:
    """Send the setup link to the configured address."""
    _count(request)
    if not mails_are_sent():
        raise Conflict(_("This site has no mail server."), hint=_("Set EMAIL_HOST, or run: manage.py setup_link"))
    setup_mail_queue()
    messages.info(request, _("The setup link is on its way to the configured address."))
    return redirect("home")


def _count(request: HttpRequest) -> None:
    admit(what="setup", who=client_network(request), at_most=3 * settings.LOG_INS_PER_5_MINUTES, per_s=300)


def _form(request: HttpRequest, form: SignUp, secret: str) -> HttpResponse:
    words = {
        "title": _("Create the first administrator"),
        "intro": _("The administrator manages accounts, organisations and the health of this site."),
        "button": _("Create the administrator"),
        "action": reverse("setup"),
        "hidden": [("secret", secret)],
    }
    return render(request, "account.html", {"form": form, **words}, status=400 if form.errors else 200)
