"""The site as an httpx2 client meets it, in the transaction of a test."""

from typing import Any

import httpx2
from django.test import Client

OWN_ARGUMENTS = {"content-type", "content-length"}


def answered(request: httpx2.Request) -> httpx2.Response:
    """Return the answer of the site, in this test's transaction."""
    headers = {name: value for name, value in request.headers.items() if name not in OWN_ARGUMENTS}
    sent = request.headers.get("content-type", "")
    path = request.url.raw_path.decode()
    found: Any = Client().generic(request.method, path, request.read(), content_type=sent, headers=headers)
    content = b"".join(found.streaming_content) if found.streaming else found.content
    return httpx2.Response(found.status_code, headers=dict(found.headers), stream=httpx2.ByteStream(content))
