"""Account views: sign-up, log-in, and password reset by mail."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, login
from django.contrib.auth import views as auth
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods
from django.views.generic import FormView

from evalsite.accounts.account_mail import address_confirm, address_mail_queue, password_mail_queue
from evalsite.accounts.login_throttle import DEVICE_AGE_S, DEVICE_COOKIE, attempt_admit, device_cookie
from evalsite.accounts.models import User
from evalsite.accounts.services import user_create
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import InvalidInput, NotAllowed
from evalsite.core.throttle import admit, client_network
from evalsite.judgments.annotators import annotator_adopt
from evalsite.pages.visitors import known_annotator

REFUSED_SIGN_UPS_PER_HOUR = 10  # Limit per network, because a refusal reveals that a name is taken.
BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignUp(forms.Form):
    username = forms.CharField(label=_("Name"), max_length=150, widget=forms.TextInput({"autocomplete": "username"}))
    email = forms.EmailField(
        label=_("E-mail"),
        required=False,
        help_text=_("Only to set a new password; you may leave it out."),
        widget=forms.EmailInput({"autocomplete": "email"}),
    )
    password = forms.CharField(
        label=_("Password"),
        help_text=_("10 characters or more."),
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "new-password"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    """Create an account and move this browser's pseudonymous judgments to it.

    The account gets the e-mail address only after its owner confirms it. So the response does not reveal whether an
    address has an account.
    """
    if request.user.is_authenticated:
        return redirect("me")
    _check_open()
    form = SignUp(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        network, email = client_network(request), form.cleaned_data.pop("email")
        admit(what="signup", who=network, at_most=settings.SIGN_UPS_PER_HOUR, per_s=3600)
        pseudonym = known_annotator(request)
        try:
            user = user_create(**form.cleaned_data, language=get_language() or "")
        except InvalidInput as refused:
            admit(what="signup-refused", who=network, at_most=REFUSED_SIGN_UPS_PER_HOUR, per_s=3600)
            form.add_error(refused.field or None, f"{refused.message} {refused.hint}".strip())
        else:
            annotator_adopt(annotator=pseudonym, user=user)
            login(request, user, backend=BACKEND)
            if email:
                address_mail_queue(user=user, email=email)
                messages.info(request, _("A mail is on its way to you. Open its link to confirm your e-mail address."))
            return mark_device(redirect("me"), user)
    words = {"title": _("Sign up"), "button": _("Sign up"), "other": "login", "other_words": _("I have an account")}
    ways = {"single_sign_on": single_sign_on_name() if settings.OIDC_SIGN_UP else ""}
    return render(request, "account.html", {"form": form, **words, **ways}, status=400 if form.errors else 200)


def _check_open() -> None:
    """Raise NotAllowed where nobody can sign up without an invitation."""
    if settings.SIGN_UP == "invitation":
        raise NotAllowed(
            gettext("A new account needs an invitation."), hint=gettext("Open the link in the mail that invites you.")
        )
    if settings.SIGN_UP == "closed":
        raise NotAllowed(
            gettext("Nobody can sign up here."), hint=gettext("Ask an administrator of this site for an account.")
        )


class LogInForm(AuthenticationForm):
    """Django's log-in form with a limit on attempts.

    Each attempt counts for the name that Django looks up, before the password is checked.
    """

    def clean(self) -> dict[str, Any]:
        username, request = self.cleaned_data.get("username"), self.request
        if not username or not self.cleaned_data.get("password") or request is None:
            return super().clean()
        device = request.COOKIES.get(DEVICE_COOKIE, "")
        attempt = attempt_admit(username=username, network=client_network(request), device=device)
        cleaned = super().clean()
        attempt.succeed()
        return cleaned


def single_sign_on_name() -> str:
    """Return the name of the provider of single sign-on; "" without one."""
    return (settings.OIDC_NAME or gettext("single sign-on")) if settings.OIDC_ISSUER else ""


def mark_device(response: HttpResponse, user: User) -> HttpResponse:
    """Mark the browser as a known device of this account."""
    response.set_cookie(
        DEVICE_COOKIE,
        device_cookie(user),
        max_age=DEVICE_AGE_S,
        path="/account/",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


class LogIn(auth.LoginView):
    template_name = "account.html"
    authentication_form = LogInForm
    redirect_authenticated_user = True
    extra_context = {
        "title": _("Log in"),
        "button": _("Log in"),
        "other_words": _("I have no account yet"),
        "forgotten": True,
    }

    def get_context_data(self, **given: Any) -> dict[str, Any]:
        """Add the link to the sign-up where it is open to everybody."""
        ways = {"other": "sign_up" if settings.SIGN_UP == "open" else "", "single_sign_on": single_sign_on_name()}
        return super().get_context_data(**given, **ways)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        return mark_device(super().form_valid(form), form.get_user())

    def get_default_redirect_url(self) -> str:
        """Return the console for people with campaigns, and their annotator page for others."""
        user = self.request.user
        runs = user.is_authenticated and (user.is_staff or Campaign.objects.of(user).exists())
        return reverse("console") if runs else super().get_default_redirect_url()


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def admin_log_in(request: HttpRequest) -> HttpResponse:
    """Redirect the admin's log-in to the site's own, which is the only entry point for passwords."""
    if request.user.is_authenticated and not request.user.is_staff:
        raise NotAllowed(
            gettext("This page is for the staff of this site."), hint=gettext("Log in with an account of the staff.")
        )
    after = request.GET.get(REDIRECT_FIELD_NAME) or reverse("admin:index")
    return redirect_to_login(after, reverse("login"))


class Forgotten(forms.Form):
    email = forms.EmailField(label=_("E-mail"), max_length=254, widget=forms.EmailInput({"autocomplete": "email"}))


class ForgottenPassword(FormView):  # type: ignore[type-arg]  # not generic at run time
    """A request for a password reset.

    Response and duration are the same with or without an account, because the worker looks it up.
    """

    template_name = "account.html"
    form_class = Forgotten
    success_url = reverse_lazy("password_sent")
    extra_context = {
        "title": _("A new password"),
        "intro": _("Write the e-mail address of your account. A link to set a new password is sent there."),
        "button": _("Send the link"),
    }

    def form_valid(self, form: Forgotten) -> HttpResponse:
        who = client_network(self.request)
        admit(what="reset", who=who, at_most=settings.LOG_INS_PER_5_MINUTES, per_s=300)
        password_mail_queue(email=form.cleaned_data["email"])
        return super().form_valid(form)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm_address(request: HttpRequest, token: str) -> HttpResponse:
    """Show a page with a button for the link in the mail. Programs that check mails open links, too."""
    if request.method == "POST":
        admit(what="address", who=client_network(request), at_most=settings.LOG_INS_PER_5_MINUTES, per_s=300)
        address_confirm(token=token)
        messages.info(request, _("Your e-mail address is confirmed."))
        return redirect("me" if request.user.is_authenticated else "login")
    words = {"title": _("Confirm your e-mail address"), "button": _("Confirm"), "form": forms.Form()}
    return render(request, "account.html", words)


class NewPassword(auth.PasswordResetConfirmView):
    template_name = "account.html"
    success_url = reverse_lazy("login")
    post_reset_login = False
    extra_context = {"button": _("Set the password")}


class PasswordSent(auth.PasswordResetDoneView):
    template_name = "account.html"
    extra_context = {
        "title": _("Look into your mail"),
        "intro": _("If there is an account with this address, a link is on its way. It works once, for some hours."),
    }
