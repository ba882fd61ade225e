"""A line chart as SVG, by the standard library alone: for the figures under docs/."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 46, 56
# Told apart by dashes too, for those who do not see colours; legible on white and on black.
_STYLES = (("#8a8378", ""), ("#0d7a63", ""), ("#b4531f", "7 4"), ("#4a6fb5", "2 4"), ("#7a4fa0", "9 3 2 3"))


@dataclass(frozen=True, slots=True)
class Curve:
    """A named line through points (x, y)."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def drawing(title: str, x_label: str, y_label: str, curves: Sequence[Curve]) -> str:
    """The chart, both axes linear, y from 0; each line is named at its side. Needs a curve with a point."""
    most_x, most_y = (max(max(values) for values in side) for side in zip(*((c.x, c.y) for c in curves), strict=True))
    frame = _Frame(most_x, most_y)
    marks = [_text(_LEFT, 24, title, size=15, weight="600"), *_grid(frame, x_label, y_label)]
    for number, curve in enumerate(curves):
        marks += _line(frame, curve, number)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="system-ui, sans-serif"><title>{escape(title)}</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fffdf9"/>{"".join(marks)}</svg>\n'
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    most_x: float
    most_y: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        across, up = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
        return _LEFT + across * x / self.most_x, _TOP + up * (1.0 - y / (self.most_y * 1.05))


def _ticks(most: float) -> list[float]:
    """Four to nine round numbers from 0 up to `most`."""
    step = 10.0 ** floor(log10(most / 4.0))
    step *= next(times for times in (1, 2, 5, 10) if most / (step * times) <= 8.0)
    return [step * k for k in range(ceil(most / step + 1e-9)) if step * k <= most * 1.0001]


def _grid(frame: _Frame, x_label: str, y_label: str) -> list[str]:
    marks, (right, bottom) = [], frame.at(frame.most_x, 0.0)
    for tick in _ticks(frame.most_y):
        y = frame.at(0.0, tick)[1]
        marks.append(f'<path d="M{_LEFT} {y:.1f}H{right:.1f}" stroke="#e2dccf"/>')
        marks.append(_text(_LEFT - 8, y + 4, f"{tick:.3g}", anchor="end"))
    under = sorted({*_ticks(frame.most_x), frame.most_x})
    marks += [_text(frame.at(x, 0.0)[0], bottom + 20, f"{x:.3g}", anchor="middle") for x in under]
    marks.append(_text((_LEFT + right) / 2.0, HEIGHT - 12, x_label, anchor="middle"))
    return [*marks, _text(_LEFT, _TOP - 4, y_label)]


def _line(frame: _Frame, curve: Curve, number: int) -> list[str]:
    colour, dash = _STYLES[number % len(_STYLES)]
    points = [frame.at(x, y) for x, y in zip(curve.x, curve.y, strict=True)]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    stroke = f'stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
    key = _TOP + 22.0 * (number + 1)
    left = WIDTH - _RIGHT + 16
    return [
        f'<path d="{path}" fill="none" {stroke}/>',
        f'<path d="M{left} {key - 4:.0f}h26" {stroke}/>',
        _text(left + 34, key, curve.name),
    ]


def _text(x: float, y: float, words: str, *, anchor: str = "start", size: int = 12, weight: str = "400") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="#3a3733">{escape(words)}</text>'
    )
