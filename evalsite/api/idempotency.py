"""The Idempotency-Key header: a repeated request gets the first response."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from django.utils.crypto import salted_hmac
from rest_framework.request import Request
from rest_framework.response import Response

from evalsite.core.idempotency import StoredAnswer, once

HEADER = "Idempotency-Key"


def answered(request: Request, principal: str, act: Callable[[], StoredAnswer], *, sent: Any = None) -> Response:
    """Return the response of `act`, or the stored one if this principal has sent the same request with this key.

    `sent` is what a request consists of that is not JSON: its fields, with hashes of its files.
    """
    key = request.headers.get(HEADER)
    sha256 = "" if key is None else _fingerprint(request, sent)
    outcome = act() if key is None else once(principal=principal, key=key, sha256=sha256, act=act)
    headers = {"Idempotent-Replayed": "true"} if outcome.replayed else None
    return Response(outcome.body, status=outcome.status, headers=headers)


def _fingerprint(request: Request, sent: Any) -> str:
    """Return a hash of the method, the address and the body. The order of JSON fields does not matter."""
    data: Any = request.data if sent is None else sent
    address = f"{request.method} {request.get_full_path()}"
    if isinstance(data, bytes):
        return hashlib.sha256(f"{address} {request.content_type}\n".encode() + data).hexdigest()
    text = f"{address}\n{json.dumps(data, sort_keys=True)}"
    if isinstance(data, dict) and "secret" in data:  # a plain hash would let a reader of the database try secrets
        return salted_hmac("idempotency", text, algorithm="sha256").hexdigest()
    return hashlib.sha256(text.encode()).hexdigest()
