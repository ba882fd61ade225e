"""Secret keys: shown once and stored as a hash. Also keyed hashes of values that can be guessed."""

import hashlib
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac


def token_make(prefix: str) -> str:
    """Return a new key of 256 random bits. The prefix identifies it to people and to scanners for leaked keys."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def token_hash(secret: str) -> str:
    """Return the stored hash of a key. 256 random bits cannot be guessed, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()


def keyed_hashes(value: str, *, purpose: str) -> list[str]:
    """Return the HMAC of a guessable value under each key of this site, the present one first.

    Without SECRET_KEY, trying all values against the database reveals nothing. SECRET_KEY_FALLBACKS find values that
    were stored under an earlier key.
    """
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return [salted_hmac(purpose, value, secret=key, algorithm="sha256").hexdigest() for key in keys]
