"""Checks of the numbers that stopping rules are made of."""

from __future__ import annotations

import math

from scheduler.errors import InvalidRequest, is_count


def check_positive(value: float, name: str) -> None:
    """Check that a number is finite and positive.

    Parameters
    ----------
    value : float
        The number.
    name : str
        Its name, for the error.

    Raises
    ------
    InvalidRequest
        If it is anything else.
    """
    if not (math.isfinite(value) and value > 0):
        raise InvalidRequest(f"{name} {value}", code="bad_target", hint="give a positive number")


def check_probability(value: float) -> None:
    """Check that a number is between 0 and 1, both excluded.

    Parameters
    ----------
    value : float
        The number.

    Raises
    ------
    InvalidRequest
        If it is anything else.
    """
    if not 0.0 < value < 1.0:
        raise InvalidRequest(f"probability {value}", code="bad_target", hint="give for example 0.95")


def check_count(value: int | None, name: str) -> None:
    """Check that a value is None or a whole number of at least 1.

    Parameters
    ----------
    value : int or None
        The value.
    name : str
        Its name, for the error.

    Raises
    ------
    InvalidRequest
        If it is anything else.
    """
    if value is not None and not is_count(value, least=1):
        raise InvalidRequest(f"{name} {value}", code="bad_count", hint="give a whole number of at least 1")
