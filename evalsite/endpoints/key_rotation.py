"""Rotation of the keys that encrypt secrets of endpoints and webhooks."""

from dataclasses import dataclass

from evalsite.core.audit import audit_record
from evalsite.core.db import write_transaction
from evalsite.core.encryption import (
    SecretUnreadable,
    key_file_add,
    key_file_drop_old,
    keys_are_in_a_file,
    reencrypt,
)
from evalsite.endpoints.models import Secret
from evalsite.webhooks.services import webhook_secrets_reencrypt


@dataclass(frozen=True, slots=True)
class Rotation:
    """Result of a rotation. `unreadable`: secrets that no key decrypts; they must be entered again."""

    secrets: int
    unreadable: int
    keys_in_a_file: bool


def endpoint_keys_rotate() -> Rotation:
    """Encrypt every secret with the first key.

    Where this site keeps its keys in a file, a new first key is made before, and the old ones are deleted afterwards.
    Elsewhere the operator puts a new key first, and deletes the old ones afterwards.
    """
    in_a_file = keys_are_in_a_file()
    if in_a_file:
        key_file_add()
    with write_transaction():
        counts = [_reencrypt(secret) for secret in Secret.objects.select_for_update().order_by("pk")]
        webhooks, unreadable_webhooks = webhook_secrets_reencrypt()
    unreadable = counts.count(False) + unreadable_webhooks
    if in_a_file:
        key_file_drop_old()
    return Rotation(counts.count(True) + webhooks, unreadable, in_a_file)


def _reencrypt(secret: Secret) -> bool:
    """Encrypt one secret with the first key. Return whether it could be read."""
    try:
        secret.token, secret.key_id = reencrypt(secret.token)
    except SecretUnreadable:
        return False
    secret.save(update_fields=["token", "key_id"])
    chatbot = secret.endpoint.version.chatbot
    audit_record(act="rotate_endpoint_key", subject=chatbot.public_id, target=str(secret.endpoint)[:300])
    return True
