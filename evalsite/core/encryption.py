"""Encryption of secrets of endpoints and webhooks: Fernet, with the keys of this site.

Keys come from TOUCHSTONE_ENDPOINT_KEYS, or in the embedded form from the file `endpoint_keys` (0600) in the data
directory. The first key encrypts and all of them decrypt. They are read at each use, so that a rotation needs no
restart of processes that read the file.
"""

import base64
import hashlib
import os
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.utils.translation import gettext as _

from evalsite.core import env
from evalsite.core.errors import Conflict, Unavailable

FILE = "endpoint_keys"
SHORTEST = 32


class SecretUnreadable(Exception):
    """None of the keys of this site decrypts the secret, for example after a restore without the key file."""


def encrypt(secret: str) -> tuple[str, str]:
    """Return the encrypted secret and the id of its key. Call it in the transaction that stores both."""
    first = _keys(create=True)[0]
    return _fernet(first).encrypt(secret.encode()).decode(), _key_id(first)


def decrypt(token: str) -> str:
    """Return the secret in clear. Raises SecretUnreadable."""
    keys = _keys()
    try:
        return _multi(keys).decrypt(token.encode()).decode() if keys else _refuse()
    except InvalidToken:
        raise SecretUnreadable from None


def reencrypt(token: str) -> tuple[str, str]:
    """Return the same secret encrypted with the first key, and the id of that key. Raises SecretUnreadable."""
    keys = _keys()
    if not keys:
        _refuse()
    try:
        return _multi(keys).rotate(token.encode()).decode(), _key_id(keys[0])
    except InvalidToken:
        raise SecretUnreadable from None


def key_ids() -> list[str]:
    """Return the ids of the keys of this site, the one that encrypts first."""
    return [_key_id(key) for key in _keys()]


def keys_are_in_a_file() -> bool:
    """Return whether this site makes its own keys. Otherwise the operator sets them."""
    return not settings.ENDPOINT_KEYS and not settings.PRODUCTION


def key_file_add() -> None:
    """Put a new first key before the others."""
    _write([env.new_secret(), *_keys()])


def key_file_drop_old() -> None:
    """Keep only the first key."""
    _write(_keys()[:1])


def _keys(*, create: bool = False) -> list[str]:
    if settings.ENDPOINT_KEYS:
        return [*settings.ENDPOINT_KEYS]
    if settings.PRODUCTION:
        raise Unavailable(
            _("This site cannot keep secrets yet."),
            hint=_("Its operator must set TOUCHSTONE_ENDPOINT_KEYS (see the operator's guide)."),
        )
    if create:
        env.generated_secret(_path())
    try:
        found = _path().read_text().split()
    except FileNotFoundError:
        return []
    if any(len(key) < SHORTEST for key in found):
        raise Conflict(
            f"{_path()} does not contain complete keys.",
            hint="Restore the file from a backup, or delete it and enter the secrets of all endpoints again.",
        )
    return found


def _refuse() -> str:
    raise SecretUnreadable


def _path() -> Path:
    return Path(settings.DATA_DIR) / FILE


def _write(keys: list[str]) -> None:
    """Replace the file in one step: a reader finds the old keys or the new ones."""
    partial = _path().with_name(f"{FILE}.partial")
    handle = os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write("\n".join(keys) + "\n")
        file.flush()
        os.fsync(file.fileno())
    partial.replace(_path())


def _multi(keys: list[str]) -> MultiFernet:
    return MultiFernet([_fernet(key) for key in keys])


def _fernet(key: str) -> Fernet:
    """Return the cipher of a key of any length: its 32 bytes are derived, so that any random text is a key."""
    return Fernet(base64.urlsafe_b64encode(hashlib.sha256(b"touchstone.endpoints:" + key.encode()).digest()))


def _key_id(key: str) -> str:
    return hashlib.sha256(b"touchstone.endpoints.id:" + key.encode()).hexdigest()[:16]
