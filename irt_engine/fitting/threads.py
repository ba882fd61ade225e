"""Number of threads of a fit, and of BLAS during a fit."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

MOST_THREADS = 8


def threads() -> int:
    """Return the number of threads of a fit: the processors of this process.

    The result of a fit does not depend on it.

    Returns
    -------
    int
        Number of threads.
    """
    return min(_processors(), MOST_THREADS)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))  # containers and taskset give less than the machine has
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread while open.

    Idle BLAS threads would wait in loops for ours, and make a fit thirty times slower. The limit belongs to the
    process; fits at the same time share it, and the last one lifts it.

    Yields
    ------
    None
        Once, while the limit holds.
    """
    _Limit.enter()
    try:
        yield
    finally:
        _Limit.leave()


class _Limit:
    """The limit that stands while any fit of this process goes on."""

    lock = threading.Lock()
    fits = 0
    stands: AbstractContextManager[Any] | None = None

    @classmethod
    def enter(cls) -> None:
        with cls.lock:
            cls.fits += 1
            if cls.stands is None:
                cls.stands = _libraries().limit(limits=1, user_api="blas")
                cls.stands.__enter__()

    @classmethod
    def leave(cls) -> None:
        with cls.lock:
            cls.fits -= 1
            if cls.fits == 0 and cls.stands is not None:
                cls.stands.__exit__(None, None, None)
                cls.stands = None


@functools.cache
def _libraries() -> ThreadpoolController:
    """What is loaded. Looking for it takes 4 ms, a fifth of a warm fit; numpy's and scipy's never change."""
    return ThreadpoolController()
