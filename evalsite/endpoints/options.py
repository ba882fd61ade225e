"""Settings of an endpoint: what people enter, its checks, and how adapters see it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from django.utils.translation import gettext as _

from evalsite.core.errors import InvalidInput
from evalsite.core.row_files import unstorable
from evalsite.endpoints.adapters import adapter_of
from evalsite.endpoints.adapters.base import AdapterOptions
from evalsite.endpoints.models import LONGEST_TIMEOUT_S, MOST_CONCURRENT, Endpoint

LONGEST_URL, HIGHEST_PRICE = 2000, Decimal(1_000_000)
SHORTEST_SECRET, LONGEST_SECRET = 8, 1900
_CREDENTIAL = re.compile(r"authorization|cookie|(^|[-_])(api-?key|key|token|secret|password|auth)$", re.IGNORECASE)
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """What the owner of an endpoint decides. Prices are of a million tokens."""

    adapter: str
    url: str
    model: str = ""
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int = 1024
    headers: Mapping[str, str] = field(default_factory=dict)
    body_template: str = ""
    reply_path: str = ""
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    currency: str = "USD"
    daily_cap: Decimal | None = None
    version_cap: Decimal | None = None
    timeout_s: int = 60
    concurrency: int = 4


NAMES = tuple(one.name for one in fields(EndpointSettings))
DECIDE_REPLIES = frozenset(
    {"adapter", "model", "system_prompt", "temperature", "max_tokens", "body_template", "reply_path"}
)
"""Settings that make another version: they are fixed once the version has a reply."""


def settings_of(endpoint: Endpoint) -> EndpointSettings:
    """Return the present settings of an endpoint."""
    return EndpointSettings(**{name: getattr(endpoint, name) for name in NAMES})


def settings_check(settings: EndpointSettings, *, secret: str = "") -> None:
    """Raise InvalidInput for settings that cannot work, naming the field. Nothing is called."""
    _check_texts(settings)
    _check_address(settings.url)
    _check_numbers(settings)
    _check_money(settings)
    adapter_of(settings.adapter).check(adapter_options(settings, secret=secret))


def secret_check(secret: str) -> None:
    """Raise InvalidInput for a secret that no header can carry, or that is too short to be masked in texts."""
    if not SHORTEST_SECRET <= len(secret) <= LONGEST_SECRET or not secret.isascii() or not secret.isprintable():
        raise InvalidInput(
            _("A secret has 8 to 1,900 printable ASCII characters, without line breaks."),
            hint=_("Copy the key from your provider again."),
            field="secret",
        )


def adapter_options(settings: EndpointSettings | Endpoint, *, secret: str) -> AdapterOptions:
    """Return how adapters see the settings, with the secret in clear."""
    return AdapterOptions(
        url=settings.url,
        secret=secret,
        model=settings.model,
        system_prompt=settings.system_prompt,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        headers=settings.headers,
        body_template=settings.body_template,
        reply_path=settings.reply_path,
    )


def _check_address(url: str) -> None:
    if len(url) > LONGEST_URL:
        raise InvalidInput(_("The address is longer than 2,000 characters."), hint=_("Shorten it."), field="url")
    if _has_credential(url):
        raise InvalidInput(
            _("The address contains a credential. Addresses are stored in clear."),
            hint=_("Remove it, and enter it as the secret."),
            field="url",
        )


def _check_texts(settings: EndpointSettings) -> None:
    for name in ("adapter", "url", "model", "reply_path", "system_prompt", "body_template"):
        if what := unstorable(getattr(settings, name)):
            raise InvalidInput(_("It contains %(what)s.") % {"what": what}, hint=_("Remove it."), field=name)


def _has_credential(url: str) -> bool:
    """Return whether a parameter of the address is named like a credential."""
    parts = url.partition("?")[2].split("&")
    return any(_CREDENTIAL.search(part.partition("=")[0]) for part in parts)


def _check_numbers(settings: EndpointSettings) -> None:
    limits = {
        "timeout_s": (1, LONGEST_TIMEOUT_S),
        "concurrency": (1, MOST_CONCURRENT),
    }
    for name, (low, high) in limits.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            said = _("It must be a whole number from %(low)s to %(high)s.") % {"low": low, "high": high}
            raise InvalidInput(said, field=name)


def _check_money(settings: EndpointSettings) -> None:
    for name in ("input_price", "output_price"):
        price = getattr(settings, name)
        if price is not None and not (price.is_finite() and 0 <= price <= HIGHEST_PRICE):
            raise InvalidInput(
                _("A price must be a number from 0 to %(high)s.") % {"high": HIGHEST_PRICE},
                hint=_("Enter the price of a million tokens."),
                field=name,
            )
    for name in ("daily_cap", "version_cap"):
        cap = getattr(settings, name)
        if cap is not None and not (cap.is_finite() and 0 < cap <= HIGHEST_PRICE):
            raise InvalidInput(
                _("A cost cap must be more than 0."),
                hint=_("Leave it empty for no cap, or pause the endpoint so that nothing is spent."),
                field=name,
            )
    missing = next((name for name in ("input_price", "output_price") if getattr(settings, name) is None), "")
    if missing and (settings.daily_cap is not None or settings.version_cap is not None):
        raise InvalidInput(
            _("A cost cap needs both prices, because the cost of a call is computed from them."),
            hint=_("Enter the prices of a million input and output tokens, or remove the cap."),
            field=missing,
        )
    if not _CURRENCY.fullmatch(settings.currency):
        raise InvalidInput(_("A currency is a code of three letters, such as USD."), field="currency")


def receiver(settings: EndpointSettings) -> tuple[object, ...]:
    """Return what decides who gets the secret: the server, the kind of endpoint, and the headers and body."""
    parts = urlsplit(settings.url)
    return (
        parts.scheme,
        parts.hostname,
        parts.port,
        settings.adapter,
        dict(settings.headers),
        settings.body_template,
    )


def changed_names(before: EndpointSettings, after: EndpointSettings) -> list[str]:
    """Return the names of the settings that differ."""
    return [name for name in NAMES if getattr(before, name) != getattr(after, name)]


def as_json(settings: EndpointSettings, names: list[str] | tuple[str, ...] = NAMES) -> dict[str, Any]:
    """Return the settings of these names as JSON, for the audit log. There is no secret among them."""
    values = {name: getattr(settings, name) for name in names}
    return {
        name: str(value) if isinstance(value, Decimal) else dict(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }
