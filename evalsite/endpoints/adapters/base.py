"""The values of calls, and the protocol that every adapter follows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]
TRUNCATED, REFUSAL, TOOL_CALL = "truncated", "refusal", "tool_call"
"""Flags of a reply: cut off at the token limit; the model declined; the model asked for a tool."""
SECRET = "{secret}"  # noqa: S105  where a header holds the secret
MASK = "\N{BULLET}" * 6


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation, oldest first. Every call carries all of them: endpoints keep no state."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class AdapterOptions:
    """How one endpoint is called.

    `secret` is in clear here and nowhere else. `body_template` and `reply_path` serve `http_json` only.
    """

    url: str
    secret: str = field(default="", repr=False)
    model: str = ""
    system_prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body_template: str = ""
    reply_path: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A POST request, complete with the secret: show it by `masked` only."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def masked(self, secret: str) -> "MaskedRequest":
        """Return the request as it may be shown and stored."""
        headers = {name: masked(value, secret) for name, value in self.headers.items()}
        return MaskedRequest(masked(self.url, secret), headers, masked(self.body.decode(), secret))


@dataclass(frozen=True, slots=True)
class MaskedRequest:
    """A request without its secret."""

    url: str
    headers: Mapping[str, str]
    body: str


def masked(text: str, secret: str) -> str:
    """Return the text with bullets in place of the secret."""
    return text.replace(secret, MASK) if secret else text


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a chatbot said, and what its server says about it. None means that the server does not say."""

    text: str
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    model: str = ""
    fingerprint: str = ""
    flags: tuple[str, ...] = ()


class Adapter(Protocol):
    """One kind of endpoint. Adapters are stateless."""

    @property
    def key(self) -> str: ...

    def check(self, options: AdapterOptions) -> None:
        """Raise InvalidInput for options that cannot work, naming the field."""

    def request(self, options: AdapterOptions, messages: Sequence[Message]) -> HttpRequest:
        """Return the request for the next reply. The last message is the user's."""

    def reply(self, body: bytes, options: AdapterOptions) -> ChatReply:
        """Return the reply in the body of a 200 response. Raises CallFailed if there is none."""
