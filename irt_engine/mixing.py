"""Fixed points of long vectors: damped rounds far away, mixed ones near (Anderson 1965; Walker & Ni 2011).

A mixed round starts where a straight line through the last few rounds would have ended. It is a secant method: near the
end it converges about as fast as Newton's would on the few directions in which plain rounds are slow.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray

MEMORY = 10  # rounds that are mixed
_LARGEST_SHARE = 2.0
_SMALLEST_SHARE = 0.05
_WORSE = 30.0  # times the least error so far: a mixture that led there is forgotten
_MOST_NUMBERS = 40_000_000  # kept of all rounds together
_CAUTION = 0.3  # share of the round after a failure


class Mixer:
    """The next start, from where a round began and by how much it moved."""

    def __init__(self, unit: FloatArray, *, mixed_below: float = 0.1, share: float = 0.7) -> None:
        """unit (N,): what counts as equally far in every number. Rounds are mixed where the error, in these units, is
        below `mixed_below`: farther away they are not on a straight line, and a `share` of the move is taken."""
        self.weight = 1.0 / unit
        self.memory = max(1, min(MEMORY, _MOST_NUMBERS // (2 * len(unit))))
        self.moves = np.empty((self.memory, len(unit)))  # differences of successive moves, weighted
        self.ends = np.empty((self.memory, len(unit)))  # differences of successive ends
        self.gram = np.empty((self.memory, self.memory))  # of `moves`
        self.kept = self.oldest = 0
        self.last_end = self.last_move = self.safe = np.empty(0)
        self.mixed_below, self.share, self.best = mixed_below, share, np.inf

    def next(self, x: FloatArray, move: FloatArray, error: float) -> FloatArray:
        """Where to begin after a round from x that moved by `move`, both (N,)."""
        weighted, end = move * self.weight, x + move
        along = self._remember(end, weighted)
        self.safe = x + _CAUTION * move
        if error > _WORSE * self.best:
            self.kept = 0
        self.best = min(self.best, error)
        if error > self.mixed_below or self.kept == 0:
            self._steer(along)
            return x + self.share * move
        length = np.sqrt(np.maximum(np.diag(self.gram)[: self.kept], 1e-200))  # rounds differ by powers of ten
        gram = self.gram[: self.kept, : self.kept] / np.outer(length, length)
        toward = self.moves[: self.kept] @ weighted / length
        gamma = np.linalg.lstsq(gram, toward, rcond=1e-13)[0] / length
        mixed: FloatArray = end - gamma @ self.ends[: self.kept]
        return mixed

    def back(self) -> FloatArray | None:
        """A cautious way on from the last start that held, forgetting the mixture that broke; None if that broke."""
        safe, self.safe = self.safe, np.empty(0)
        self.kept = 0
        return safe if safe.size else None

    def _remember(self, end: FloatArray, weighted: FloatArray) -> float:
        """Keep the differences to the round before; returns how far the two moves go the same way."""
        along = 0.0
        if self.last_move.size:
            along = float(weighted @ self.last_move)
            place = self.kept if self.kept < self.memory else self.oldest
            self.oldest = 0 if self.kept < self.memory else (place + 1) % self.memory
            self.kept = min(self.kept + 1, self.memory)
            np.subtract(weighted, self.last_move, out=self.moves[place])
            np.subtract(end, self.last_end, out=self.ends[place])
            self.gram[place, : self.kept] = self.gram[: self.kept, place] = self.moves[: self.kept] @ self.moves[place]
        self.last_end, self.last_move = end, weighted
        return along

    def _steer(self, along: float) -> None:
        """Smaller shares while rounds answer each other back and forth, larger ones while they creep one way."""
        if along < 0.0:
            self.share = max(0.5 * self.share, _SMALLEST_SHARE)
        elif along > 0.0:
            self.share = min(1.2 * self.share, _LARGEST_SHARE)
