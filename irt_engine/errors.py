"""What can go wrong in the engine: one small tree, each leaf with a code for programs and a hint for people."""

from __future__ import annotations

from functools import partial
from typing import Any


class EngineError(Exception):
    """Base of all errors that the engine raises on purpose.

    `code` is stable and machine-readable; `hint` says what the reader can do about it.
    """

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again by its keywords: an exception's own way of unpickling knows positions only."""
        return partial(type(self), code=self.code, hint=self.hint), (self.message,), self.__dict__


class InvalidResponses(EngineError):
    """The votes, the priors or stored bytes cannot be what they claim to be."""


class NotIdentified(EngineError):
    """The data hold nothing about what was asked, for example about chatbots in separate parts of the graph."""


class DidNotConverge(EngineError):
    """The fit stopped before it reached its optimum and the result cannot be trusted."""


class EngineWarning(UserWarning):
    """A result that stands, with something about it that its reader should know."""
