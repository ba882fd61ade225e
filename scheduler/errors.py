"""Errors of the scheduler. They have the same shape as the engine's errors."""

from __future__ import annotations

import math
from numbers import Real


class SchedulerError(Exception):
    """Base of all errors that the scheduler raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong.
    code : str
        Stable name of the error, for programs.
    hint : str
        What to do about it.
    """

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})"


class InvalidState(SchedulerError):
    """A campaign state whose parts contradict each other."""


class InvalidRequest(SchedulerError):
    """An argument that makes no sense: an unknown policy, a negative count, a target that is no number."""


class NotSolvable(SchedulerError):
    """A forecast whose matrices are beyond the precision of floats."""


def is_count(value: object, *, least: int = 0, most: float = math.inf) -> bool:
    """Return whether a value is a whole number from `least` to `most`; 3.0 is one, True, 2.5 and NaN are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: float = value  # type: ignore[assignment]  # an int, too: one beyond all floats is compared as it is
    whole = type(number) is int or float(number).is_integer()
    return bool(whole and least <= number <= most)
