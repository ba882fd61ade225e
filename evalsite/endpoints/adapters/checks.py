"""Checks of options that all adapters share. They need no network."""

import re
from collections.abc import Iterable

from django.utils.translation import gettext as _

from evalsite.core.addresses import OWN_HEADERS, OutboundError, allowed_networks, target_of
from evalsite.core.errors import InvalidInput
from evalsite.endpoints.adapters.base import SECRET, AdapterOptions

MAX_TEXT = 20_000
MAX_NAME = 200
MAX_HEADERS = 20
MAX_TOKENS = 1_000_000
MAX_TEMPERATURE = 2.0
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE = re.compile(r"[ -~\x80-\xff]{0,2000}")
_CREDENTIAL = re.compile(r"authorization|api-?key|token|secret|cookie|password", re.IGNORECASE)


def options_check(options: AdapterOptions, *, needs: Iterable[str] = ()) -> None:
    """Raise InvalidInput for options that no adapter accepts. `needs` names those that must not be blank."""
    _url(options.url)
    for name in needs:
        if getattr(options, name) in ("", None):
            raise InvalidInput(
                _("This kind of endpoint needs a value here."), hint=_("Enter one and save again."), field=name
            )
    _texts(options)
    _numbers(options)
    _headers(options)


def _url(url: str) -> None:
    try:
        target_of(url, allowed_networks())
    except OutboundError as error:
        raise InvalidInput(
            _("The address cannot be called: %(problem)s") % {"problem": _(error.detail)},
            hint=_("Enter a public https address like https://host/path."),
            field="url",
        ) from None


def _texts(options: AdapterOptions) -> None:
    limits = {"system_prompt": MAX_TEXT, "body_template": MAX_TEXT, "model": MAX_NAME, "reply_path": MAX_NAME}
    for name, most in limits.items():
        if len(getattr(options, name)) > most:
            raise InvalidInput(
                _("This text has more than %(most)s characters.") % {"most": most}, hint=_("Shorten it."), field=name
            )
    if not _HEADER_VALUE.fullmatch(options.secret) or options.secret != options.secret.strip():
        raise InvalidInput(
            _("The secret holds characters that no HTTP header can carry."),
            hint=_("Copy it again, without line breaks and blanks around it."),
            field="secret",
        )


def _numbers(options: AdapterOptions) -> None:
    if options.temperature is not None and not 0 <= options.temperature <= MAX_TEMPERATURE:
        raise InvalidInput(
            _("The temperature is not between 0 and 2."), hint=_("Enter a number like 0.7."), field="temperature"
        )
    if options.max_tokens is not None and not 1 <= options.max_tokens <= MAX_TOKENS:
        raise InvalidInput(
            _("The maximum number of tokens is not between 1 and 1,000,000."),
            hint=_("Enter a whole number like 1000."),
            field="max_tokens",
        )


def _headers(options: AdapterOptions) -> None:
    if len(options.headers) > MAX_HEADERS:
        raise _header_error(_("There are more than %(most)s headers.") % {"most": MAX_HEADERS}, _("Remove some."))
    for name, value in options.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise _header_error(_("The header %(name)s is not valid in HTTP.") % {"name": name[:100]}, _("Correct it."))
        if name.lower() in OWN_HEADERS:
            raise _header_error(
                _("The header %(name)s is set by this site.") % {"name": name}, _("Remove it from the headers.")
            )
        if _CREDENTIAL.search(name) and SECRET not in value:
            raise _header_error(
                _("The header %(name)s looks like a credential, and headers are not kept secret.") % {"name": name},
                _("Enter the credential as secret, and write {secret} in the header where it belongs."),
            )


def _header_error(message: str, hint: str) -> InvalidInput:
    return InvalidInput(message, hint=hint, field="headers")
