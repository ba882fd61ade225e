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
    """Report a campaign state whose parts contradict each other.

    Parameters
    ----------
    message, code, hint : str
        As for `SchedulerError`.
    """


class InvalidRequest(SchedulerError):
    """Report an invalid argument, such as an unknown policy or a negative count.

    Parameters
    ----------
    message, code, hint : str
        As for `SchedulerError`.
    """


class NotSolvable(SchedulerError):
    """Report a forecast whose matrices exceed the precision of floats.

    Parameters
    ----------
    message, code, hint : str
        As for `SchedulerError`.
    """


def is_count(value: object, *, least: int = 0, most: float = math.inf) -> bool:
    """Return whether a value is a whole number in a range.

    Parameters
    ----------
    value : object
        The value; 3.0 passes, True, 2.5 and NaN do not.
    least : int
        Least number.
    most : float
        Largest number.

    Returns
    -------
    bool
        True for such a number.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    number: float = value  # type: ignore[assignment]  # an int, too: one beyond all floats is compared as it is
    whole = type(number) is int or float(number).is_integer()
    return bool(whole and least <= number <= most)
