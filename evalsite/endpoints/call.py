"""Call an endpoint once. The network is reached here and nowhere else in this app."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from evalsite.endpoints.adapters.base import AdapterOptions, ChatReply, Message
from evalsite.endpoints.failures import Failure


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """One attempt: `reply` or `failure`. Times are aware; `first_byte_at` is None without a response."""

    reply: ChatReply | None
    failure: Failure | None
    status: int | None
    started_at: datetime
    first_byte_at: datetime | None
    ended_at: datetime


def endpoint_call(
    adapter_key: str, options: AdapterOptions, messages: Sequence[Message], *, timeout_s: float
) -> CallOutcome:
    """Ask the endpoint for the next reply, and return what happened within `timeout_s` seconds.

    Faults of the other side are failures, never exceptions. Blocks its thread.
    """
    raise NotImplementedError
