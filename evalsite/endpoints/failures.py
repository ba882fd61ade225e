"""Failures of calls to chatbots: stable error classes, and for each what to change.

A failure is stored by its class. Its words are made when it is shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop


class ErrorClass(StrEnum):
    """What went wrong. The values are stored and part of the API: never rename one."""

    ADDRESS_REFUSED = "address_refused"
    UNRESOLVED = "unresolved"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    TOO_LARGE = "too_large"
    ENCODED = "encoded"
    REDIRECT = "redirect"
    UNAUTHORIZED = "unauthorized"
    PAYMENT = "payment"
    NOT_FOUND = "not_found"
    RATE_LIMITED = "rate_limited"
    BUSY = "busy"
    SERVER_ERROR = "server_error"
    REJECTED = "rejected"
    BAD_RESPONSE = "bad_response"
    EMPTY = "empty"
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a call gave no reply.

    `detail` is a short English text for the owner of the endpoint. It never contains the secret. `status` is the HTTP
    status, or None without a response. `retry_after_s` is what the endpoint asked for.
    """

    error_class: ErrorClass
    status: int | None = None
    retry_after_s: float | None = None
    detail: str = ""


class CallFailed(Exception):
    """The response holds no reply. Adapters raise it; `endpoint_call` turns it into a Failure."""

    def __init__(self, error_class: ErrorClass, detail: str = "") -> None:
        super().__init__(detail or error_class)
        self.error_class = error_class
        self.detail = detail


ADVICE: Mapping[ErrorClass, str] = MappingProxyType(
    {
        ErrorClass.ADDRESS_REFUSED: gettext_noop(
            "Enter a public https address. Addresses of private networks must be allowed by the operator of this site."
        ),
        ErrorClass.UNRESOLVED: gettext_noop("Check the host name in the address: no server was found under it."),
        ErrorClass.CONNECT: gettext_noop(
            "Check that the server is running, and that the address and the port are right."
        ),
        ErrorClass.TLS: gettext_noop(
            "Check the server's certificate: it must be valid, and issued for the host name in the address."
        ),
        ErrorClass.TIMEOUT: gettext_noop(
            "The reply took too long. Raise the timeout, lower the maximum number of tokens, or make the server faster."
        ),
        ErrorClass.PROTOCOL: gettext_noop(
            "The server did not answer in HTTP. Check the address, and whether it needs https."
        ),
        ErrorClass.TOO_LARGE: gettext_noop("The response was too large. Lower the maximum number of tokens."),
        ErrorClass.ENCODED: gettext_noop("The response was compressed. Switch off compression on the server."),
        ErrorClass.REDIRECT: gettext_noop("The server redirects. Enter the final address."),
        ErrorClass.UNAUTHORIZED: gettext_noop("Enter the secret again, and check that it may use this model."),
        ErrorClass.PAYMENT: gettext_noop("Check the balance of your account with the provider."),
        ErrorClass.NOT_FOUND: gettext_noop("Check the path of the address, and the name of the model."),
        ErrorClass.RATE_LIMITED: gettext_noop(
            "The server accepts fewer calls. Lower the concurrency limit, or ask the provider for a higher one."
        ),
        ErrorClass.BUSY: gettext_noop("The server is busy. Lower the concurrency limit, or try again later."),
        ErrorClass.SERVER_ERROR: gettext_noop("The server failed. Look into its log, or try again later."),
        ErrorClass.REJECTED: gettext_noop(
            "The server rejects the request. Check the name of the model, the options and the body template."
        ),
        ErrorClass.BAD_RESPONSE: gettext_noop(
            "The response has no reply where one is expected. Check the kind of endpoint and the reply path."
        ),
        ErrorClass.EMPTY: gettext_noop(
            "The reply was empty. Raise the maximum number of tokens, or look into the server's log."
        ),
        ErrorClass.INTERNAL: gettext_noop("The call could not be made. Tell the operator of this site."),
    }
)


def advice(error_class: str) -> str:
    """Return what to change after a failure of this class, in the reader's language."""
    return _(ADVICE[ErrorClass(error_class)])
