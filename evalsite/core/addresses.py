"""Addresses that outbound requests may reach: public ones over https, and networks that the operator allows.

Requests go to addresses that strangers choose. Without this check they could reach the inside of the operator's network
(server-side request forgery).
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext_noop

Network = IPv4Network | IPv6Network
MAX_URL = 2000
_VISIBLE_ASCII = re.compile(r"[!-\[\]-~]+")  # no blanks, no control characters, no backslash
_HOST = re.compile(r"[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?\.?", re.IGNORECASE)
_PORTS = {"https": 443, "http": 80}
OWN_HEADERS = frozenset(
    {
        "host",
        "content-length",
        "connection",
        "accept-encoding",
        "transfer-encoding",
        "te",
        "upgrade",
        "expect",
        "trailer",
    }
)
"""Headers that the transport decides. Those of the caller are left out."""

# What clouds tell every program that runs there, credentials included. No operator can allow these.
METADATA: Sequence[Network] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "169.254.0.0/16",  # AWS, Azure, Google Cloud and others: link-local
        "fe80::/10",
        "100.100.100.200/32",  # Alibaba Cloud
        "168.63.129.16/32",  # Azure
        "192.0.0.192/32",  # Oracle Cloud
        "fd00:ec2::/32",  # AWS over IPv6
        "fd20:ce::254/128",  # Google Cloud over IPv6
    )
)
# Refused beside what `is_global` refuses: old Pythons count some of these as global, and each of them can hold an IPv4
# address of a private network.
_REFUSED: Sequence[Network] = tuple(
    ipaddress.ip_network(text)
    for text in (
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64, local use
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4
        "2001:db8::/32",  # documentation
        "3fff::/20",  # documentation
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")


class OutboundError(Exception):
    """A request that was not made, or had no usable response.

    `kind` is stable: address_refused, unresolved, connect, tls, timeout, too_large, redirect, encoded or protocol.
    `detail` is a sentence for the owner of the address. It holds nothing that was sent, and no address that a name
    leads to. `status` is the HTTP status, and `first_byte_at` the time of the first byte, if a response had begun.
    """

    def __init__(
        self, kind: str, detail: str, *, status: int | None = None, first_byte_at: datetime | None = None
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.status = status
        self.first_byte_at = first_byte_at


@dataclass(frozen=True, slots=True)
class AddressParts:
    """The parts of an address. `host` has no brackets; `path` includes the query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def allowed_networks() -> Sequence[Network]:
    """Return the networks that the operator allows (TOUCHSTONE_ENDPOINT_NETWORKS)."""
    networks: Sequence[Network] = settings.ENDPOINT_NETWORKS
    return networks


def target_of(url: str, networks: Iterable[Network]) -> AddressParts:
    """Return the parts of the address. Raises OutboundError if it is malformed, or http without allowed networks."""
    if len(url) > MAX_URL or not _VISIBLE_ASCII.fullmatch(url):
        raise _refused(
            gettext_noop("An address has at most 2,000 visible ASCII characters. Percent-encode all others.")
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _refused(gettext_noop("This is not an address. Write one like https://host/path.")) from None
    if parts.scheme not in _PORTS or not _is_host(host):
        raise _refused(gettext_noop("This is not an address. Write one like https://host/path."))
    if "@" in parts.netloc:
        raise _refused(gettext_noop("An address holds no user name and no password. Enter them as secret."))
    if "#" in url:
        raise _refused(gettext_noop("An address has no part after #."))
    if parts.scheme == "http" and not any(True for _ in networks):
        raise _refused(gettext_noop("The address must begin with https://."))
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return AddressParts(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, path)


def _is_host(host: str) -> bool:
    if ":" in host:
        try:
            return not IPv6Address(host).scope_id
        except ValueError:
            return False
    return bool(_HOST.fullmatch(host)) and len(host) <= 253


def check_all(target: AddressParts, found: Iterable[str], networks: Sequence[Network]) -> list[str]:
    """Return the addresses in their order, each once. Raises OutboundError unless the request may reach every one."""
    checked: list[str] = []
    for text in found:
        if not _may_reach(target, text, networks):
            raise _refused(f"{target.host} leads to an address that this site does not call.")
        if text not in checked:
            checked.append(text)
    if not checked:
        raise OutboundError("unresolved", f"No server was found under the name {target.host}.")
    return checked


def _may_reach(target: AddressParts, text: str, networks: Sequence[Network]) -> bool:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if _within(address, METADATA):
        return False
    if _within(address, networks):
        return True
    usual = target.port == _PORTS["https"] or target.port >= 1024  # others belong to mail, shells, file shares
    return target.scheme == "https" and usual and is_public(address)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether the address belongs to a server on the internet, and holds no other address."""
    if isinstance(address, IPv6Address) and (address not in _GLOBAL_UNICAST or address.scope_id):
        return False
    local = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not local and not _within(address, _REFUSED)


def _within(address: IPv4Address | IPv6Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks if network.version == address.version)


def _refused(detail: str) -> OutboundError:
    return OutboundError("address_refused", detail)
