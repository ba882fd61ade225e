"""Errors of the engine, each with a code for programs and a hint for people."""

from __future__ import annotations

from functools import partial
from typing import Any


class EngineError(Exception):
    """Report a problem that the engine found: the base class of its errors.

    Parameters
    ----------
    message : str
        What is wrong.
    code : str
        A stable, machine-readable code.
    hint : str
        What the reader can do.
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
    """Report invalid votes, priors or stored bytes.

    Parameters
    ----------
    message, code, hint : str
        As for `EngineError`.
    """


class NotIdentified(EngineError):
    """Report a question that the data cannot answer, such as a comparison of unconnected chatbots.

    Parameters
    ----------
    message, code, hint : str
        As for `EngineError`.
    """


class DidNotConverge(EngineError):
    """Report a fit that stopped before its optimum; its result is not reliable.

    Parameters
    ----------
    message, code, hint : str
        As for `EngineError`.
    """


class EngineWarning(UserWarning):
    """Warn of a limitation of a valid result.

    Parameters
    ----------
    message : str
        The limitation.
    """
