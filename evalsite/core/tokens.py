"""Keys that are shown once and kept as a hash; and hashes of what could be guessed."""

import hashlib
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac


def token_make(prefix: str) -> str:
    """A new key of 256 random bits; the prefix tells people and scanners for leaked keys what it is."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def token_hash(secret: str) -> str:
    """What is kept of a key. SHA-256 will do: nobody guesses 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def keyed_hashes(value: str, *, purpose: str) -> list[str]:
    """What may be kept of something that others know: its HMAC under each key of this site, the present one first.

    Who has the database and not SECRET_KEY learns nothing by trying all values. SECRET_KEY_FALLBACKS find what was
    kept under an earlier key.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [salted_hmac(purpose, value, secret=key, algorithm="sha256").hexdigest() for key in keys]
