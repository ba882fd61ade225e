"""Log-in by single sign-on: to the provider, and back from it."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from evalsite.core.errors import NotAllowed, NotFound
from evalsite.core.throttle import admit, client_network
from evalsite.judgments.annotators import annotator_adopt
from evalsite.pages.account_views import BACKEND, mark_device
from evalsite.pages.visitors import known_annotator

BEGUN_PER_5_MINUTES = 60


@never_cache
@require_safe
def single_sign_on(request: HttpRequest) -> HttpResponse:
    """Send the browser to the provider."""
    _check_configured()
    admit(what="single-sign-on", who=client_network(request), at_most=BEGUN_PER_5_MINUTES, per_s=300)
    from evalsite.accounts.openid_connect import RequestView  # loads an HTTP client that other sites do not need

    response: HttpResponse = RequestView.as_view()(request)
    return response


@never_cache
@require_safe
def single_sign_on_return(request: HttpRequest) -> HttpResponse:
    """Log in a person whom the provider sends back. Each state works once, and only in the browser that it began in."""
    _check_configured()
    begun = _begun(request)
    if "error" in request.GET or "code" not in request.GET:
        raise NotAllowed(_("The provider did not log you in."), hint=_("Log in again, or with a password."))
    from evalsite.accounts.openid_connect import single_sign_on_finish

    pseudonym, next_ = known_annotator(request), request.session.pop("oidc_login_next", None)
    user = single_sign_on_finish(request, nonce=begun["nonce"], code_verifier=begun["code_verifier"])
    annotator_adopt(annotator=pseudonym, user=user)
    login(request, user, backend=BACKEND)
    return mark_device(redirect(next_ or settings.LOGIN_REDIRECT_URL), user)


def _begun(request: HttpRequest) -> Mapping[str, Any]:
    """Return what was stored when this log-in began, and remove it. Raises NotAllowed."""
    states = request.session.get("oidc_states", {})
    begun: Mapping[str, Any] | None = states.pop(request.GET.get("state", ""), None)
    request.session["oidc_states"] = states
    if begun is None:
        raise NotAllowed(_("This log-in was not begun here, or is already over."), hint=_("Log in again."))
    return begun


def _check_configured() -> None:
    if not settings.OIDC_ISSUER:
        raise NotFound(_("There is no single sign-on here."), hint=_("Log in with a password."))
