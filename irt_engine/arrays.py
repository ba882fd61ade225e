"""The array types of the engine's signatures; what makes numbers of what is given, and arrays safe to share."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import InvalidResponses

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: type[Any]) -> NDArray[Any]:
    """A read-only copy of `values`: frozen dataclasses that hold writable arrays are not frozen."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


def array_of(values: object, name: str) -> NDArray[Any]:
    """`values` as an array of any kind. Raises InvalidResponses where its rows are not equally long."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidResponses(
            f"the rows of {name} are not equally long", code="shape", hint="give as many values in each row"
        ) from error


def numbers(values: object, name: str) -> FloatArray:
    """`values` as numbers, None as NaN. Raises InvalidResponses for text, which is never read as a number."""
    raw = array_of(values, name)
    spelt = raw.dtype.kind == "O" and any(isinstance(value, str | bytes) for value in raw.flat)
    try:
        if raw.dtype.kind in "biufO" and not spelt:
            return raw.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidResponses(f"{name} holds something that is not a number", code="not_a_number", hint="give numbers")


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is one real number; True is none, and text never is."""
    return isinstance(value, Real) and not isinstance(value, bool)
