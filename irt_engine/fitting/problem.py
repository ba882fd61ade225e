"""The problem that a fit solves: cells sorted by slot, and their design on the shared parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.models.parameters import Information, Point
from irt_engine.models.reply_effects import ReplyColumns
from irt_engine.models.thresholds import PromptModel
from irt_engine.models.tier_effects import TierParts, kept_starts

from .kernel_data import SlotInformation
from .kernel_protocol import Kernels
from .kernels import kernels_for

_MOST_DENSE = 1 << 23  # numbers in those of all slots, if they are kept whole
_DENSE_GAIN = 8  # a product of large matrices takes so much less time for each number than one of a slot's own
_DENSE_PARTS, _ONE_PART = 8, 1 << 18  # in which whole blocks are worked on, where they have more numbers than that


@dataclass(frozen=True, slots=True, eq=False)
class FitProblem:
    """Store the problem to solve: cells sorted by slot, and their design on the shared parameters.

    Parameters
    ----------
    prompts : PromptModel
        Parameters of a prompt.
    starts : ndarray of int, shape (J + 1,)
        First cell of each slot.
    counts : ndarray of float, shape (n, 1) or (n, 3)
        Category of a net rating, or votes (A better, tie, B better).
    weight : ndarray of float, shape (n,)
        Number of equal cells.
    again : ndarray of bool, shape (n,)
        Whether a cell has two or more votes.
    col : ndarray of int, shape (n, k)
        Columns of the shared parameters.
    coef : ndarray of float, shape (n, k)
        Coefficients of the shared parameters.
    shared_size : int
        Number of shared parameters S.
    parts : TierParts, optional
        Parts of the slots, if discriminations depend on tiers; P then includes the tier effects.
    replies : ReplyColumns, optional
        Reply effects.
    offset : ndarray of float, shape (n,), optional
        Known part of theta: what the annotators of a cell's votes add.
    kernels : Kernels
        The numerical kernels.
    """

    prompts: PromptModel
    starts: IntArray  # (J + 1,) where each slot's cells begin
    counts: FloatArray  # (n, 1) category of a net rating, or (n, 3) votes A better, tie, B better
    weight: FloatArray  # (n,)
    again: BoolArray  # (n,) which were voted on twice or more: of whole votes, however much each counts
    col: IntArray  # (n, k)
    coef: FloatArray  # (n, k)
    shared_size: int  # S
    parts: TierParts | None = (
        None  # of the slots, where discriminations differ by tier: then P counts the tiers' effects
    )
    replies: ReplyColumns | None = None
    offset: FloatArray | None = None  # (n,) added to theta
    kernels: Kernels = field(default_factory=lambda: kernels_for(0))

    @property
    def slots(self) -> int:
        """Return the number of slots, J."""
        return len(self.starts) - 1

    @property
    def common(self) -> slice:
        """Return the place of the common log gaps in z."""
        return slice(self.shared_size - self.prompts.gaps, self.shared_size)

    @property
    def width(self) -> int:
        """Return the number of parameters of a slot with its replies, W."""
        return self.prompts.size + (self.replies.most if self.replies else 0)

    @property
    def own(self) -> IntArray:
        """Return the columns (n, 2) of each cell's replies, counted from P; shape (n, 0) without reply effects."""
        return self.replies.own if self.replies else np.empty((len(self.col), 0), np.int64)

    def of_cells(self, kept: BoolArray) -> FitProblem:
        """Return the problem of a part of the cells, with the same parameters but no reply effects.

        Parameters
        ----------
        kept : ndarray of bool, shape (n,)
            The cells of the part.

        Returns
        -------
        FitProblem
            The problem, in which slots may have no cells.
        """
        return replace(
            self,
            starts=kept_starts(self.starts, kept),
            counts=self.counts[kept],
            weight=self.weight[kept],
            again=self.again[kept],
            col=self.col[kept],
            coef=self.coef[kept],
            parts=self.parts.of_cells(kept) if self.parts else None,
            replies=None,
            offset=None if self.offset is None else self.offset[kept],
        )

    def slot_information(self, information: Information) -> SlotInformation:
        """Return the information of the cells and their design for the kernels.

        Parameters
        ----------
        information : Information
            Information of the cells.

        Returns
        -------
        SlotInformation
            The argument of the kernels.
        """
        return SlotInformation(
            self.starts, self.col, self.coef, self.own, information.i_theta, information.cross, information.i_phi,
            self.prompts.first_gap,
        )  # fmt: skip

    @property
    def dense(self) -> bool:
        """Return whether slots touch most shared parameters, so that dense blocks are faster."""
        touched = np.minimum(self.shared_size, self.col.shape[1] * np.diff(self.starts) + self.prompts.gaps)
        whole = self.slots * self.shared_size
        return whole * self.width <= _MOST_DENSE and whole * self.shared_size <= _DENSE_GAIN * int(touched @ touched)

    def theta(self, point: Point) -> FloatArray:
        """Return the linear predictor.

        Parameters
        ----------
        point : Point
            The parameters.

        Returns
        -------
        ndarray of float, shape (n,)
            theta of each cell, in units of ability.
        """
        theta = self.shared_theta(point.z)
        if self.offset is not None:
            theta += self.offset
        return theta + self.replies.theta(point.phi[:, self.prompts.size :]) if self.replies else theta

    def shared_theta(self, z: FloatArray) -> FloatArray:
        """Return the part of theta that comes from the shared parameters.

        Parameters
        ----------
        z : ndarray of float, shape (S,)
            Shared parameters.

        Returns
        -------
        ndarray of float, shape (n,)
            Their part of theta.
        """
        theta = np.empty(len(self.col))
        self.kernels.theta_of(self.col, self.coef, z, theta)
        return theta

    def shared_sums(self, theta: FloatArray) -> FloatArray:
        """Return the sums of cell values by shared parameter: the transpose of `shared_theta`.

        Parameters
        ----------
        theta : ndarray of float, shape (n,)
            Values of the cells.

        Returns
        -------
        ndarray of float, shape (S,)
            Sums.
        """
        z = np.zeros(self.shared_size)
        self.kernels.add_transposed(self.col, self.coef, theta, z)
        return z

    def total_phi(self, point: Point) -> FloatArray:
        """Return the prompts' parameters with the common log gaps.

        Parameters
        ----------
        point : Point
            The parameters.

        Returns
        -------
        ndarray of float, shape (J, P)
            Total parameters.
        """
        phi = point.phi[:, : self.prompts.size].copy()
        phi[:, self.prompts.first_gap :] += point.z[self.common]
        return phi

    @property
    def unit_starts(self) -> IntArray:
        """Return the first cell (K + 1,) of each unit of the kernels: a slot, or a part of a slot."""
        return self.starts if self.parts is None else self.parts.starts

    def gathered(self, d_phi: FloatArray, information: Information) -> tuple[FloatArray, Information]:
        """Return the kernels' results by slot.

        Parameters
        ----------
        d_phi : ndarray of float, shape (K, P)
            Gradient by part.
        information : Information
            Information by part.

        Returns
        -------
        tuple of (ndarray of float, shape (J, P), Information)
            Gradient and information by slot.
        """
        if self.parts is None:
            return d_phi, information
        cross, i_phi = self.parts.cross(information.cross), self.parts.information(information.i_phi)
        return self.parts.gradient(d_phi), Information(information.i_theta, cross, i_phi)

    def dense_parts(self) -> list[slice]:
        """Return consecutive slots whose dense blocks are processed together.

        They do not depend on the number of threads, because each part's sum is rounded separately.

        Returns
        -------
        list of slice
            The slots.
        """
        parts = _DENSE_PARTS if self.slots * self.width * self.shared_size > _ONE_PART else 1
        edges = [self.slots * k // parts for k in range(parts + 1)]
        return [slice(a, b) for a, b in itertools.pairwise(edges)]

    def chunks(self) -> Iterator[slice]:
        """Yield consecutive slots whose dense cross blocks fit a chunk.

        Yields
        ------
        slice
            The slots.
        """
        most = max(1, self.kernels.CHUNK // (self.shared_size * self.width))
        for first in range(0, self.slots, most):
            yield slice(first, min(first + most, self.slots))
