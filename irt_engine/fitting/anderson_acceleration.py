"""Anderson acceleration of fixed-point iterations of long vectors.

Far from the fixed point, a share of each move is taken. Near it, the next iteration starts where a linear combination
of the last iterations would have ended. This is a secant method (Anderson 1965, Journal of the ACM 12, 547-560; Walker
and Ni 2011, SIAM Journal on Numerical Analysis 49, 1715-1735). Some numbers are *carried*: they are mixed with the same
weights, but do not influence them.
"""

from __future__ import annotations

import numpy as np

from irt_engine.arrays import FloatArray

MEMORY = 10  # rounds that are mixed
_LARGEST_SHARE = 1.0  # a step is as long as its curvature says: in a longer one, scales overshoot, and all begins anew
_SMALLEST_SHARE = 0.05
_WORSE = 30.0  # times the least error so far: a mixture that led there is forgotten
_MOST_NUMBERS = 20_000_000  # kept of all rounds together, 160 MB: five of half a million prompts
_CAUTION = 0.3  # share of the round after a failure


class AndersonAccelerator:
    """Accelerate a fixed-point iteration by Anderson acceleration.

    Parameters
    ----------
    unit : ndarray of float, shape (N,)
        Unit of each number, so that moves are comparable.
    carried : int
        Further numbers that follow without a weight in the mixture.
    mixed_below : float
        Error, in these units, below which iterations are mixed. Farther away the iteration is not linear.
    share : float
        Share of a move that is taken without mixing.
    """

    def __init__(self, unit: FloatArray, *, carried: int = 0, mixed_below: float = 0.1, share: float = 0.7) -> None:
        """Prepare the memory; see the class."""
        numbers, self.weight = len(unit), 1.0 / unit
        self.memory = max(1, min(MEMORY, _MOST_NUMBERS // (2 * numbers + carried)))
        self.moves = np.empty((self.memory, numbers))  # differences of successive moves, weighted
        self.ends = np.empty((self.memory, numbers + carried))  # differences of successive ends
        self.gram = np.empty((self.memory, self.memory))  # of `moves`
        self.last_end, self.last_move = np.empty(0), np.empty(0)  # the move weighted
        self.began: FloatArray | None = None  # where the last round did
        self.kept = self.oldest = 0
        self.renewed = False
        self.mixed_below, self.share, self.best = mixed_below, share, np.inf

    def next(self, x: FloatArray, end: FloatArray, error: float) -> FloatArray:
        """Return the start of the next iteration.

        Parameters
        ----------
        x, end : ndarray of float, shape (N + carried,)
            Start and end of the last iteration; they are not changed.
        error : float
            Its largest step, in posterior SDs.

        Returns
        -------
        ndarray of float, shape (N + carried,)
            A mixture of the last iterations.
        """
        numbers = len(self.weight)
        along = self._remember(end, (end[:numbers] - x[:numbers]) * self.weight)
        self.began = x
        if error > _WORSE * self.best:
            self.kept = 0
        self.best = min(self.best, error)
        if error > self.mixed_below or self.kept == 0:
            self._steer(along)
            return x + self.share * (end - x)
        length = np.sqrt(np.maximum(np.diag(self.gram)[: self.kept], 1e-200))  # rounds differ by powers of ten
        gram = self.gram[: self.kept, : self.kept] / np.outer(length, length)
        toward = self.moves[: self.kept] @ self.last_move
        gamma = np.linalg.lstsq(gram, toward / length, rcond=1e-13)[0] / length
        mixed: FloatArray = end - gamma @ self.ends[: self.kept]
        return mixed

    def forget(self) -> None:
        """Forget the iterations so far, because the next one divides its step by another curvature.

        A secant through iterations of two curvatures is no derivative of either. Mixtures with such secants led fits
        of 100,000 votes astray for up to ten iterations.
        """
        self.kept, self.renewed = 0, True

    def back(self) -> FloatArray | None:
        """Return a cautious start after a mixture failed, and forget the mixture.

        Returns
        -------
        ndarray of float or None
            None if the last start failed too.
        """
        began, self.began, self.kept = self.began, None, 0
        return None if began is None else began + _CAUTION * (self.last_end - began)

    def _remember(self, end: FloatArray, move: FloatArray) -> float:
        """Keep the differences to the round before. Returns how far the two moves go the same way."""
        along = float(move @ self.last_move) if self.last_move.size else 0.0
        if self.last_move.size and not self.renewed:
            place = self.kept if self.kept < self.memory else self.oldest
            self.oldest = 0 if self.kept < self.memory else (place + 1) % self.memory
            self.kept = min(self.kept + 1, self.memory)
            self.moves[place], self.ends[place] = move - self.last_move, end - self.last_end
            self.gram[place, : self.kept] = self.gram[: self.kept, place] = self.moves[: self.kept] @ self.moves[place]
        self.last_end, self.last_move, self.renewed = end, move, False
        return along

    def _steer(self, along: float) -> None:
        """Smaller shares while rounds answer each other back and forth, larger ones while they creep one way."""
        if along < 0.0:
            self.share = max(0.5 * self.share, _SMALLEST_SHARE)
        elif along > 0.0:
            self.share = min(1.2 * self.share, _LARGEST_SHARE)
