"""The common interface of the demonstration's chatbots: a key, a name, a description, and `reply`."""

from collections.abc import Mapping, Sequence
from typing import Protocol

Turns = Sequence[Mapping[str, str]]
"""The conversation so far, oldest first; each turn has a "speaker" ("user" or "chatbot") and a "text"."""

MAX_REPLY = 600
"""Characters. The longest reply that a bot may give: an annotator reads two of them side by side."""


class Bot(Protocol):
    """A chatbot without state: the same turns always get the same reply.

    `reply` accepts any text, including empty and hostile ones, and never raises an exception for it. The reply is not
    empty and has at most MAX_REPLY characters. It has no control characters, so that every database can store it.
    """

    @property
    def key(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    def reply(self, turns: Turns) -> str: ...
