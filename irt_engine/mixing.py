"""Fixed points of long vectors: damped rounds far away, mixed ones near (Anderson 1965; Walker & Ni 2011).

A mixed round starts where a straight line through the last few rounds would have ended. It is a secant method: near the
end it converges about as fast as Newton's would on the few directions in which plain rounds are slow.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray

MEMORY = 10  # rounds that are mixed
MIXED_BELOW = 0.1  # error, in units of `unit`: farther away the rounds are not on a straight line
FIRST_SHARE = 0.7  # of the new values in the first round that is not mixed
_LARGEST_SHARE = 2.0
_SMALLEST_SHARE = 0.05
_WORSE = 30.0  # times the least error so far: a mixture that led there is forgotten
_MOST_NUMBERS = 40_000_000  # kept of all rounds together
_CAUTION = 0.3  # share of the round after a failure


class Mixer:
    """The next start, from where a round began and by how much it moved."""

    def __init__(self, unit: FloatArray) -> None:
        """unit (N,): what counts as equally far in every number."""
        self.weight = 1.0 / unit
        self.memory = max(1, min(MEMORY, _MOST_NUMBERS // (2 * len(unit))))
        self._forget()
        self.last_x = self.last_move = self.safe = np.zeros(0)
        self.share, self.best = FIRST_SHARE, np.inf

    def next(self, x: FloatArray, move: FloatArray, error: float) -> FloatArray:
        """Where to begin after a round from x that moved by `move`, both (N,)."""
        along = self._remember(x, move)
        self.safe = x + _CAUTION * move
        if error > _WORSE * self.best:
            self._forget()
        self.best = min(self.best, error)
        if error > MIXED_BELOW or not self.moves:
            self._steer(along)
            return x + self.share * move
        dF = np.array(self.moves)
        length = np.maximum(np.sqrt((dF * dF).sum(axis=1)), 1e-100)  # rounds differ by powers of ten
        gram = (dF @ dF.T) / np.outer(length, length)
        gamma = np.linalg.lstsq(gram, dF @ (move * self.weight) / length, rcond=1e-13)[0] / length
        mixed: FloatArray = x + move
        for share, end in zip(gamma, self.ends, strict=True):
            mixed -= share * end
        return mixed

    def back(self) -> FloatArray | None:
        """A cautious way on from the last start that held, forgetting the mixture that broke; None if that broke."""
        safe, self.safe = self.safe, np.zeros(0)
        self._forget()
        return safe if safe.size else None

    def _forget(self) -> None:
        self.moves: list[FloatArray] = []  # differences of successive moves, weighted
        self.ends: list[FloatArray] = []  # differences of successive ends

    def _remember(self, x: FloatArray, move: FloatArray) -> float:
        """Keep the differences to the round before; returns how far the two moves go the same way."""
        along = 0.0
        if self.last_x.size:
            weighted, before = move * self.weight, self.last_move * self.weight
            along = float(weighted @ before)
            self.moves = [*self.moves, weighted - before][-self.memory :]
            self.ends = [*self.ends, (x - self.last_x) + (move - self.last_move)][-self.memory :]
        self.last_x, self.last_move = x, move
        return along

    def _steer(self, along: float) -> None:
        """Smaller shares while rounds answer each other back and forth, larger ones while they creep one way."""
        if along < 0.0:
            self.share = max(0.5 * self.share, _SMALLEST_SHARE)
        elif along > 0.0:
            self.share = min(1.2 * self.share, _LARGEST_SHARE)
