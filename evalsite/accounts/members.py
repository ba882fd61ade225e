"""Members of organisations: founding, invitations by mail, roles and removal.

Owners (and staff) manage members. Everything that could leave an organisation without an owner locks its row first.
"""

import uuid
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import MemberInvitation, Membership, Organisation, User
from evalsite.accounts.services import organisation_create, user_create
from evalsite.core.audit import audit_record
from evalsite.core.confusable_names import skeleton
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound

INVITATION_SALT = "accounts.member_invitation"
INVITATION_AGE = timedelta(days=7)
MOST_OWNED, MOST_OPEN = 20, 200
MANAGE_MEMBERS = frozenset({Membership.Role.OWNER})  # roles; staff may, too


def organisation_found(*, name: str, owner: User) -> Organisation:
    """Create an organisation of a person. Raises InvalidInput, and Conflict for a verified organisation's name."""
    name = name.strip()
    if not name or len(name) > 200:
        raise InvalidInput(_("The name of an organisation has 1 to 200 characters."), field="name")
    with write_transaction():
        User.objects.select_for_update(no_key=True).get(pk=owner.pk)
        owned = Membership.objects.filter(user=owner, role=Membership.Role.OWNER, organisation__personal_of=None)
        if owned.count() >= MOST_OWNED:
            raise Conflict(_("You own %(n)s organisations, the most that one person may own.") % {"n": MOST_OWNED})
        verified = Organisation.objects.exclude(verified_at=None).values_list("name", flat=True)
        if skeleton(name) in {skeleton(other) for other in verified.iterator()}:
            raise Conflict(
                _("A verified organisation has this name or one that looks the same."),
                hint=_("If you belong to it, ask one of its owners for an invitation."),
                field="name",
            )
        organisation = organisation_create(name=name, owner=owner)
        audit_record(act="found_organisation", subject=organisation.public_id, by=owner)
    return organisation


def organisation_get(*, slug: str, by: User) -> tuple[Organisation, str]:
    """Return an organisation and this person's role in it, or "staff". Raises NotFound for everybody else."""
    found = Organisation.objects.filter(slug=slug, personal_of=None).first()
    held = Membership.objects.filter(user=by, organisation=found).values_list("role", flat=True).first()
    role = held or ("staff" if by.is_staff else "")
    if found is None or not role:
        raise NotFound(_("There is no such organisation."), hint=_("It may be one that you are not in."))
    return found, role


def manages_members(role: str) -> bool:
    """Return whether this role in an organisation ("staff" included) invites and removes members."""
    return role == "staff" or role in MANAGE_MEMBERS


def member_invite(*, slug: str, email: str, role: str, by: User) -> MemberInvitation:
    """Invite the person with this address. An open invitation to the same address is replaced."""
    email, now = _address(email), timezone.now()
    _role_check(role)
    with write_transaction():
        organisation = _managed(slug, by)
        still_open = organisation.member_invitations.exclude(email="")
        still_open.filter(email__iexact=email).update(withdrawn_at=now, email="")
        if still_open.count() >= MOST_OPEN:
            raise Conflict(_("%(n)s invitations are open.") % {"n": MOST_OPEN}, hint=_("Withdraw some of them first."))
        invitation: MemberInvitation = organisation.member_invitations.create(
            email=email, role=role, invited_by=by, expires_at=now + INVITATION_AGE
        )
        _record("invite_member", organisation, by, target=str(invitation.public_id), role=role)
    return invitation


def member_invitation_withdraw(*, slug: str, invitation: uuid.UUID, by: User) -> None:
    """Withdraw an open invitation and remove its address."""
    with write_transaction():
        organisation = _managed(slug, by)
        found = organisation.member_invitations.filter(public_id=invitation, accepted_at=None, withdrawn_at=None)
        if not found.update(withdrawn_at=timezone.now(), email=""):
            raise NotFound(_("There is no such open invitation."), hint=_("Reload the page."))
        _record("withdraw_member_invitation", organisation, by, target=str(invitation))


def invitation_token(invitation: MemberInvitation) -> str:
    """Return the signed token of the invitation's link. The row says when it expires, so that it is always the same."""
    return signing.Signer(salt=INVITATION_SALT).sign_object(invitation.public_id.hex)


def member_invitation_get(token: str, *, lock: bool = False) -> MemberInvitation:
    """Return the open invitation of a link. Raises NotFound, or Conflict if it was used or has expired."""
    try:
        public_id = uuid.UUID(signing.Signer(salt=INVITATION_SALT).unsign_object(token))
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        raise NotFound(_("There is no such invitation."), hint=_("Open the whole link of the mail.")) from None
    rows = MemberInvitation.objects.select_related("organisation", "invited_by")
    rows = rows.select_for_update(no_key=True, of=("self",)) if lock else rows
    found = rows.filter(public_id=public_id).first()
    again = _("Ask an owner of the organisation to invite you again.")
    if found is None or found.withdrawn_at is not None:
        raise NotFound(_("This invitation was withdrawn."), hint=again)
    if found.accepted_at is not None:
        raise Conflict(
            _("This invitation has been used."), hint=_("If it was you, log in. Otherwise ask for a new invitation.")
        )
    if found.expires_at <= timezone.now():
        raise Conflict(_("This invitation has expired."), hint=again, code="expired")
    return found


def member_invitation_accept(*, token: str, user: User) -> Membership:
    """Make this person a member. Raises Conflict if they are one already; the invitation then stays open."""
    with write_transaction():
        invitation = member_invitation_get(token, lock=True)
        organisation = invitation.organisation
        if Membership.objects.filter(organisation=organisation, user=user).exists():
            raise Conflict(
                _("You are a member of %(name)s already.") % {"name": organisation.name},
                hint=_("An owner can change your role."),
            )
        membership = Membership.objects.create(organisation=organisation, user=user, role=invitation.role)
        invitation.accepted_at, invitation.email = timezone.now(), ""
        invitation.save(update_fields=["accepted_at", "email"])
        _record("join_organisation", organisation, user, target=str(invitation.public_id), role=invitation.role)
    return membership


def invited_user_create(*, token: str, username: str, password: str, language: str = "") -> User:
    """Create an account and accept the invitation, both or neither."""
    if settings.SIGN_UP == "closed":
        raise NotAllowed(_("Nobody can sign up here."), hint=_("Ask an administrator of this site for an account."))
    with write_transaction():
        member_invitation_get(token, lock=True)
        user = user_create(username=username, password=password, language=language)
        member_invitation_accept(token=token, user=user)
    return user


def member_role_set(*, slug: str, member: uuid.UUID, role: str, by: User) -> None:
    """Give a member another role. Raises Conflict if no owner would be left."""
    _role_check(role)
    with write_transaction():
        organisation = _managed(slug, by)
        membership = _membership(organisation, member)
        if membership.role == role:
            return
        _owner_check(membership, stays=role == Membership.Role.OWNER)
        before, membership.role = membership.role, role
        membership.save(update_fields=["role"])
        _record("set_member_role", organisation, by, target=str(member), before=before, role=role)


def member_remove(*, slug: str, member: uuid.UUID, by: User) -> None:
    """Remove a member; members may also remove themselves. Raises Conflict if no owner would be left."""
    with write_transaction():
        organisation = _managed(slug, by, themselves=by.public_id == member)
        membership = _membership(organisation, member)
        _owner_check(membership, stays=False)
        before = membership.role
        membership.delete()
        _record("remove_member", organisation, by, target=str(member), before=before)


def _managed(slug: str, by: User, *, themselves: bool = False) -> Organisation:
    """Return the organisation with its row locked, if this person may manage its members."""
    organisation, _role = organisation_get(slug=slug, by=by)
    locked = Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
    _organisation, role = organisation_get(slug=slug, by=by)  # again: it may have changed while this one waited
    if not manages_members(role) and not themselves:
        raise NotAllowed(_("Only an owner manages the members."), hint=_("Ask an owner of this organisation."))
    return locked


def _membership(organisation: Organisation, member: uuid.UUID) -> Membership:
    found = organisation.memberships.select_related("user").filter(user__public_id=member).first()
    if found is None:
        raise NotFound(_("There is no such member."), hint=_("Reload the page."))
    return found


def _owner_check(membership: Membership, *, stays: bool) -> None:
    if stays or membership.role != Membership.Role.OWNER:
        return
    owners = Membership.objects.filter(organisation=membership.organisation_id, role=Membership.Role.OWNER)
    if not owners.exclude(pk=membership.pk).exists():
        raise Conflict(_("An organisation needs an owner."), hint=_("Make another member its owner first."))


def _address(email: str) -> str:
    email = email.strip()
    try:
        validate_email(email)
    except ValidationError:
        raise InvalidInput(_("This is not an e-mail address."), field="email") from None
    if len(email) > 254:
        raise InvalidInput(_("This is not an e-mail address."), field="email")
    return email


def _role_check(role: str) -> None:
    if role not in Membership.Role.values:
        raise InvalidInput(
            _("%(role)s is not a role.") % {"role": repr(role)},
            hint=_("Use one of: %(values)s.") % {"values": ", ".join(Membership.Role.values)},
            field="role",
        )


def _record(act: str, organisation: Organisation, by: User, *, target: str, role: str = "", before: str = "") -> None:
    kept = {"role": role} if role else {}
    earlier = {"role": before} if before else {}
    audit_record(act=act, subject=organisation.public_id, by=by, target=target, before=earlier, after=kept)
