"""Array types, and conversions and checks of arrays."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from irt_engine.errors import InvalidResponses

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_SEED = 2**63 - 1


def frozen(values: ArrayLike, dtype: type[Any]) -> NDArray[Any]:
    """Return a read-only copy of an array.

    Attributes
    ----------
    frozen dataclass that holds writable arrays is not frozen.

    Parameters
    ----------
    values : array_like
        The values.
    dtype : type
        The type of the elements.

    Returns
    -------
    ndarray
        A read-only copy.

    Raises
    ------
    InvalidResponses
        If the values have no such type.
    """
    try:
        array = np.array(values, dtype=dtype)
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidResponses(
            f"an array cannot be made of what is given: {error}",
            code="not_a_number",
            hint="give numbers, as many in each row",
        ) from error
    array.setflags(write=False)
    return array


def array_of(values: object, name: str) -> NDArray[Any]:
    """Return values as an array of any type.

    Parameters
    ----------
    values : array_like
        The values.
    name : str
        The name of the argument, for the error.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    InvalidResponses
        If the rows have different lengths.
    """
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidResponses(
            f"the rows of {name} are not equally long", code="shape", hint="give as many values in each row"
        ) from error


def numbers(values: object, name: str) -> FloatArray:
    """Return values as numbers, with NaN for None.

    Parameters
    ----------
    values : array_like
        The values.
    name : str
        The name of the argument, for the error.

    Returns
    -------
    ndarray of float
        The numbers.

    Raises
    ------
    InvalidResponses
        If the values are text.
    """
    raw = array_of(values, name)
    spelt = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
    try:
        if raw.dtype.kind in "biufO" and not spelt:
            return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidResponses(f"{name} holds something that is not a number", code="not_a_number", hint="give numbers")


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is one real number.

    Parameters
    ----------
    value : object
        The value. Booleans and text are no numbers.

    Returns
    -------
    bool
        True for a real number.
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_seed(seed: object) -> int:
    """Return a checked seed.

    Parameters
    ----------
    seed : object
        A whole number from 0 to 2^63 - 1. Equal seeds give equal draws.

    Returns
    -------
    int
        The seed.

    Raises
    ------
    InvalidResponses
        If the seed is anything else.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed <= MOST_SEED:
        raise InvalidResponses(
            f"seed {seed!r} is not a seed", code="bad_seed", hint="give a whole number from 0 to 2^63 - 1"
        )
    return int(seed)


_NUMBERS, _NAMES, _TIME = {"float", "int"}, "tuple[str, ...]", "datetime"


def check_fields(value: Any, error: Callable[..., Exception] = InvalidResponses) -> None:
    """Check the types of a dataclass's fields that are numbers, names or times.

    Arrays are not checked. A `__post_init__` calls this first.

    Parameters
    ----------
    value : dataclass instance
        The object to check.
    error : callable
        Creates the error to raise.

    Raises
    ------
    InvalidResponses
        If a field has another type; or the given error.
    """
    for field in fields(value):
        kinds, found = str(field.type).split(" | "), getattr(value, field.name)
        if found is None and "None" in kinds:
            continue
        if _NUMBERS & set(kinds) and not is_number(found):
            raise error(_described(value, field.name), code="not_a_number", hint="give a number for it")
        if _NAMES in kinds and not is_names(found):
            hint = "give a tuple of names, each of them text"
            raise error(_described(value, field.name), code="not_names", hint=hint)
        if _TIME in kinds and not isinstance(found, datetime):
            raise error(_described(value, field.name), code="not_a_time", hint="give a datetime with its time zone")


def _described(value: object, name: str) -> str:
    return f"{name} of {type(value).__name__} is {reprlib.repr(getattr(value, name))}"


def is_names(values: object) -> bool:
    """Return whether values are a sequence of names.

    Parameters
    ----------
    values : object
        The values. One string is no sequence of names.

    Returns
    -------
    bool
        True for a sequence of strings.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        return False
    return all(issubclass(kind, str) for kind in set(map(type, values)))  # a campaign may have a million prompts


def freeze_arrays(value: Any) -> None:
    """Replace the arrays of a frozen dataclass by read-only copies.

    Parameters
    ----------
    value : dataclass instance
        The object, in its `__post_init__`.
    """
    for field in fields(value):
        array = getattr(value, field.name)
        if isinstance(array, np.ndarray):
            object.__setattr__(value, field.name, frozen(array, array.dtype.type))
