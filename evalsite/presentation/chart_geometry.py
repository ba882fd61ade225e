"""Geometry of charts as numbers; templates draw them.

Horizontal positions are percentages, because the window decides the width. Vertical positions are pixels.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evalsite.presentation.formatting import fixed


@dataclass(frozen=True, slots=True)
class Tick:
    x: float
    label: str


@dataclass(frozen=True, slots=True)
class Axis:
    """A common axis; positions are percentages of its width."""

    low: float
    high: float

    def x(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def zero(self) -> float:
        return self.x(0.0)

    @property
    def ticks(self) -> list[Tick]:
        """Return three to seven round values."""
        step = _round_step((self.high - self.low) / 5)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        digits = max(0, -math.floor(math.log10(step)))
        return [Tick(self.x(n * step), fixed(n * step, digits)) for n in range(first, last + 1)]


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
    """Return the smallest axis with zero and all intervals, plus a margin."""
    low, high = min([0.0, *lowers]), max([0.0, *uppers])
    air = 0.04 * (high - low) or 1.0
    return Axis(low - air, high + air)


def whisker(axis: Axis, lower: float, middle: float, upper: float) -> Whisker:
    return Whisker(axis.x(lower), axis.x(middle), axis.x(upper))


def _round_step(rough: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


@dataclass(frozen=True, slots=True)
class ChartFrame:
    """Two perpendicular axes.

    across: percentages of the width.
    up: pixels between `bottom` and `top`.
    """

    across: Axis
    up: Axis
    top: float
    bottom: float

    def y(self, value: float) -> float:
        return round(self.bottom - (self.bottom - self.top) * self.up.x(value) / 100, 1)

    def line(self, points: Sequence[tuple[float, float]]) -> str:
        """Return the line through the points, as the `d` of an SVG path."""
        return "M" + "L".join(f"{self.across.x(x)},{self.y(y)}" for x, y in points)

    def band(self, points: Sequence[tuple[float, float, float]]) -> str:
        """Return the area between the lower and upper value of each (x, lower, upper)."""
        upper = [(x, high) for x, _, high in points]
        lower = [(x, low) for x, low, _ in reversed(points)]
        return self.line([*upper, *lower]) + "Z"

    @property
    def levels(self) -> list["Level"]:
        """Return the ticks of the vertical axis."""
        return [Level(round(self.bottom - (self.bottom - self.top) * t.x / 100, 1), t.label) for t in self.up.ticks]


@dataclass(frozen=True, slots=True)
class Level:
    y: float
    label: str


def frame_for(
    xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], *, top: float, bottom: float
) -> ChartFrame:
    """Return a frame from 0 to the largest x, without horizontal margins; the vertical axis is as in `axis_for`."""
    return ChartFrame(Axis(0.0, max([*xs, 0.0]) or 1.0), axis_for(lows, highs), top, bottom)


BELL_REACH = 3.5  # Standard errors. Beyond, the curve is less than a pixel high.
BELL_STEPS = 48


def bell(mean: float, se: float) -> list[tuple[float, float]]:
    """Return points of the normal density, relative to its maximum."""
    z = [BELL_REACH * (2 * step / BELL_STEPS - 1) for step in range(BELL_STEPS + 1)]
    return [(mean + each * se, math.exp(-each * each / 2)) for each in z]
