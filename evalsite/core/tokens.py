"""Keys that are shown once and kept as a hash."""

import hashlib
import secrets


def token_make(prefix: str) -> str:
    """A new key of 256 random bits; the prefix tells people and scanners for leaked keys what it is."""
    return f"{prefix}_{secrets.token_urlsafe(32)}"


def token_hash(secret: str) -> str:
    """What is kept of a key. SHA-256 will do: nobody guesses 256 random bits, so no slow hash is needed."""
    return hashlib.sha256(secret.encode()).hexdigest()
