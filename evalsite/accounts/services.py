"""Write operations on users, organisations and API tokens."""

import json
from collections.abc import Collection
from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import DatabaseError
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import ApiToken, MemberInvitation, Membership, Organisation, SingleSignOnIdentity, User
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed, NotFound
from evalsite.core.idempotency import answers_rename
from evalsite.core.models import IdempotencyKey
from evalsite.core.row_files import unstorable
from evalsite.core.tokens import token_hash, token_make

LONGEST_TOKEN_DAYS, LONGEST_TOKEN_NAME = 366, 100
USE_RECORDED_EVERY = timedelta(hours=1)


def user_create(
    *, username: str, password: str | None, email: str = "", staff: bool = False, language: str = ""
) -> User:
    """Create a user with an organisation of their own. An account without a password cannot log in."""
    if password is not None:
        try:
            validate_password(password, User(username=username, email=email))
        except ValidationError as error:
            raise InvalidInput(" ".join(error.messages), field="password") from error
    with write_transaction():
        if User.objects.filter(username__iexact=username).exists():
            raise InvalidInput(
                _("There is already an account called %(username)s.") % {"username": repr(username)}, field="username"
            )
        User(username=username).names_check()
        if email and User.objects.filter(email__iexact=email).exists():
            raise InvalidInput(_("There is already an account with this address."), hint=_("Log in."), field="email")
        return User.objects.create_user(
            username, email, password, is_staff=staff, is_superuser=staff, language=language
        )


def user_language_set(*, user: User, language: str) -> None:
    """Set the language of mails to this person. Raises InvalidInput."""
    if language not in dict(settings.LANGUAGES):
        raise InvalidInput(_("There is no such language."), hint=_("Choose one of the list."), field="language")
    user.language = language
    user.save(update_fields=["language"])


def user_erase(*, user: User) -> None:
    """Close an account and remove the person's data. Raises Conflict while an organisation has no other owner."""
    gone = f"erased-{user.public_id.hex[:12]}"
    with write_transaction():
        _other_owners_check(user)
        ApiToken.objects.filter(user=user).delete()
        SingleSignOnIdentity.objects.filter(user=user).delete()
        Membership.objects.filter(user=user, organisation__personal_of=None).delete()
        MemberInvitation.objects.filter(email__iexact=user.email).exclude(email="").delete()
        _names_replace(user, gone)
        user.username, user.email, user.first_name, user.last_name, user.language = gone, "", "", "", ""
        user.is_active = user.is_staff = user.is_superuser = False
        user.set_unusable_password()
        user.save()


def _other_owners_check(user: User) -> None:
    """Raise Conflict if an organisation would have no owner left. Locks its row until the transaction ends."""
    owned = Membership.objects.filter(user=user, role=Membership.Role.OWNER, organisation__personal_of=None)
    ours = Organisation.objects.filter(pk__in=owned.values("organisation")).order_by("pk")
    for organisation in ours.select_for_update(no_key=True):
        if not organisation.memberships.filter(role=Membership.Role.OWNER).exclude(user=user).exists():
            raise Conflict(
                _("You are the only owner of %(name)s.") % {"name": repr(organisation.name)},
                hint=_("Make somebody else its owner."),
            )


def _names_replace(user: User, gone: str) -> None:
    """Replace the person's name with `gone` outside their own row."""
    own = list(Organisation.objects.filter(personal_of=user))
    for organisation in own:
        answers_rename(organisation.name, gone)
    Organisation.objects.filter(personal_of=user).update(name=gone, slug=gone)
    entries = LogEntry.objects.filter(content_type__app_label=User._meta.app_label)
    entries.filter(content_type__model="user", object_id=user.pk).update(object_repr=gone)
    numbers = [str(organisation.pk) for organisation in own]
    entries.filter(content_type__model="organisation", object_id__in=numbers).update(object_repr=gone)
    # Admin log entries describe changes of memberships as text: "bob is viewer of Acme", "alice is viewer of bob".
    name = json.dumps(user.get_username())[1:-1]
    told = Q(change_message__contains=f'"object": "{name} is ') | Q(change_message__contains=f' of {name}"')
    entries.filter(content_type__model="organisation").filter(told).update(change_message="")
    IdempotencyKey.objects.filter(principal=f"user:{user.public_id}").delete()


def personal_organisation_ensure(*, user: User) -> Organisation:
    """Return this person's own organisation. Creates it if there is none."""
    own = Organisation.objects.filter(personal_of=user).first()
    return own or organisation_create(name=user.get_username(), owner=user, personal=True)


def organisation_create(*, name: str, owner: User | None = None, personal: bool = False) -> Organisation:
    """Create an organisation and its owner's membership."""
    Organisation(name=name).names_check()
    return Organisation.objects.found(name=name, owner=owner, personal=personal)


def organisation_verify(*, organisation: Organisation, verified: bool, by: User) -> None:
    """Set whether staff have verified the identity of an organisation. Raises NotAllowed."""
    if not by.is_staff:
        raise NotAllowed(_("Only staff verify organisations."), hint=_("Ask who runs this site."))
    with write_transaction():
        locked = Organisation.objects.select_for_update(no_key=True).get(pk=organisation.pk)
        if (locked.verified_at is not None) == verified:
            return
        locked.verified_at = timezone.now() if verified else None
        locked.save(update_fields=["verified_at"])
        audit_record(
            act="verify_organisation",
            subject=locked.public_id,
            by=by,
            before={"verified": not verified},
            after={"verified": verified},
        )
    organisation.refresh_from_db()


def api_token_issue(*, user: User, name: str, scopes: Collection[str], days: int) -> str:
    """Create an API token that is valid for `days` and return it. It is shown only once and stored as a hash."""
    unknown = sorted(set(scopes) - set(ApiToken.Scope.values))
    if unknown or not scopes:
        problem = (
            _("%(scope)s is not a scope.") % {"scope": repr(unknown[0])} if unknown else _("A token needs a scope.")
        )
        raise InvalidInput(
            problem, hint=_("Use of: %(values)s.") % {"values": ", ".join(ApiToken.Scope.values)}, field="scopes"
        )
    if not 1 <= days <= LONGEST_TOKEN_DAYS:
        raise InvalidInput(
            _("A token lasts from 1 to %(longest_token_days)s days.") % {"longest_token_days": LONGEST_TOKEN_DAYS},
            field="days",
        )
    if not name.strip() or len(name) > LONGEST_TOKEN_NAME or unstorable(name):
        raise InvalidInput(
            _("A token's name has 1 to %(longest)s characters that can be kept.") % {"longest": LONGEST_TOKEN_NAME},
            hint=_("Say shortly what it is for."),
            field="name",
        )
    secret = token_make("tsp")
    with write_transaction():
        if ApiToken.objects.filter(user=user, name=name, revoked_at=None).exists():
            raise Conflict(
                _("There is already a token called %(name)s.") % {"name": repr(name)},
                hint=_("Revoke it first."),
                field="name",
            )
        until = timezone.now() + timedelta(days=days)
        ApiToken.objects.create(
            user=user, name=name, scopes=sorted(scopes), sha256=token_hash(secret), expires_at=until
        )
    return secret


def api_token_revoke(*, user: User, name: str) -> None:
    """Revoke a token immediately."""
    with write_transaction():
        if not ApiToken.objects.filter(user=user, name=name, revoked_at=None).update(revoked_at=timezone.now()):
            raise NotFound(_("There is no token called %(name)s in force.") % {"name": repr(name)}, field="name")


def api_token_use_record(*, token: ApiToken) -> None:
    """Store that a token is in use, at most once an hour.

    A request that only reads must not fail because the database accepts no writes now, so this error is ignored.
    """
    now = timezone.now()
    if token.last_used_at is not None and now - token.last_used_at < USE_RECORDED_EVERY:
        return
    with suppress(DatabaseError), write_transaction():
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
