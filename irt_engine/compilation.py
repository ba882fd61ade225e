"""Compilation by numba, once per machine, with a cache.

Compiled functions release the interpreter's lock, so that chunks of prompts may run on several threads. Each chunk
writes to its own rows, and sums have a fixed order. The number of threads therefore has no influence on the result.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

_SUMS = {"reassoc", "contract"}  # sums may be taken several numbers at a time; nothing is assumed about NaN or infinity
_PYTHON = f"py{sys.version_info.major}{sys.version_info.minor}"  # each Python has machine code of its own
_kernels: list[Any] = []  # every compiled function of the modules that are loaded
F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """Compile a function on its first call, and cache the machine code.

    The cache is beside the source, or in the user's cache directory.

    Parameters
    ----------
    function : callable
        A function that numba can compile.

    Returns
    -------
    callable
        The compiled function.
    """
    try:
        machine: Any = _compiler(cache=True)(function)
    except RuntimeError:  # no directory to keep it in: then every process compiles for itself
        machine = _compiler(cache=False)(function)
    _forget_stale(machine)
    _kernels.append(machine)
    return cast("F", machine)


def needs_compiling(package: str = "") -> bool:
    """Return whether a loaded module has kernels without up-to-date machine code.

    The first call of such a kernel takes seconds.

    Parameters
    ----------
    package : str
        Only modules whose names begin with this count.

    Returns
    -------
    bool
        True if a kernel must be compiled.
    """
    kernels = [kernel for kernel in _kernels if kernel.py_func.__module__.startswith(package)]
    kept = {_source(kernel) for kernel in kernels if _is_kept(kernel)}
    return any(_source(kernel) not in kept for kernel in kernels)


def all_compiled(module: str) -> bool:
    """Return whether every kernel of a loaded module has up-to-date machine code.

    While a module is compiled, some of its kernels have machine code and others do not.

    Parameters
    ----------
    module : str
        Name of the module.

    Returns
    -------
    bool
        True if no kernel must be compiled.
    """
    return all(_is_kept(kernel) for kernel in _kernels if kernel.py_func.__module__ == module)


def _source(kernel: Any) -> Path:
    return Path(kernel.py_func.__code__.co_filename)


def _forget_stale(kernel: Any) -> None:
    """Remove a package's machine code where some is older than a module of it: kernels contain the code of others, but
    numba looks at each function's own file only."""
    folder = _source(kernel).parent
    newest = max(path.stat().st_mtime for path in [*folder.glob("*.py"), *folder.parent.glob("kernel_data.py")])
    with contextlib.suppress(OSError):  # another process may be removing it
        kept = list(Path(kernel.stats.cache_path or "").glob(f"*.{_PYTHON}.nbi"))
        if any(one.stat().st_mtime < newest for one in kept):
            for one in kept:
                one.unlink(missing_ok=True)


def _is_kept(kernel: Any) -> bool:
    source = _source(kernel)
    return any(one.stat().st_mtime >= source.stat().st_mtime for one in _kept_files(kernel))


def _kept_files(kernel: Any) -> list[Path]:
    name = f"{_source(kernel).stem}.{kernel.py_func.__qualname__}"
    return list(Path(kernel.stats.cache_path or "").glob(f"{name}-*.{_PYTHON}.nbi"))


def _compiler(*, cache: bool) -> Any:
    return numba.njit(cache=cache, nogil=True, error_model="numpy", fastmath=_SUMS)
