"""The pages of organisations: a person's list, members and invitations of one, and the link of an invitation."""

import uuid
from typing import cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from evalsite.accounts.member_mail import invitation_link, member_invite_by_mail
from evalsite.accounts.members import (
    invited_user_create,
    manages_members,
    member_invitation_accept,
    member_invitation_get,
    member_invitation_withdraw,
    member_remove,
    member_role_set,
    organisation_found,
    organisation_get,
)
from evalsite.accounts.models import Membership, User
from evalsite.accounts.selectors import member_invitations_of, members_of, organisations_of
from evalsite.core.errors import InvalidInput, NotFound, TouchstoneError
from evalsite.core.mail import mails_are_sent
from evalsite.core.throttle import admit, client_network
from evalsite.judgments.annotators import annotator_adopt
from evalsite.pages.account_views import BACKEND, REFUSED_SIGN_UPS_PER_HOUR, SignUp, mark_device
from evalsite.pages.visitors import known_annotator
from evalsite.presentation.rich_text import visible

ORGANISATIONS_PER_HOUR = 20  # founded by one person


class FoundForm(forms.Form):
    name = forms.CharField(
        label=gettext_lazy("Name of the organisation"),
        max_length=200,
        widget=forms.TextInput({"autocomplete": "organization"}),
    )


class MemberInviteForm(forms.Form):
    email = forms.EmailField(
        label=gettext_lazy("E-mail"), max_length=254, widget=forms.EmailInput({"autocomplete": "off"})
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[
            (Membership.Role.VIEWER.value, gettext_lazy("Viewer: sees everything of its campaigns")),
            (Membership.Role.MANAGER.value, gettext_lazy("Manager: also sets up and runs campaigns")),
            (Membership.Role.OWNER.value, gettext_lazy("Owner: also launches, stops, pays, and manages members")),
        ],
    )


class InvitedSignUp(SignUp):
    """The sign-up of an invited person. The address is not asked for: the account page confirms one by mail."""

    email = None  # type: ignore[assignment]


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def organisations(request: HttpRequest) -> HttpResponse:
    """List this person's organisations, and found one with POST."""
    user = cast("User", request.user)
    form = FoundForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        admit(what="found", who=f"user:{user.public_id}", at_most=ORGANISATIONS_PER_HOUR, per_s=3600)
        try:
            founded = organisation_found(name=form.cleaned_data["name"], owner=user)
        except TouchstoneError as refused:
            _refuse(form, refused)
        else:
            return redirect("organisation", slug=founded.slug)
    context = {"form": form, "organisations": organisations_of(user)}
    return render(request, "organisations.html", context, status=400 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def organisation(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the members of an organisation, and to its owners the invitations. POST invites a person."""
    user = cast("User", request.user)
    form, link = MemberInviteForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST" and form.is_valid():
        try:
            link = invitation_link(member_invite_by_mail(slug=slug, by=user, **form.cleaned_data))
            form = MemberInviteForm()
        except InvalidInput as refused:
            _refuse(form, refused)
    found, role = organisation_get(slug=slug, by=user)
    manages = manages_members(role)
    context = {
        "organisation": found,
        "manages": manages,
        "own": user.public_id,
        "members": members_of(found),
        "invitations": member_invitations_of(found) if manages else [],
        "roles": Membership.Role.choices,
        "form": form,
        "link": link,
        "mails": mails_are_sent(),
    }
    return render(request, "organisation.html", context, status=400 if form.errors else 200)


@login_required
@require_POST
def member_role(request: HttpRequest, slug: str) -> HttpResponse:
    """Give a member another role."""
    member, role = _id(request, "member"), request.POST.get("role", "")
    member_role_set(slug=slug, member=member, role=role, by=cast("User", request.user))
    messages.success(request, _("Saved."))
    return redirect("organisation", slug=slug)


@login_required
@require_POST
def withdraw(request: HttpRequest, slug: str) -> HttpResponse:
    """Withdraw an open invitation."""
    member_invitation_withdraw(slug=slug, invitation=_id(request, "invitation"), by=cast("User", request.user))
    messages.success(request, _("The invitation is withdrawn. Its link no longer works."))
    return redirect("organisation", slug=slug)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def member_removal(request: HttpRequest, slug: str, member: uuid.UUID) -> HttpResponse:
    """Ask whether to remove a member (or to leave), and do it with POST."""
    user, own = cast("User", request.user), cast("User", request.user).public_id == member
    if request.method == "POST":
        member_remove(slug=slug, member=member, by=user)
        messages.success(request, _("You have left.") if own else _("The member is removed."))
        return redirect("organisations") if own else redirect("organisation", slug=slug)
    found, _role = organisation_get(slug=slug, by=user)
    row = next((one for one in members_of(found) if one.public_id == member), None)
    if row is None:
        raise NotFound(_("There is no such member."), hint=_("Reload the page."))
    words = {
        "title": _("Leave the organisation") if own else _("Remove a member"),
        "subject": found.name if own else row.name,
        "intro": _("What the organisation has stays. An owner can send a new invitation later."),
        "button": _("Leave") if own else _("Remove"),
        "back": "organisation",
        "back_key": slug,
    }
    return render(request, "account_confirm.html", words)


@never_cache
@require_safe
def member_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation: a button to join for people who are logged in, a sign-up for others."""
    _count(request)
    member_invitation_get(token)
    return _invitation(request, token, InvitedSignUp())


@never_cache
@require_POST
def join_organisation(request: HttpRequest) -> HttpResponse:
    """Accept an invitation. The form holds the token, because the log names the addresses of refused requests."""
    _count(request)
    token = request.POST.get("token", "")
    if request.user.is_authenticated:
        membership = member_invitation_accept(token=token, user=request.user)
        return _joined(request, membership)
    member_invitation_get(token)
    form = InvitedSignUp(request.POST)
    if not form.is_valid():
        return _invitation(request, token, form)
    return _sign_up(request, token, form)


def _sign_up(request: HttpRequest, token: str, form: InvitedSignUp) -> HttpResponse:
    network, pseudonym = client_network(request), known_annotator(request)
    admit(what="signup", who=network, at_most=settings.SIGN_UPS_PER_HOUR, per_s=3600)
    try:
        user = invited_user_create(token=token, language=get_language() or "", **form.cleaned_data)
    except InvalidInput as refused:
        admit(what="signup-refused", who=network, at_most=REFUSED_SIGN_UPS_PER_HOUR, per_s=3600)
        _refuse(form, refused)
        return _invitation(request, token, form)
    annotator_adopt(annotator=pseudonym, user=user)
    login(request, user, backend=BACKEND)
    membership = Membership.objects.select_related("organisation").get(user=user, organisation__personal_of=None)
    return mark_device(_joined(request, membership), user)


def _joined(request: HttpRequest, membership: Membership) -> HttpResponse:
    name = visible(membership.organisation.name)
    messages.success(request, _("You are a member of %(name)s now.") % {"name": name})
    return redirect("organisation", slug=membership.organisation.slug)


def _invitation(request: HttpRequest, token: str, form: InvitedSignUp) -> HttpResponse:
    invitation = member_invitation_get(token)
    back = urlencode({"next": reverse("member_invitation", args=[token])})
    context = {
        "invitation": invitation,
        "token": token,
        "form": form,
        "signs_up": settings.SIGN_UP != "closed",
        "log_in": f"{reverse('login')}?{back}",
    }
    return render(request, "member_invitation.html", context, status=400 if form.errors else 200)


def _count(request: HttpRequest) -> None:
    admit(what="invitation", who=client_network(request), at_most=settings.SIGN_UPS_PER_HOUR, per_s=300)


def _id(request: HttpRequest, name: str) -> uuid.UUID:
    try:
        return uuid.UUID(request.POST.get(name, ""))
    except ValueError:
        raise InvalidInput(_("The form is not whole."), hint=_("Reload the page.")) from None


def _refuse(form: forms.Form, refused: TouchstoneError) -> None:
    field = refused.field if refused.field in form.fields else None
    form.add_error(field, f"{refused.message} {refused.hint}".strip())
