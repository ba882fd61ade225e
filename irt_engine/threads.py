"""How many threads a fit takes, and how many linear algebra takes while the chunks of a fit are the parallel work."""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager
from typing import Any

from threadpoolctl import ThreadpoolController

MOST_THREADS = 8


def threads() -> int:
    """That a fit takes: as many as this process has processors, or fewer where OMP_NUM_THREADS says so, by which
    operators keep a worker from the processors that serve pages. Their number changes nothing that a fit finds.
    """
    allowed = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list is of nested levels
    given = int(allowed) if allowed.isdecimal() and int(allowed) > 0 else MOST_THREADS
    return min(_processors(), given, MOST_THREADS)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))  # containers and taskset give less than the machine has
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def one_blas_thread() -> AbstractContextManager[Any]:
    """While open, BLAS opens no threads of its own: they would wait in loops for ours, thirty times slower."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _libraries() -> ThreadpoolController:
    """What is loaded. Looking for it takes 4 ms, a fifth of a warm fit; numpy's and scipy's never change."""
    return ThreadpoolController()
