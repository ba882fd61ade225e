"""Accounts that were logged in on a device, so that nobody judges their own chatbots by logging out.

A signed cookie holds public IDs of accounts, and nothing else. A person who deletes it or uses another device is not
recognised. The method page of a board says so.
"""

import uuid
from collections.abc import Callable

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse

from evalsite.accounts.models import User

DEVICE = "device"
SALT = "evalsite.pages.known_devices"
KEPT_S = 365 * 24 * 3600
MOST_ACCOUNTS = 8


class DeviceMemory:
    """Middleware that stores on a device which accounts were logged in, on any page."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        user = _resolved_user(request)
        if user is not None:
            _remember(request, response, user)
        return response


def _resolved_user(request: HttpRequest) -> User | None:
    """Return the account of the request if a view has loaded it or just logged it in, without a query."""
    for found in (request.__dict__.get("user"), request.__dict__.get("_cached_user")):
        if type(found) is User:
            return found
    return None


def _remember(request: HttpRequest, response: HttpResponse, user: User) -> None:
    known = _known(request)
    own = str(user.public_id)
    accounts = [own, *(one for one in known if one != own)][:MOST_ACCOUNTS]
    if accounts != known:
        response.set_cookie(
            DEVICE,
            signing.dumps(accounts, salt=SALT),
            max_age=KEPT_S,
            httponly=True,
            samesite="Lax",
            secure=settings.SESSION_COOKIE_SECURE,
        )


def device_users(request: HttpRequest) -> set[int]:
    """Return the keys of the accounts that were logged in on this device."""
    accounts = _known(request)
    return set(User.objects.filter(public_id__in=accounts).values_list("pk", flat=True)) if accounts else set()


def _known(request: HttpRequest) -> list[str]:
    """Return the public IDs in the cookie; none if it is missing, too old or not ours."""
    try:
        accounts = signing.loads(request.COOKIES.get(DEVICE, ""), salt=SALT, max_age=KEPT_S)
        return [str(uuid.UUID(one)) for one in accounts]
    except (signing.BadSignature, ValueError, TypeError, AttributeError):
        return []
