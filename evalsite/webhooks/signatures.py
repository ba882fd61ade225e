"""Signatures of the Standard Webhooks specification (https://www.standardwebhooks.com), version v1.

The signed content is `id.timestamp.body`; the signature is its HMAC-SHA256 in base64. During a rotation the header
holds one signature for each secret, separated by spaces.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

PREFIX = "whsec_"
SECRET_BYTES = 32


def secret_make() -> str:
    """Return a new signing secret."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, *, message_id: str, timestamp: int, body: str) -> str:
    """Return the signature of a message, with its version."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    content = f"{message_id}.{timestamp}.{body}".encode()
    return f"v1,{base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()}"


def headers(signing: Sequence[str], *, message_id: str, timestamp: int, body: str) -> dict[str, str]:
    """Return the headers of a message that is signed with each of these secrets."""
    signed = [signature(secret, message_id=message_id, timestamp=timestamp, body=body) for secret in signing]
    return {"webhook-id": message_id, "webhook-timestamp": str(timestamp), "webhook-signature": " ".join(signed)}
