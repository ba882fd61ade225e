"""The two kinds of kernels of the everyday fit: numpy ones, which need no compilation, and compiled ones."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol, cast

from irt_engine.arrays import BoolArray, FloatArray, IntArray

from .kernel_data import Approximation, CellData, CellEffect, SlotData, SlotInformation, Terms

Kind = Literal["ready", "reference", "compiled"]

MOST_UNCOMPILED = 30_000  # cells that are fitted in numpy while nothing is compiled: no longer than compiling takes
_found_ready: list[bool] = []  # True, once machine code was found
_kind: ContextVar[Kind] = ContextVar("kind", default="ready")


class Kernels(Protocol):
    """Functions that both kinds of kernels have (`reference`, `reference_elimination`)."""

    CHUNK: int  # numbers in the cross blocks of the slots that are worked on together

    def expected_terms(
        self,
        slots: tuple[int, int],
        cells: CellData,
        prompts: SlotData,
        q: Approximation,
        effect: CellEffect,
        observed: bool,
        logs: bool,
        out: Terms,
        /,
    ) -> bool:
        """Fill the expected gradient and information of some slots' cells."""
        ...

    def theta_information(
        self,
        slots: tuple[int, int],
        cells: CellData,
        q: Approximation,
        i_theta: FloatArray,
        parameters: int,
        total: FloatArray,
        /,
    ) -> bool:
        """Fill what each slot's cells leave open of theta where log alpha is known, times their information."""
        ...

    def inverse_factors(self, blocks: FloatArray, inverse: FloatArray, positive: BoolArray, /) -> None:
        """Fill the inverse Cholesky factors of blocks."""
        ...

    def theta_of(self, col: IntArray, coef: FloatArray, z: FloatArray, theta: FloatArray, /) -> None:
        """Fill theta with what shared parameters give each cell."""
        ...

    def add_transposed(self, col: IntArray, coef: FloatArray, theta: FloatArray, z: FloatArray, /) -> None:
        """Add numbers of the cells to the shared parameters."""
        ...

    def add_shared(self, info: SlotInformation, shared: FloatArray, /) -> None:
        """Add the cells' information to the block of the shared parameters."""
        ...

    def add_replies(self, info: SlotInformation, D: FloatArray, /) -> None:
        """Add the cells' information about replies to the slots' blocks."""
        ...

    def cross_blocks(self, info: SlotInformation, first: int, last: int, C: FloatArray, /) -> None:
        """Fill the blocks between slots and the shared parameters."""
        ...

    def eliminate(self, info: SlotInformation, lower: FloatArray, shared: FloatArray, /) -> None:
        """Take the slots' part off the block of the shared parameters."""
        ...

    def slot_covariances(
        self,
        info: SlotInformation,
        first: int,
        lower: FloatArray,
        covariance: FloatArray,
        cross: FloatArray,
        own: FloatArray,
        /,
    ) -> None:
        """Fill the slots' covariances."""
        ...

    def whole_covariances(
        self,
        lower: FloatArray,
        half: FloatArray,
        covariance: FloatArray,
        first_gap: int,
        common: int,
        cross: FloatArray,
        own: FloatArray,
        /,
    ) -> None:
        """Fill the slots' covariances from whole cross blocks."""
        ...

    def own_variances(
        self,
        covariance: FloatArray,
        cross: FloatArray,
        own: FloatArray,
        first_gap: int,
        common: int,
        variance: FloatArray,
        /,
    ) -> None:
        """Fill the variances of the slots' own deviations."""
        ...

    def pull_shared(self, info: SlotInformation, along: FloatArray, of_cells: FloatArray, total: FloatArray, /) -> None:
        """Add the slots' part of a gradient to the shared parameters."""
        ...

    def sum_slots(self, starts: IntArray, cross: FloatArray, theta: FloatArray, pull: FloatArray, /) -> None:
        """Fill sums over the slots' cells."""
        ...


@contextmanager
def use_kernels(kind: Kind) -> Iterator[None]:
    """While open, fits of this context use one kind of kernels.

    Parameters
    ----------
    kind
        `reference` for numpy, `compiled`, or `ready` for the compiled ones where machine code is kept on disk or cells
        are many, and numpy otherwise.
    """
    token = _kind.set(kind)
    try:
        yield
    finally:
        _kind.reset(token)


def kernels_for(cells: int) -> Kernels:
    """Return the kernels of a fit of so many cells (`use_kernels`)."""
    kind = _kind.get()
    if kind == "compiled" or (kind == "ready" and (cells > MOST_UNCOMPILED or kernels_are_ready())):
        return cast("Kernels", importlib.import_module("irt_engine.fitting.compiled"))
    return cast("Kernels", importlib.import_module("irt_engine.fitting.reference_kernels"))


def kernels_are_ready() -> bool:
    """Tell whether the compiled kernels have machine code that is as new as their source.

    Once they have, the files are not looked at again: that takes as long as a fit of a few hundred votes.
    """
    if not _found_ready:
        compilation = importlib.import_module("irt_engine.compilation")
        importlib.import_module("irt_engine.fitting.compiled")
        if not compilation.needs_compiling("irt_engine.fitting.compiled"):
            _found_ready.append(True)
    return bool(_found_ready)
