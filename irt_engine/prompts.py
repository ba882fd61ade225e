"""How a prompt's parameters become its six thresholds; ordered by construction, through log gaps.

Notation: phi (P,) = (log alpha, [location], log gaps); a prompt's log gaps are the common ones plus its own deviation,
and everything in this file takes the sum. b_c = location + sum_k spread[c, k] exp(gap_k), c = 0..5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import FloatArray, IntArray
from .grm import EDGES, edge_terms, edges, log_likelihood, observed_terms

_FARTHEST = 12.0  # e^12 = 160,000: no prompt is there, only a line search's trial steps are


def _exp(log: FloatArray) -> FloatArray:
    """exp without overflow, so that a trial step too far is a bad value and not a warning."""
    return np.exp(np.clip(log, -_FARTHEST, _FARTHEST))


@dataclass(frozen=True, slots=True, eq=False)
class CellTerms:
    """Sums over nothing: one row per cell, gradient of the log-likelihood and expected information.

    d_theta (n,), d_phi (n, P), i_theta (n,), cross (n, P) = theta x phi, i_phi (n, P, P).
    """

    d_theta: FloatArray
    d_phi: FloatArray
    i_theta: FloatArray
    cross: FloatArray
    i_phi: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PromptModel:
    """One shape of thresholds. `spread` (6, G) says how the G gaps add up to the thresholds."""

    name: str
    located: bool
    spread: FloatArray

    @property
    def gaps(self) -> int:
        """G, the number of log gaps."""
        return int(self.spread.shape[1])

    @property
    def first_gap(self) -> int:
        """Where the log gaps begin in phi."""
        return 2 if self.located else 1

    @property
    def size(self) -> int:
        """P, the length of phi."""
        return self.first_gap + self.gaps

    def thresholds(self, phi: FloatArray) -> FloatArray:
        """(n, P) -> (n, 6), increasing along the last axis."""
        b: FloatArray = _exp(phi[:, self.first_gap :]) @ self.spread.T
        if self.located:
            b += phi[:, 1:2]
        return b

    def log_likelihood(self, theta: FloatArray, phi: FloatArray, category: IntArray) -> FloatArray:
        """Per cell, (n,)."""
        return log_likelihood(edges(theta, _exp(phi[:, 0]), self.thresholds(phi)), category)

    def cell_terms(self, theta: FloatArray, phi: FloatArray, category: IntArray) -> CellTerms:
        """Chain rule from the edges x to (theta, phi), one row per cell; theta (n,), phi (n, P)."""
        alpha = _exp(phi[:, 0])
        x = edges(theta, alpha, self.thresholds(phi))
        terms = edge_terms(x, category)
        slope = self._slopes(x, alpha, phi)
        weighted = terms.diagonal[:, :, None] * slope
        weighted[:, :-1] += terms.off[:, :, None] * slope[:, 1:]
        weighted[:, 1:] += terms.off[:, :, None] * slope[:, :-1]
        total = terms.diagonal.sum(axis=1) + 2.0 * terms.off.sum(axis=1)
        return CellTerms(
            d_theta=alpha * terms.score.sum(axis=1),
            d_phi=np.einsum("nc,ncp->np", terms.score, slope),
            i_theta=alpha**2 * np.maximum(total, 0.0),
            cross=alpha[:, None] * weighted.sum(axis=1),
            i_phi=np.matmul(slope.transpose(0, 2, 1), weighted),
        )

    def bent_terms(self, theta: FloatArray, phi: FloatArray, category: IntArray) -> CellTerms:
        """Like `cell_terms`, with the curvature of log P in the edges instead of its expectation.

        Positive semi-definite, but not yet the observed information: that also has the curvature of the edges in
        (theta, phi), which `edge_curvature` gives from the sums of the gradient.
        """
        alpha = _exp(phi[:, 0])
        x = edges(theta, alpha, self.thresholds(phi))
        at = observed_terms(x, category)
        gaps = alpha[:, None] * _exp(phi[:, self.first_gap :])
        left, right = self._edge(x, alpha, gaps, at.left), self._edge(x, alpha, gaps, at.right)
        apart = np.zeros_like(left)  # of gap = left - right, without the difference of two nearly equal numbers
        apart[:, self.first_gap :] = gaps * (self.spread[at.right] - self.spread[at.left])
        apart[:, 0] = apart[:, self.first_gap :].sum(axis=1)
        parts = ((left, at.slope_left, at.bend_left), (right, at.slope_right, at.bend_right))
        i_phi = (at.bend_gap[:, None] * apart)[:, :, None] * apart[:, None, :]
        for slope, _, bend in parts:
            i_phi += (bend[:, None] * slope)[:, :, None] * slope[:, None, :]
        return CellTerms(
            d_theta=alpha * (at.slope_left + at.slope_right),
            d_phi=at.slope_gap[:, None] * apart + sum(first[:, None] * slope for slope, first, _ in parts),
            i_theta=alpha**2 * (at.bend_left + at.bend_right),
            cross=alpha[:, None] * sum(bend[:, None] * slope for slope, _, bend in parts),
            i_phi=i_phi,
        )

    def _edge(self, x: FloatArray, alpha: FloatArray, gaps: FloatArray, edge: IntArray) -> FloatArray:
        """dx / dphi of one edge per cell, (n, P); edge (n,)."""
        slope = np.empty((len(x), self.size))
        slope[:, 0] = x[np.arange(len(x)), edge]
        if self.located:
            slope[:, 1] = -alpha
        slope[:, self.first_gap :] = -gaps * self.spread[edge]
        return slope

    def edge_curvature(self, d_phi: FloatArray) -> FloatArray:
        """What the curvature of the edges adds to the bent information, (J, P, P), from the gradient d_phi (J, P).

        Every parameter but location and theta is a logarithm, and every edge is proportional to alpha: the second
        derivatives of the log-likelihood through the edges are its first ones over again, in the row and the column
        of log alpha (there theta has a share too: - d_theta) and on the diagonal of the gaps.
        """
        J, P = d_phi.shape
        added = np.zeros((J, P, P))
        gaps = np.arange(self.first_gap, P)
        added[:, gaps, gaps] = -d_phi[:, gaps]
        added[:, 0, :] = -d_phi
        added[:, :, 0] = -d_phi
        return added

    def _slopes(self, x: FloatArray, alpha: FloatArray, phi: FloatArray) -> FloatArray:
        """dx_c / dphi_p, (n, 6, P)."""
        slope = np.empty((len(x), EDGES, self.size))
        slope[:, :, 0] = x
        if self.located:
            slope[:, :, 1] = -alpha[:, None]
        gap = alpha[:, None] * _exp(phi[:, self.first_gap :])
        slope[:, :, self.first_gap :] = -gap[:, None, :] * self.spread
        return slope


def _free() -> PromptModel:
    """Five gaps around a location in the middle of the tie category: six free, ordered thresholds."""
    spread = np.zeros((EDGES, 5))
    spread[2, 2], spread[3, 2] = -0.5, 0.5
    for c in (1, 0):
        spread[c] = spread[c + 1]
        spread[c, c] = -1.0
    for c in (4, 5):
        spread[c] = spread[c - 1]
        spread[c, c - 1] = 1.0
    return PromptModel("pair", located=True, spread=spread)


def _mirrored() -> PromptModel:
    """Three half-widths and their mirror image, b_c = -b_{1-c} in net ratings: swapping A and B changes only signs."""
    widths = np.tril(np.ones((3, 3)))
    return PromptModel("board", located=False, spread=np.vstack([-widths[::-1], widths]))


FREE = _free()
MIRRORED = _mirrored()
