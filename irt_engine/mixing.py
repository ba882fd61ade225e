"""Fixed points of long vectors: damped rounds far away, mixed ones near (Anderson 1965; Walker & Ni 2011).

A mixed round starts where a straight line through the last few rounds would have ended. It is a secant method: near the
end it converges about as fast as Newton's would on the few directions in which plain rounds are slow.

A million cells are 3 million numbers, and what is remembered of ten rounds many times as many: reading them took as
long as asking the cells. So differences between rounds are kept in single precision. They only steer, and what they are
wrong by is 1e-7 of a difference, which shrinks with the rounds. And most numbers are *carried*: they are mixed like the
others, which alone say how.
"""

from __future__ import annotations

import numpy as np

from .arrays import FloatArray, SingleArray
from .arrow import Each, one_by_one
from .compiled import compiled

MEMORY = 10  # rounds that are mixed
_LARGEST_SHARE = 1.0  # a step is as long as its curvature says: in a longer one, scales overshoot, and all begins anew
_SMALLEST_SHARE = 0.05
_WORSE = 30.0  # times the least error so far: a mixture that led there is forgotten
_MOST_NUMBERS = 20_000_000  # kept of all rounds together: five of a million cells, which do with five as well
_CAUTION = 0.3  # share of the round after a failure
_BLOCK = 512  # numbers that are gone through together, so that they stay in the nearest cache
_PIECE = 1 << 17  # numbers whose sums are taken together, and which one thread takes at a time


class Mixer:
    """The next start, from where a round began and where it ended."""

    def __init__(
        self,
        unit: FloatArray,
        *,
        carried: int = 0,
        mixed_below: float = 0.1,
        share: float = 0.7,
        each: Each[int] = one_by_one,
    ) -> None:
        """unit (N,): what counts as equally far in every number; `carried` more follow behind them. Rounds are mixed
        where the error, in these units, is below `mixed_below`: farther away they are not on a straight line, and a
        `share` of the move is taken."""
        numbers, self.weight, self.each = len(unit), 1.0 / unit, each
        self.steering, self.all = _pieces(numbers), _pieces(numbers + carried)
        self.memory = max(1, min(MEMORY, _MOST_NUMBERS // (2 * numbers + carried)))
        self.moves = np.empty((self.memory, numbers), np.float32)  # differences of successive moves, weighted
        self.ends = np.empty((self.memory, numbers + carried), np.float32)  # differences of successive ends
        self.gram = np.empty((self.memory, self.memory))  # of `moves`
        self.last_end, self.last_move = np.empty(0), np.zeros(numbers)  # the move weighted
        self.began: FloatArray | None = None  # where the last round did
        self.rounds = self.kept = self.oldest = 0
        self.mixed_below, self.share, self.best = mixed_below, share, np.inf

    def next(self, x: FloatArray, end: FloatArray, error: float) -> FloatArray:
        """Where to begin after a round from x to `end`, both (N + carried,), which are kept as they are."""
        along, toward = self._remember(x, end)
        if error > _WORSE * self.best:
            self.kept = 0
        self.best = min(self.best, error)
        if error > self.mixed_below or self.kept == 0:
            self._steer(along)
            return x + self.share * (end - x)
        length = np.sqrt(np.maximum(np.diag(self.gram)[: self.kept], 1e-200))  # rounds differ by powers of ten
        gram = self.gram[: self.kept, : self.kept] / np.outer(length, length)
        gamma = np.linalg.lstsq(gram, toward[: self.kept] / length, rcond=1e-13)[0] / length
        mixed = np.empty_like(end)

        def work(number: int) -> bool:
            piece = self.all[number]
            _mix(piece.start, piece.stop, self.ends, gamma, end, mixed)
            return True

        self.each(work, range(len(self.all)))
        return mixed

    def back(self) -> FloatArray | None:
        """A cautious way on from the last start that held, forgetting the mixture that broke; None if that broke."""
        began, self.began, self.kept = self.began, None, 0
        return None if began is None else began + _CAUTION * (self.last_end - began)

    def _remember(self, x: FloatArray, end: FloatArray) -> tuple[float, FloatArray]:
        """Keep the differences to the round before. Returns how far the two moves go the same way, and this one along
        the differences of moves that are kept (memory,)."""
        place, count = -1, 0
        if self.rounds:
            place = self.kept if self.kept < self.memory else self.oldest
            self.oldest = 0 if self.kept < self.memory else (place + 1) % self.memory
            count = self.kept = min(self.kept + 1, self.memory)
        products = np.zeros((len(self.steering), 2, self.memory + 1))

        def work(number: int) -> bool:
            if number < len(self.steering):
                piece = self.steering[number]
                _remember(
                    piece.start, piece.stop, x, end, self.weight, self.last_move, self.moves, place, count,
                    products[number],
                )  # fmt: skip
            if place >= 0:
                piece = self.all[number]
                np.subtract(end[piece], self.last_end[piece], out=self.ends[place, piece], casting="same_kind")
            return True

        self.each(work, range(len(self.all)))
        self.began, self.last_end, self.rounds = x, end, self.rounds + 1
        total = products.sum(axis=0)
        if count:
            self.gram[place, :count] = self.gram[:count, place] = total[0, :count]
        return float(total[1, -1]), total[1, :-1]

    def _steer(self, along: float) -> None:
        """Smaller shares while rounds answer each other back and forth, larger ones while they creep one way."""
        if along < 0.0:
            self.share = max(0.5 * self.share, _SMALLEST_SHARE)
        elif along > 0.0:
            self.share = min(1.2 * self.share, _LARGEST_SHARE)


def _pieces(numbers: int) -> list[slice]:
    return [slice(a, min(a + _PIECE, numbers)) for a in range(0, numbers, _PIECE)]


@compiled
def _remember(
    first: int,
    stop: int,
    x: FloatArray,  # (N + carried,) where the round began
    end: FloatArray,  # (N + carried,) and ended
    weight: FloatArray,  # (N,)
    last_move: FloatArray,  # (N,)       in and out, weighted
    moves: SingleArray,  # (memory, N)   row `place` out
    place: int,  # of the new differences; -1 in the first round, which has none
    count: int,  # differences that are kept, the new ones included
    products: FloatArray,  # (2, memory + 1)  added to: products of the kept moves' differences with the new one, and
    # with this move; in the last column, of this move with the last
) -> None:
    """One pass over some numbers."""
    fresh = np.empty(_BLOCK)
    for a in range(first, stop, _BLOCK):
        b = min(a + _BLOCK, stop)
        move = last_move[a:b]
        _weigh(x[a:b], end[a:b], weight[a:b], fresh)
        if place >= 0:
            products[1, -1] += _differ(fresh, move, moves[place, a:b])
            for r in range(count):
                with_new, with_this = _multiply(moves[r, a:b], moves[place, a:b], fresh)
                products[0, r] += with_new
                products[1, r] += with_this
        for i in range(b - a):
            move[i] = fresh[i]


# Loops with few arrays: the processor works on several numbers at a time only where it can tell soon that arrays do not
# overlap.


@compiled
def _weigh(x: FloatArray, end: FloatArray, weight: FloatArray, fresh: FloatArray) -> None:
    for i in range(len(x)):
        fresh[i] = (end[i] - x[i]) * weight[i]


@compiled
def _differ(fresh: FloatArray, move: FloatArray, turned: SingleArray) -> float:
    along = 0.0
    for i in range(len(move)):
        turned[i] = fresh[i] - move[i]
        along += fresh[i] * move[i]
    return along


@compiled
def _multiply(kept: SingleArray, new: SingleArray, this: FloatArray) -> tuple[float, float]:
    with_new, with_this = 0.0, 0.0
    for i in range(len(kept)):
        value = np.float64(kept[i])
        with_new += value * new[i]
        with_this += value * this[i]
    return with_new, with_this


@compiled
def _mix(first: int, stop: int, ends: SingleArray, gamma: FloatArray, end: FloatArray, mixed: FloatArray) -> None:
    """mixed (N,) = end - gamma ends, of some numbers."""
    for a in range(first, stop, _BLOCK):
        n = min(_BLOCK, stop - a)
        out, ended = mixed[a : a + n], end[a : a + n]
        for i in range(n):
            out[i] = ended[i]
        for r in range(len(gamma)):
            share, shifted = gamma[r], ends[r, a : a + n]
            for i in range(n):
                out[i] -= share * shifted[i]
