"""Adapters: how to ask a kind of endpoint for a reply, and where its response holds one. Pure: no I/O, no database."""

from collections.abc import Mapping
from types import MappingProxyType

from evalsite.core.errors import InvalidInput
from evalsite.endpoints.adapters.anthropic import Anthropic
from evalsite.endpoints.adapters.base import Adapter
from evalsite.endpoints.adapters.http_json import HttpJson
from evalsite.endpoints.adapters.openai import OpenAI

__all__ = ["ADAPTERS", "adapter_of"]

ADAPTERS: Mapping[str, Adapter] = MappingProxyType({one.key: one for one in (OpenAI(), Anthropic(), HttpJson())})
"""All kinds of endpoints by key. The contract test runs over them."""


def adapter_of(key: str) -> Adapter:
    """Return the adapter. Raises InvalidInput for an unknown key."""
    try:
        return ADAPTERS[key]
    except KeyError:
        raise InvalidInput(
            f"There is no kind of endpoint {key!r}.", hint=f"Use one of {', '.join(ADAPTERS)}.", field="adapter"
        ) from None
