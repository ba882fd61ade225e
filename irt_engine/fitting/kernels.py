"""Choice of the kernels of the everyday fit: numpy kernels, which need no compilation, or compiled ones."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, cast

from irt_engine.fitting.kernel_protocol import Kernels

Kind = Literal["ready", "reference", "compiled"]

MOST_UNCOMPILED = 30_000  # cells that are fitted in numpy while nothing is compiled: no longer than compiling takes
_found_ready: list[bool] = []  # True, once machine code was found
_kind: ContextVar[Kind] = ContextVar("kind", default="ready")


@contextmanager
def use_kernels(kind: Kind) -> Iterator[None]:
    """Use one kind of kernels in the fits of this context while open.

    Parameters
    ----------
    kind : {"reference", "compiled", "ready"}
        numpy; compiled; or compiled if their machine code is cached or there are many cells, and numpy otherwise.

    Yields
    ------
    None
        Once, while the choice holds.
    """
    token = _kind.set(kind)
    try:
        yield
    finally:
        _kind.reset(token)


def chosen_kind() -> Kind:
    """Return the kind of kernels that `use_kernels` chose in this context.

    Returns
    -------
    {"reference", "compiled", "ready"}
        The kind.
    """
    return _kind.get()


def kernels_for(cells: int) -> Kernels:
    """Return the kernels of a fit; see `use_kernels`.

    Parameters
    ----------
    cells : int
        Number of cells.

    Returns
    -------
    Kernels
        The kernels.
    """
    kind = _kind.get()
    if kind == "compiled" or (kind == "ready" and (cells > MOST_UNCOMPILED or kernels_are_ready())):
        return cast("Kernels", importlib.import_module("irt_engine.fitting.compiled"))
    return cast("Kernels", importlib.import_module("irt_engine.fitting.reference_kernels"))


def kernels_are_ready() -> bool:
    """Return whether the compiled kernels have up-to-date machine code.

    After the first True, the files are not read again; that would take as long as a fit of a few hundred votes.

    Returns
    -------
    bool
        True if they are ready.
    """
    if not _found_ready:
        compilation = importlib.import_module("irt_engine.compilation")
        importlib.import_module("irt_engine.fitting.compiled")
        if not compilation.needs_compiling("irt_engine.fitting.compiled"):
            _found_ready.append(True)
    return bool(_found_ready)
