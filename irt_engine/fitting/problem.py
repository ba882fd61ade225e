"""The problem that a fit solves: cells sorted by slot, and their design on the shared parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray
from irt_engine.models.parameters import Information, Point
from irt_engine.models.reply_effects import ReplyColumns
from irt_engine.models.thresholds import PromptModel
from irt_engine.models.tier_effects import TierParts

from .kernel_data import SlotInformation
from .kernels import Kernels, kernels_for

_MOST_DENSE = 1 << 23  # numbers in those of all slots, if they are kept whole
_DENSE_GAIN = 8  # a product of large matrices takes so much less time for each number than one of a slot's own
_DENSE_PARTS, _ONE_PART = 8, 1 << 18  # in which whole blocks are worked on, where they have more numbers than that


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What is being fitted: cells sorted by slot, and their design on the shaft."""

    prompts: PromptModel
    starts: IntArray  # (J + 1,) where each slot's cells begin
    counts: FloatArray  # (n, 1) category of a net rating, or (n, 3) votes A better, tie, B better
    weight: FloatArray  # (n,)
    again: BoolArray  # (n,) which were voted on twice or more: of whole votes, however much each counts
    col: IntArray  # (n, k)
    coef: FloatArray  # (n, k)
    shaft: int  # S
    parts: TierParts | None = (
        None  # of the slots, where discriminations differ by tier: then P counts the tiers' effects
    )
    replies: ReplyColumns | None = None
    kernels: Kernels = field(default_factory=lambda: kernels_for(0))

    @property
    def slots(self) -> int:
        """J."""
        return len(self.starts) - 1

    @property
    def common(self) -> slice:
        """The common log gaps inside z."""
        return slice(self.shaft - self.prompts.gaps, self.shaft)

    @property
    def width(self) -> int:
        """W."""
        return self.prompts.size + (self.replies.most if self.replies else 0)

    @property
    def own(self) -> IntArray:
        """(n, 2) columns of each cell's two replies, counted from P; (n, 0) where replies have no effects."""
        return self.replies.own if self.replies else np.empty((len(self.col), 0), np.int64)

    def slot_information(self, information: Information) -> SlotInformation:
        """The information of the cells with their design, as the kernels take it."""
        return SlotInformation(
            self.starts, self.col, self.coef, self.own, information.i_theta, information.cross, information.i_phi,
            self.prompts.first_gap,
        )  # fmt: skip

    @property
    def dense(self) -> bool:
        """Whether slots touch so much of the shaft that all of it may be worked with."""
        touched = np.minimum(self.shaft, self.col.shape[1] * np.diff(self.starts) + self.prompts.gaps)
        whole = self.slots * self.shaft
        return whole * self.width <= _MOST_DENSE and whole * self.shaft <= _DENSE_GAIN * int(touched @ touched)

    def theta(self, point: Point) -> FloatArray:
        """(n,) linear predictor on the ability scale."""
        theta = self.off_shaft(point.z)
        return theta + self.replies.theta(point.phi[:, self.prompts.size :]) if self.replies else theta

    def off_shaft(self, z: FloatArray) -> FloatArray:
        """(n,) the shaft's part of it."""
        theta = np.empty(len(self.col))
        self.kernels.theta_of(self.col, self.coef, z, theta)
        return theta

    def on_shaft(self, theta: FloatArray) -> FloatArray:
        """(S,) what numbers of the cells, (n,), put on the shaft together: the transpose of `off_shaft`."""
        z = np.zeros(self.shaft)
        self.kernels.add_transposed(self.col, self.coef, theta, z)
        return z

    def total_phi(self, point: Point) -> FloatArray:
        """(J, P) of the prompts, with the common log gaps added to each slot's own deviation."""
        phi = point.phi[:, : self.prompts.size].copy()
        phi[:, self.prompts.first_gap :] += point.z[self.common]
        return phi

    @property
    def asked(self) -> IntArray:
        """(K + 1,) where the cells begin of what the kernels take for a slot: parts of slots where there are parts."""
        return self.starts if self.parts is None else self.parts.starts

    def gathered(self, d_phi: FloatArray, information: Information) -> tuple[FloatArray, Information]:
        """What the kernels told, by slot: gradient (J, P) and information."""
        if self.parts is None:
            return d_phi, information
        cross, i_phi = self.parts.cross(information.cross), self.parts.information(information.i_phi)
        return self.parts.gradient(d_phi), Information(information.i_theta, cross, i_phi)

    def dense_parts(self) -> list[slice]:
        """Consecutive slots whose whole blocks are worked on at a time; the same for any number of threads, since each
        part's sum is rounded by itself."""
        parts = _DENSE_PARTS if self.slots * self.width * self.shaft > _ONE_PART else 1
        edges = [self.slots * k // parts for k in range(parts + 1)]
        return [slice(a, b) for a, b in itertools.pairwise(edges)]

    def chunks(self) -> Iterator[slice]:
        """Consecutive slots whose dense cross blocks fit a chunk."""
        most = max(1, self.kernels.CHUNK // (self.shaft * self.width))
        for first in range(0, self.slots, most):
            yield slice(first, min(first + most, self.slots))
