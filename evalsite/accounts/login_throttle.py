"""Limits on password guessing: by account, by network address and for the whole site.

Every attempt is counted before the password is checked, so parallel attempts cannot pass the limit. A successful login
takes back its own count: only failures add up.

A browser that has logged in to an account before has a signed device cookie. Its attempts at that account have a
counter of their own. An attacker who exhausts the limits of an account or of the site therefore does not lock out its
owner.
"""

import hashlib
import secrets
import unicodedata
from dataclasses import dataclass

from django.conf import settings
from django.core import signing

from evalsite.accounts.models import User
from evalsite.core.throttle import admit, give_back

DEVICE_COOKIE = "known_device"
DEVICE_AGE_S = 365 * 24 * 3600
DEVICE_SALT = "accounts.device"
WINDOW_S, HOUR_S = 300, 3600


@dataclass(frozen=True, slots=True)
class _Count:
    what: str
    who: str
    at_most: int
    per_s: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """One counted login attempt. `succeed` takes the counts back."""

    counts: tuple[_Count, ...]

    def succeed(self) -> None:
        for count in self.counts:
            give_back(what=count.what, who=count.who, per_s=count.per_s)


def account_key(username: str) -> str:
    """Return the key of an account: a hash of the case-folded name in NFKC, the form that Django authenticates."""
    name = unicodedata.normalize("NFKC", username).strip().casefold()
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def attempt_admit(*, username: str, network: str, device: str = "") -> Attempt:
    """Count an attempt to log in as `username` from `network`. Raises TooMany."""
    account = account_key(username)
    tries = settings.LOG_INS_PER_5_MINUTES
    counts: tuple[_Count, ...]
    known = _device_of(device, account)
    if known:
        counts = (_Count("login-device", f"{known}:{account}", tries, WINDOW_S),)
    else:
        counts = (
            _Count("login-as", f"{network}:{account}", tries, WINDOW_S),
            _Count("login", network, 3 * tries, WINDOW_S),
            _Count("login-account", account, 5 * tries, HOUR_S),
            _Count("login-site", "all", settings.FAILED_LOG_INS_PER_HOUR, HOUR_S),
        )
    for count in counts:
        admit(what=count.what, who=count.who, at_most=count.at_most, per_s=count.per_s)
    return Attempt(counts)


def device_cookie(user: User) -> str:
    """Return the value of the device cookie for a browser that has logged in to this account."""
    return signing.dumps([secrets.token_urlsafe(9), account_key(user.get_username())], salt=DEVICE_SALT)


def _device_of(cookie: str, account: str) -> str:
    try:
        number, of = signing.loads(cookie, salt=DEVICE_SALT, max_age=DEVICE_AGE_S)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(number) if of == account else ""
