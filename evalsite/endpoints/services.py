"""Write operations on endpoints and their secrets."""

from dataclasses import replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from evalsite.accounts.models import User
from evalsite.chatbots.models import Chatbot, Version
from evalsite.chatbots.services import version_create
from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.encryption import SecretUnreadable, decrypt, encrypt
from evalsite.core.errors import Conflict, InvalidInput
from evalsite.endpoints.budgets import budgets_check
from evalsite.endpoints.models import Endpoint, Secret
from evalsite.endpoints.options import (
    DECIDE_REPLIES,
    EndpointSettings,
    as_json,
    changed_names,
    receiver,
    secret_check,
    settings_check,
    settings_of,
)
from evalsite.endpoints.states import DAY, SECRET_UNREADABLE, state_set
from scheduler.reasons import Reason

STAND_IN = "secret-stays"  # for checks of settings that need some secret


def endpoint_register(
    *, chatbot: Chatbot, label: str, settings: EndpointSettings, secret: str = "", by: User | None = None
) -> Endpoint:
    """Create a live version of the chatbot, and its endpoint. Nothing is called.

    Raises InvalidInput for settings that cannot work, and Conflict if the chatbot has a version of this label.
    """
    label = label.strip()
    if not 1 <= len(label) <= 100:
        raise InvalidInput(_("A version's label has 1 to 100 characters."), field="label")
    _check(settings, secret)
    with write_transaction():
        Chatbot.objects.select_for_update(no_key=True).get(pk=chatbot.pk)  # of two simultaneous ones, one waits
        if chatbot.versions.filter(label=label).exists():
            raise Conflict(
                _("%(name)s has a version %(label)s already.") % {"name": chatbot.name, "label": repr(label)},
                hint=_("Give it another label."),
                field="label",
            )
        version = version_create(chatbot=chatbot, label=label, kind=Version.Kind.LIVE)
        endpoint = _create(version, settings, secret)
        after = {"version": version.label, "endpoint": str(endpoint.public_id), **as_json(settings)}
        audit_record(act="register_endpoint", subject=chatbot.public_id, by=by, target=str(version)[:300], after=after)
    return endpoint


def endpoint_update(
    *, endpoint: Endpoint, settings: EndpointSettings, secret: str = "", by: User | None = None
) -> Endpoint:
    """Change the settings of an endpoint, and its secret if one is given.

    Raises InvalidInput for settings that cannot work, and for a change of what the secret is sent to without the
    secret: whoever may change the settings must not get it that way. Raises Conflict for settings that decide the
    replies of a version that has some.
    """
    if secret:
        secret_check(secret)
    settings_check(settings, secret=secret or (STAND_IN if has_secret(endpoint) else ""))
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        before = settings_of(locked)
        names = changed_names(before, settings)
        _check_changeable(locked, names)
        if not secret and has_secret(locked) and receiver(before) != receiver(settings):
            raise _secret_needed()
        if secret:
            _secret_store(locked, secret, by)
        if names:
            for name in names:
                setattr(locked, name, getattr(settings, name))
            budgets_check(locked)
            locked.save(update_fields=names)
            _audit("change_endpoint", locked, by, before=as_json(before, names), after=as_json(settings, names))
            _check_soon(locked)
    return locked


def endpoint_pause(*, endpoint: Endpoint, reason: str = "", by: User | None = None) -> Endpoint:
    """Stop new calls. Calls in progress end, and their replies are kept."""
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        if locked.state == Endpoint.State.PAUSED:
            return locked
        before = {"state": locked.state}
        state_set(locked, Endpoint.State.PAUSED, reason[:500] or Reason("endpoint_paused_by_owner"))
        _audit("pause_endpoint", locked, by, before=before, after={"state": locked.state}, reason=reason[:500])
    return locked


def endpoint_resume(*, endpoint: Endpoint, by: User | None = None) -> Endpoint:
    """Allow calls again. Raises Conflict while the secret cannot be read."""
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        if locked.state != Endpoint.State.PAUSED:
            return locked
        secret_of(locked)
        state_set(locked, Endpoint.State.UNTESTED, "")
        _check_soon(locked)
        _audit("resume_endpoint", locked, by, before={"state": "paused"}, after={"state": locked.state})
    return locked


def secret_set(*, endpoint: Endpoint, secret: str, by: User | None = None) -> None:
    """Store another secret. An endpoint that waited for it is called again."""
    secret_check(secret)
    settings_check(settings_of(endpoint), secret=secret)
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        _secret_store(locked, secret, by)


def secret_remove(*, endpoint: Endpoint, by: User | None = None) -> None:
    """Delete the secret. Raises InvalidInput if the settings need one."""
    settings_check(settings_of(endpoint), secret="")
    with write_transaction():
        locked = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        Secret.objects.filter(endpoint=locked).delete()
        _check_soon(locked)
        _audit("remove_endpoint_secret", locked, by)


def version_follow(*, endpoint: Endpoint, label: str, by: User | None = None, model: str | None = None) -> Endpoint:
    """Create a further live version with the settings and the secret of this one, and perhaps another model name."""
    settings = settings_of(endpoint)
    if model is not None:
        settings = replace(settings, model=model)
    secret = secret_of(endpoint)
    return endpoint_register(chatbot=endpoint.version.chatbot, label=label, settings=settings, secret=secret, by=by)


def has_secret(endpoint: Endpoint) -> bool:
    """Return whether the endpoint has a secret, readable or not."""
    return Secret.objects.filter(endpoint=endpoint).exists()


def secret_of(endpoint: Endpoint) -> str:
    """Return the secret in clear; "" if there is none. Raises Conflict for one that cannot be decrypted."""
    stored = Secret.objects.filter(endpoint=endpoint).first()
    try:
        return decrypt(stored.token) if stored else ""
    except SecretUnreadable:
        raise Conflict(
            _("The secret of this endpoint cannot be read: the key of this site has changed."),
            hint=_("Enter the secret again."),
            field="secret",
            code=SECRET_UNREADABLE,
        ) from None


def _check(settings: EndpointSettings, secret: str) -> None:
    if secret:
        secret_check(secret)
    settings_check(settings, secret=secret)


def _create(version: Version, settings: EndpointSettings, secret: str) -> Endpoint:
    given = {name: getattr(settings, name) for name in EndpointSettings.__dataclass_fields__}
    endpoint = Endpoint.objects.create(version=version, **given, next_check_at=timezone.now() + DAY)
    if secret:
        _store(endpoint, secret)
    return endpoint


def _secret_store(endpoint: Endpoint, secret: str, by: User | None) -> None:
    """Store a secret for an existing endpoint, and have it called again if it waited for one."""
    _store(endpoint, secret)
    if (endpoint.state_data or {}).get("code") == SECRET_UNREADABLE or endpoint.state == Endpoint.State.FAILING:
        state_set(endpoint, Endpoint.State.UNTESTED, "")
    _check_soon(endpoint)
    _audit("set_endpoint_secret", endpoint, by)


def _secret_needed() -> InvalidInput:
    return InvalidInput(
        _("The secret would be sent to another server, or in another way."),
        hint=_("Enter the secret again together with this change."),
        field="secret",
        code="secret_needed",
    )


def _store(endpoint: Endpoint, secret: str) -> None:
    token, key_id = encrypt(secret)
    values = {"token": token, "key_id": key_id, "set_at": timezone.now()}
    Secret.objects.update_or_create(endpoint=endpoint, defaults=values)


def _check_changeable(endpoint: Endpoint, names: list[str]) -> None:
    """Raise Conflict if one of these settings decides replies that exist already."""
    fixed = [name for name in names if name in DECIDE_REPLIES]
    if fixed and endpoint.version.replies.exists():
        raise Conflict(
            _("This version has replies. A change of %(name)s would mix replies of two versions.") % {"name": fixed[0]},
            hint=_("Create a new version with the changed settings."),
            field=fixed[0],
        )


def _check_soon(endpoint: Endpoint) -> None:
    """Have the endpoint checked at the next occasion, because something about it has changed."""
    endpoint.next_check_at, endpoint.failed_checks = timezone.now(), 0
    endpoint.save(update_fields=["next_check_at", "failed_checks"])


def _audit(act: str, endpoint: Endpoint, by: User | None, **said: Any) -> None:
    target = f"{endpoint.version.chatbot} {endpoint.version.label}"[:300]
    audit_record(act=act, subject=endpoint.version.chatbot.public_id, by=by, target=target, **said)
