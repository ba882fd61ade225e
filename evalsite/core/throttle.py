"""Rate limits: atomic counters in the shared cache (Redis, or the one embedded web process)."""

import ipaddress
import time
import uuid
from typing import cast

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.translation import gettext as _

from evalsite.core.errors import TooMany
from evalsite.core.memory_cache import Counting


def admit(*, what: str, who: str, at_most: int, per_s: int) -> None:
    """Count one attempt. Raise TooMany beyond `at_most` in the current window of `per_s` seconds.

    An increment is atomic; a read and a write are not. Of 200 simultaneous attempts exactly `at_most` pass.
    """
    now = time.time()
    key = f"throttle:{what}:{who}:{int(now // per_s)}"
    if cast("Counting", cache).count(key, timeout=2 * per_s) > at_most:
        wait = per_s - now % per_s
        raise TooMany(
            _("That was too often."),
            hint=_("Try again in %(wait)s seconds.") % {"wait": f"{wait:.0f}"},
            retry_after_s=wait,
        )


def give_back(*, what: str, who: str, per_s: int) -> None:
    """Take back one count of `admit` in the current window, after a harmless attempt."""
    cast("Counting", cache).count(f"throttle:{what}:{who}:{int(time.time() // per_s)}", timeout=2 * per_s, by=-1)


# Costly acts, and the setting that limits each one per person and hour.
COSTLY = {"campaign": "CAMPAIGNS_PER_HOUR", "upload": "UPLOADS_PER_HOUR", "question": "QUESTIONS_PER_HOUR"}


def admit_costly(*, what: str, who: uuid.UUID) -> None:
    """Count one of a person's costly acts (`who`: their public id). Services call it, so every entry point has one
    limit.

    Raises TooMany.
    """
    admit(what=what, who=f"user:{who}", at_most=getattr(settings, COSTLY[what]), per_s=3600)


def client_address(request: HttpRequest) -> str:
    """Return the caller's address behind the configured number of trusted proxies (TOUCHSTONE_PROXIES)."""
    forwarded = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",") if part.strip()]
    if settings.PROXIES and len(forwarded) >= settings.PROXIES:
        return forwarded[-settings.PROXIES]
    return str(request.META.get("REMOTE_ADDR", ""))


def client_network(request: HttpRequest) -> str:
    """Return the caller's network: the IPv4 address, or the /64 of one IPv6 subscriber."""
    address = client_address(request)
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped else str(ipaddress.ip_network((parsed, 64), strict=False).network_address)
