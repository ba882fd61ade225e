"""Accounts: sign up, log in, a new password by mail."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth import views as auth
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils import translation
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from evalsite.accounts.services import user_create
from evalsite.campaigns.models import Campaign
from evalsite.core.errors import InvalidInput
from evalsite.core.throttle import admit, client_address
from evalsite.judgments.annotators import annotator_adopt
from evalsite.pages.visitors import known_annotator

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
    """A new account; what this browser's pseudonym judged becomes its own."""
    if request.user.is_authenticated:
        return redirect("me")
    form = SignUp(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        admit(what="signup", who=client_address(request), at_most=settings.SIGN_UPS_PER_HOUR, per_s=3600)
        pseudonym = known_annotator(request)
        try:
            user = user_create(**form.cleaned_data, language=get_language() or "")
        except InvalidInput as refused:
            form.add_error(refused.field or None, f"{refused.message} {refused.hint}".strip())
        else:
            annotator_adopt(annotator=pseudonym, user=user)
            login(request, user, backend=BACKEND)
            return redirect("me")
    words = {"title": _("Sign up"), "button": _("Sign up"), "other": "login", "other_words": _("I have an account")}
    return render(request, "account.html", {"form": form, **words}, status=400 if form.errors else 200)


class LogIn(auth.LoginView):
    template_name = "account.html"
    redirect_authenticated_user = True
    extra_context = {
        "title": _("Log in"),
        "button": _("Log in"),
        "other": "sign_up",
        "other_words": _("I have no account yet"),
        "forgotten": True,
    }

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Guessing is slow: counted by address and name together, and by address."""
        address, name = client_address(request), request.POST.get("username", "")[:150].lower()
        admit(what="login", who=address, at_most=10 * settings.LOG_INS_PER_5_MINUTES, per_s=300)
        admit(what="login-as", who=f"{address}:{name}", at_most=settings.LOG_INS_PER_5_MINUTES, per_s=300)
        return super().post(request, *args, **kwargs)

    def get_default_redirect_url(self) -> str:
        """Who has campaigns to look after comes to the console, others to their own page."""
        user = self.request.user
        runs = user.is_authenticated and (user.is_staff or Campaign.objects.of(user).exists())
        return reverse("console") if runs else super().get_default_redirect_url()


class ResetForm(PasswordResetForm):
    """Written in the language of the account, whoever asked for it.

    Where the link leads is the site's to say: the host of a request is whatever its sender wrote, and with it the link
    would hand the account to them.
    """

    def send_mail(self, *args: Any, **kwargs: Any) -> None:
        context = kwargs.get("context") or args[2]
        context["site"] = settings.SITE_URL
        with translation.override(context["user"].mail_language):
            super().send_mail(*args, **kwargs)


class ForgottenPassword(auth.PasswordResetView):
    """The answer is the same whether there is such an account or not."""

    template_name = "account.html"
    form_class = ResetForm
    email_template_name = "account_reset.txt"
    subject_template_name = "account_reset_subject.txt"
    success_url = reverse_lazy("password_sent")
    extra_context = {
        "title": _("A new password"),
        "intro": _("Write the e-mail address of your account. A link to set a new password is sent there."),
        "button": _("Send the link"),
    }

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        admit(what="reset", who=client_address(request), at_most=settings.LOG_INS_PER_5_MINUTES, per_s=300)
        return super().post(request, *args, **kwargs)


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
