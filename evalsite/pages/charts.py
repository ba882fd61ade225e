"""Geometry of the drawn intervals: numbers only; the drawing is the template's."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A common axis in logits; positions are percentages of its width. Zero is always on it."""

    low: float
    high: float

    def x(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def zero(self) -> float:
        return self.x(0.0)

    @property
    def ticks(self) -> list[Tick]:
        """Three to seven round values."""
        step = _round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        digits = max(0, -math.floor(math.log10(step)))
        return [Tick(self.x(n * step), f"{n * step:.{digits}f}".replace("-", "−")) for n in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Whisker:
    """An interval as percentages of its axis."""

    left: float
    mid: float
    right: float

    @property
    def width(self) -> float:
        return round(self.right - self.left, 2)


def axis_for(lowers: Sequence[float], uppers: Sequence[float]) -> Axis:
    """The smallest axis with zero and all intervals on it, and a little air."""
    low, high = min([0.0, *lowers]), max([0.0, *uppers])
    air = 0.04 * (high - low) or 1.0
    return Axis(low - air, high + air)


def whisker(axis: Axis, lower: float, middle: float, upper: float) -> Whisker:
    return Whisker(axis.x(lower), axis.x(middle), axis.x(upper))


def _round_step(rough: float) -> float:
    """The next of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
