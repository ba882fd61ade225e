"""The array types of the engine's signatures, and one helper that makes arrays safe to share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
SingleArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


def frozen(values: ArrayLike, dtype: type[Any]) -> NDArray[Any]:
    """A read-only copy of `values`: frozen dataclasses that hold writable arrays are not frozen."""
    array = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array
