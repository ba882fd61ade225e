"""How many threads linear algebra takes while the chunks of a fit are the parallel work."""

from __future__ import annotations

import functools
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """While open, BLAS opens no threads of its own: they would wait in loops for ours, thirty times slower."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _libraries() -> ThreadpoolController:
    """What is loaded. Looking for it takes 4 ms, a fifth of a warm fit; numpy's and scipy's never change."""
    return ThreadpoolController()
