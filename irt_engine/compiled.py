"""The one way this package compiles: numba, ahead of the first call only once per machine (the cache is kept).

Compiled functions release the interpreter's lock, so that chunks of prompts may run on several threads; each chunk
writes to rows of its own and sums are taken in a fixed order, so the number of threads changes no digit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

_SUMS = {"reassoc", "contract"}  # sums may be taken several numbers at a time; nothing is assumed about NaN or infinity
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile on first use, keep the machine code beside the source (or in the user's cache directory)."""
    try:
        machine: Any = _compiler(cache=True)(function)
    except RuntimeError:  # no directory to keep it in: then every process compiles for itself
        machine = _compiler(cache=False)(function)
    return cast("F", machine)


def _compiler(*, cache: bool) -> Any:
    return numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=_SUMS)
