"""The page of API tokens: a signed-in person issues, lists and revokes them."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from evalsite.accounts.models import ApiToken, User
from evalsite.accounts.selectors import api_tokens_of
from evalsite.accounts.services import LONGEST_TOKEN_NAME, api_token_issue, api_token_revoke
from evalsite.core.errors import NotFound, TouchstoneError
from evalsite.core.throttle import admit

TOKENS_PER_HOUR = 30  # by one person
TERMS = (7, 30, 90, 366)  # days


def _terms() -> list[tuple[int, str]]:
    return [(days, ngettext("%(n)s day", "%(n)s days", days) % {"n": days}) for days in TERMS]


class TokenForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Purpose"),
        max_length=LONGEST_TOKEN_NAME,
        widget=forms.TextInput({"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("Scopes"),
        choices=ApiToken.Scope.choices,
        initial=[ApiToken.Scope.CAMPAIGNS.value],
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("A token never allows more than your own roles do."),
    )
    days = forms.TypedChoiceField(label=gettext_lazy("Valid for"), choices=_terms, coerce=int, initial=90)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    """List this person's API tokens, and issue one with POST. The response to that POST alone shows the token."""
    user = cast("User", request.user)
    form = TokenForm(request.POST if request.method == "POST" else None)
    secret = ""
    if request.method == "POST" and form.is_valid():
        admit(what="token", who=f"user:{user.public_id}", at_most=TOKENS_PER_HOUR, per_s=3600)
        secret = _issue(user, form)
        form = TokenForm() if secret else form
    labels = dict(ApiToken.Scope.choices)
    listed: list[dict[str, Any]] = [
        {"row": row, "may": [labels.get(scope, scope) for scope in row.scopes]} for row in api_tokens_of(user)
    ]
    context = {"form": form, "secret": secret, "tokens": listed}
    return render(request, "tokens.html", context, status=400 if form.errors else 200)


def _issue(user: User, form: TokenForm) -> str:
    """Return a new token, or "" after adding the reason of the refusal to the form."""
    try:
        return api_token_issue(user=user, **form.cleaned_data)
    except TouchstoneError as refused:
        form.add_error(refused.field or None, f"{refused.message} {refused.hint}".strip())
        return ""


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def token_revoke(request: HttpRequest, number: int) -> HttpResponse:
    """Ask whether to revoke a token, and revoke it with POST."""
    user = cast("User", request.user)
    row = next((one for one in api_tokens_of(user) if one.number == number and one.state != "revoked"), None)
    if row is None:
        raise NotFound(_("You have no such token in force."), hint=_("Look at the list of your tokens."))
    if request.method == "POST":
        api_token_revoke(user=user, name=row.name)
        messages.success(request, _("The token is revoked. Programs that use it are refused from now on."))
        return redirect("tokens")
    words = {
        "title": _("Revoke an API token"),
        "subject": row.name,
        "intro": _("Programs that use it are refused at once. This cannot be undone."),
        "button": _("Revoke"),
        "back": "tokens",
    }
    return render(request, "account_confirm.html", words)
