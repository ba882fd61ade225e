"""Accounts of people who log in by single sign-on (OpenID Connect)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from evalsite.accounts.models import SingleSignOnIdentity, User
from evalsite.accounts.services import user_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, InvalidInput, NotAllowed

LONGEST_SUBJECT = 255  # of OpenID Connect Core, section 2
LONGEST_NAME = 140  # leaves room for a number
MOST_NAMES_TRIED = 50


def single_sign_on_user(*, issuer: str, claims: Mapping[str, Any], language: str = "") -> User:
    """Return the account of a person whom the provider has identified. Creates it, or links an existing one.

    An existing account is linked if its address is the one that the provider has verified.

    Raises
    ------
    InvalidInput
        The provider sent no identifier.
    NotAllowed
        The person has no account and this site creates none, or the account is closed.
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 1 <= len(subject) <= LONGEST_SUBJECT:
        raise InvalidInput(_("The provider of the log-in did not say who you are."), hint=_("Ask its administrator."))
    with write_transaction():
        known = SingleSignOnIdentity.objects.filter(issuer=issuer, subject=subject).select_related("user").first()
        user = known.user if known else _linked_or_created(issuer, subject, claims, language)
        if not user.is_active:
            raise NotAllowed(_("This account is closed."), hint=_("Ask an administrator of this site."))
    return user


def _linked_or_created(issuer: str, subject: str, claims: Mapping[str, Any], language: str) -> User:
    email = _verified_email(claims)
    user = User.objects.filter(email__iexact=email).first() if email else None
    act = "link_single_sign_on"
    if user is None:
        if not settings.OIDC_SIGN_UP:
            raise NotAllowed(
                _("There is no account for you here."), hint=_("Ask an administrator of this site for an account.")
            )
        act, user = "create_by_single_sign_on", _created(claims, email, language)
    SingleSignOnIdentity.objects.create(user=user, issuer=issuer, subject=subject)
    audit_record(act=act, subject=user.public_id, by=user)
    return user


def _verified_email(claims: Mapping[str, Any]) -> str:
    """Return the address if the provider has verified it. Any other address could be somebody else's."""
    email = claims.get("email")
    return email if isinstance(email, str) and claims.get("email_verified") is True else ""


def _created(claims: Mapping[str, Any], email: str, language: str) -> User:
    for name in _names(claims, email):
        try:
            return user_create(username=name, password=None, email=email, language=language)
        except InvalidInput as refused:
            if refused.field == "email":
                raise
    raise Conflict(_("No free name was found for your account."), hint=_("Ask an administrator of this site."))


def _names(claims: Mapping[str, Any], email: str) -> Iterator[str]:
    """Yield names for a new account, with a number where the name is taken or cannot be used."""
    wanted = [claims.get("preferred_username"), email.partition("@")[0], claims.get("name")]
    stems = [_usable(one) for one in wanted if isinstance(one, str)]
    for stem in [one for one in stems if one] or ["member"]:
        yield stem
    stem = next((one for one in stems if one), "member")
    for number in range(2, MOST_NAMES_TRIED):
        yield f"{stem}-{number}"


def _usable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.partition("@")[0]).strip("-._")[:LONGEST_NAME]
