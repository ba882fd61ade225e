"""The first administrator: created by a link that works once, expires, and exists only while there is none."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import SetupLink, User
from evalsite.accounts.services import user_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.errors import Conflict, NotFound
from evalsite.core.tokens import token_hash, token_make

SETUP_LINK_AGE = timedelta(hours=24)
ONLY = 1  # the primary key: there is one link, and one row to lock


def administrator_exists() -> bool:
    """Return whether this site has an administrator, whether or not the account is active now."""
    return User.objects.filter(Q(is_staff=True) | Q(is_superuser=True)).exists()


def setup_link_issue() -> str:
    """Return the secret of a new setup link, which replaces the earlier one. Raises Conflict with an administrator."""
    secret = token_make("tss")
    with write_transaction():
        if administrator_exists():
            raise Conflict(
                _("This site has an administrator already."), hint=_("Log in, or ask the administrator for an account.")
            )
        now = timezone.now()
        kept = {"sha256": token_hash(secret), "created_at": now, "expires_at": now + SETUP_LINK_AGE}
        SetupLink.objects.update_or_create(pk=ONLY, defaults=kept)
    return secret


def setup_link_check(secret: str) -> None:
    """Raise NotFound unless this is the secret of the present setup link."""
    in_force = SetupLink.objects.filter(pk=ONLY, sha256=token_hash(secret), expires_at__gt=timezone.now())
    if administrator_exists() or not in_force.exists():
        raise _link_is_void()


def administrator_create(*, secret: str, username: str, password: str, email: str = "", language: str = "") -> User:
    """Create the first administrator and end the setup link.

    Raises NotFound for a void link, and InvalidInput for a faulty name or password; the link then stays usable.
    """
    with write_transaction():
        link = SetupLink.objects.select_for_update().filter(pk=ONLY).first()
        if link is None:
            raise _link_is_void()
        setup_link_check(secret)
        user = user_create(username=username, password=password, email=email, staff=True, language=language)
        link.delete()
        audit_record(act="create_first_administrator", subject=user.public_id, by=user)
    return user


def _link_is_void() -> NotFound:
    return NotFound(
        _("This setup link has been used, was replaced, or is too old."),
        hint=_("The start page says how to get a new one while there is no administrator."),
    )
