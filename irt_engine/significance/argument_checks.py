"""Checks of the arguments of tests and of sample sizes."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from irt_engine.arrays import IntArray, array_of, is_number
from irt_engine.errors import InvalidResponses

MOST_COUNTED = 2**53  # up to here floating-point numbers are whole one by one


def win_counts(counts: ArrayLike) -> IntArray:
    """Return checked win counts.

    Parameters
    ----------
    counts : array_like of int, shape (k,)
        Wins of k >= 2 chatbots, at least one in all.

    Returns
    -------
    ndarray of int, shape (k,)
        The counts.

    Raises
    ------
    InvalidResponses
        If the values are no such counts.
    """
    won = array_of(counts, "counts")
    if won.ndim != 1 or len(won) < 2:
        raise InvalidResponses("counts is not one number per chatbot", code="shape", hint="give two or more counts")
    checked = np.array([check_count(x, "counts") for x in won.tolist()], np.int64)
    if checked.sum() == 0:
        raise InvalidResponses("nobody won a turn", code="no_votes", hint="at least one turn is needed")
    return checked


def selection_rows(selections: ArrayLike) -> IntArray:
    """Return checked matched selections.

    Parameters
    ----------
    selections : array_like of int, shape (n, k)
        n >= 1 rows of 0 and 1 for k >= 2 chatbots.

    Returns
    -------
    ndarray of int, shape (n, k)
        The selections.

    Raises
    ------
    InvalidResponses
        If the values are no such selections.
    """
    x = array_of(selections, "selections")
    if x.ndim != 2 or x.shape[1] < 2:
        raise InvalidResponses(
            "selections is not a table of turns by chatbots", code="shape", hint="give rows of two or more 0s and 1s"
        )
    if len(x) == 0:
        raise InvalidResponses("there are no turns", code="no_votes", hint="at least one turn is needed")
    if x.dtype.kind not in "biuf" or not np.isin(x, (0, 1)).all():
        raise InvalidResponses(
            "a selection is neither 0 nor 1", code="bad_selection", hint="1 = selected, 0 = not; unknown is neither"
        )
    return x.astype(np.int64)


def check_count(value: object, name: str, *, least: int = 0) -> int:
    """Return a checked whole number.

    Parameters
    ----------
    value : object
        The value; 3.0 passes, True and 3.5 do not.
    name : str
        Name of the argument, for the error.
    least : int
        Least value.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidResponses
        If the value is anything else.
    """
    if not is_number(value) or not -MOST_COUNTED <= value <= MOST_COUNTED or not float(value).is_integer():
        raise InvalidResponses(
            f"{name} is {value!r}, not a count", code="bad_count", hint="give a whole number, of at most 2^53"
        )
    number = int(value)
    if number < least:
        raise InvalidResponses(
            f"{name} is {value!r}, below {least}", code="bad_count", hint=f"give a whole number of at least {least}"
        )
    return number


def check_probability(value: float, name: str) -> float:
    """Return a checked number between 0 and 1, both excluded.

    Parameters
    ----------
    value : float
        The value.
    name : str
        Name of the argument, for the error.

    Returns
    -------
    float
        The number.

    Raises
    ------
    InvalidResponses
        If the value is anything else.
    """
    if not is_number(value) or not 0.0 < value < 1.0:
        raise InvalidResponses(
            f"{name} {value} is outside (0, 1)", code="bad_probability", hint="give for example 0.05"
        )
    return value


def check_method(method: str, *known: str) -> str:
    """Return a checked method.

    Parameters
    ----------
    method : str
        The method.
    *known : str
        The methods that exist.

    Returns
    -------
    str
        The method.

    Raises
    ------
    InvalidResponses
        If the method is unknown.
    """
    if str(method) not in known:
        raise InvalidResponses(f"unknown method {method!r}", code="unknown_method", hint=f"use one of {known}")
    return method
