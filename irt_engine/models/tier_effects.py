"""Discrimination by tier of ability: a layer between the cells and the slots.

Notation: a prompt's log discrimination for a comparison of chatbots in tiers s and t is

    log alpha_jst = log alpha_j + (eps_js + eps_jt) / 2,   eps_jt ~ N(0, tier_sd^2).

A slot has P + T parameters (log alpha, eps_1..eps_T, [location], log gaps), while its cells depend on P. A part is the
set of cells of a slot with the same two tiers. It has P parameters phi_k = L_k phi_j, and the kernels treat it as a
slot. The results return by the transpose: gradients L' d and information L' I L.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from irt_engine.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TierParts:
    """Store the division of J slots into K parts with equal tiers.

    Every slot has at least one part, which may have no cells.

    Parameters
    ----------
    starts : ndarray of int, shape (K + 1,)
        First cell of each part.
    first : ndarray of int, shape (J + 1,)
        First part of each slot.
    share : ndarray of float, shape (K, T)
        Weights of the tier effects; each row sums to 1.
    """

    starts: IntArray  # (K + 1,) where each part's cells begin
    first: IntArray  # (J + 1,) where each slot's parts begin
    share: FloatArray  # (K, T) of the tiers' effects; each row sums to 1

    @property
    def tiers(self) -> int:
        """Return the number of tiers, T."""
        return int(self.share.shape[1])

    def of_cells(self, kept: BoolArray) -> TierParts:
        """Return the same parts with a part of the cells.

        Parameters
        ----------
        kept : ndarray of bool, shape (n,)
            The cells to keep.

        Returns
        -------
        TierParts
            The parts, some of which may have no cells.
        """
        return replace(self, starts=kept_starts(self.starts, kept))

    def of(self, slots: slice) -> slice:
        """Return the parts of consecutive slots.

        Parameters
        ----------
        slots : slice
            The slots.

        Returns
        -------
        slice
            The parts.
        """
        return slice(int(self.first[slots.start]), int(self.first[slots.stop]))

    def phi(self, of_slots: FloatArray) -> FloatArray:
        """Return the parameters of the parts: the linear map L.

        Parameters
        ----------
        of_slots : ndarray of float, shape (J, P + T)
            Parameters of the slots.

        Returns
        -------
        ndarray of float, shape (K, P)
            Parameters of the parts.
        """
        return self._down(of_slots[self._slot(slice(0, len(self.first) - 1))], self.share)

    def covariances(self, slots: slice, with_shared: FloatArray, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the covariances of the parts of some slots.

        Parameters
        ----------
        slots : slice
            The slots.
        with_shared : ndarray of float, shape (slots, P + T, S)
            Covariances of the slots with the shared parameters.
        own : ndarray of float, shape (slots, P + T, P + T)
            Covariances of the slots.

        Returns
        -------
        tuple of ndarray of float, shapes (parts, P, S) and (parts, P, P)
            Covariances of the parts.
        """
        slot, share = self._slot(slots) - slots.start, self.share[self.of(slots)]
        half = self._down(own.swapaxes(1, 2)[slot].swapaxes(1, 2), share)
        both = self._down(half.swapaxes(1, 2), share)
        return np.ascontiguousarray(self._down(with_shared[slot], share)), np.ascontiguousarray(both)

    def gradient(self, of_parts: FloatArray) -> FloatArray:
        """Return the gradient by slot: the transpose L'.

        Parameters
        ----------
        of_parts : ndarray of float, shape (K, P)
            Gradients of the parts.

        Returns
        -------
        ndarray of float, shape (J, P + T)
            Gradients of the slots.
        """
        total: FloatArray = np.add.reduceat(_up(of_parts, self.share), self.first[:-1])
        return total

    def cross(self, of_cells: FloatArray) -> FloatArray:
        """Return the information between theta and the slots' parameters.

        Parameters
        ----------
        of_cells : ndarray of float, shape (n, P)
            Information with the parts' parameters.

        Returns
        -------
        ndarray of float, shape (n, P + T)
            Information with the slots' parameters.
        """
        cells, first = np.diff(self.starts), 1 + self.tiers
        wide = np.empty((len(of_cells), of_cells.shape[1] + self.tiers))
        wide[:, 0], wide[:, first:] = of_cells[:, 0], of_cells[:, 1:]
        for tier, share in enumerate(self.share.T, start=1):  # one after another: of a million cells each takes 8 MB
            np.multiply(np.repeat(share, cells), of_cells[:, 0], out=wide[:, tier])
        return wide

    def information(self, of_parts: FloatArray) -> FloatArray:
        """Return the information of the slots, L' I L.

        Parameters
        ----------
        of_parts : ndarray of float, shape (K, P, P)
            Information of the parts.

        Returns
        -------
        ndarray of float, shape (J, P + T, P + T)
            Information of the slots.
        """
        half = _up(of_parts, self.share)
        total: FloatArray = np.add.reduceat(_up(half.swapaxes(1, 2), self.share), self.first[:-1])
        return total

    def _slot(self, slots: slice) -> IntArray:
        """The slot of each part of some slots."""
        return np.repeat(np.arange(slots.start, slots.stop), np.diff(self.first[slots.start : slots.stop + 1]))

    def _down(self, wide: FloatArray, share: FloatArray) -> FloatArray:
        """L along axis 1: (k, P + T, ...) -> (k, P, ...)."""
        narrow: FloatArray = np.delete(wide, np.s_[1 : 1 + self.tiers], axis=1)
        narrow[:, 0] += np.einsum("kt,kt...->k...", share, wide[:, 1 : 1 + self.tiers])
        return narrow


def kept_starts(starts: IntArray, kept: BoolArray) -> IntArray:
    """Return the first cell of each group after a part of the cells was kept.

    Parameters
    ----------
    starts : ndarray of int, shape (K + 1,)
        First cell of each group.
    kept : ndarray of bool, shape (n,)
        The cells that were kept.

    Returns
    -------
    ndarray of int, shape (K + 1,)
        First kept cell of each group.
    """
    return np.concatenate([[0], np.cumsum(kept)])[starts]


def _up(narrow: FloatArray, share: FloatArray) -> FloatArray:
    """L' along axis 1: (k, P, ...) -> (k, P + T, ...)."""
    tiers = np.einsum("kt,k...->kt...", share, narrow[:, 0])
    return np.concatenate([narrow[:, :1], tiers, narrow[:, 1:]], axis=1)


def parts_of(slot: IntArray, slots: int, tiers: IntArray, count: int) -> tuple[IntArray, TierParts]:
    """Return the order of cells by part, and the parts.

    Parameters
    ----------
    slot : ndarray of int, shape (n,)
        Ascending slots of the cells.
    slots : int
        Number of slots J.
    tiers : ndarray of int, shape (n, 2)
        Tiers 0..count - 1 of each cell's chatbots.
    count : int
        Number of tiers.

    Returns
    -------
    tuple of (ndarray of int, shape (n,), TierParts)
        Order of the cells (slots stay ascending), and the parts.
    """
    low, high = np.sort(tiers, axis=1).T
    code = (slot * count + low) * count + high
    order = np.argsort(code, kind="stable")
    empty = np.setdiff1d(np.arange(slots), slot) * count * count  # as if of tier 0: any will do
    distinct = np.union1d(code, empty)
    share = np.zeros((len(distinct), count))
    row = np.arange(len(distinct))
    np.add.at(share, (row, distinct // count % count), 0.5)
    np.add.at(share, (row, distinct % count), 0.5)
    return order, TierParts(
        starts=np.append(np.searchsorted(code[order], distinct), len(code)),
        first=np.searchsorted(distinct // count**2, np.arange(slots + 1)),
        share=share,
    )
