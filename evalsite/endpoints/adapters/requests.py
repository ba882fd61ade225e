"""Parts of requests that adapters share."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from evalsite.endpoints.adapters.base import SECRET, AdapterOptions, HttpRequest, Message


def address(url: str, *, path: str, base: str) -> str:
    """Return the address to call for one that was entered: complete, its base (https://host/v1), or only the host."""
    parts = urlsplit(url)
    entered = parts.path.rstrip("/")
    if not entered.endswith(path):
        entered = (entered or base) + path
    return urlunsplit(parts._replace(path=entered))


def headers(options: AdapterOptions, name: str, value: str) -> dict[str, str]:
    """Return the headers of a request: the secret in the owner's headers, or in the usual one if none names it.

    Without a secret, headers that hold one are left out.
    """
    own = dict(options.headers)
    if not any(SECRET in one for one in own.values()):
        own[name] = value
    filled = {
        key: one.replace(SECRET, options.secret) for key, one in own.items() if options.secret or SECRET not in one
    }
    return {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "Touchstone", **filled}


def with_system_prompt(
    options: AdapterOptions, messages: Sequence[Message], *, leave_out: bool = False
) -> list[dict[str, str]]:
    """Return the messages as JSON values, the system prompt first."""
    first = [Message("system", options.system_prompt)] if options.system_prompt and not leave_out else []
    return [{"role": one.role, "content": one.content} for one in (*first, *messages)]


def json_request(url: str, sent: Mapping[str, str], body: Any) -> HttpRequest:
    """Return the request. Options that are not set are left out of the body."""
    if isinstance(body, Mapping):
        body = {key: value for key, value in body.items() if value is not None}
    return HttpRequest(url, sent, json.dumps(body, ensure_ascii=False).encode())
