"""Checks of the numbers that stopping rules are made of."""

from __future__ import annotations

import math

from scheduler.errors import InvalidRequest, is_count


def check_positive(value: float, name: str) -> None:
    """Raise InvalidRequest unless the number is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise InvalidRequest(f"{name} {value}", code="bad_target", hint="give a positive number")


def check_probability(value: float) -> None:
    """Raise InvalidRequest unless 0 < value < 1."""
    if not 0.0 < value < 1.0:
        raise InvalidRequest(f"probability {value}", code="bad_target", hint="give for example 0.95")


def check_count(value: int | None, name: str) -> None:
    """Raise InvalidRequest unless the value is None or a whole number of at least 1."""
    if value is not None and not is_count(value, least=1):
        raise InvalidRequest(f"{name} {value}", code="bad_count", hint="give a whole number of at least 1")
