"""A scatter plot as SVG: numbered points, and a list of what they are."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Union

_WIDTH, _HEIGHT = 640, 420  # of the plot itself, axes not included
_LEFT, _TOP, _BOTTOM, _LIST = 90, 50, 70, 30  # around it; _LIST before the list
_LINE = 20  # height of a line of the list
_CHARACTER = 7.3  # width of a monospaced character of 12 pixels


@dataclass(frozen=True)
class Point:
    """A point of a plot; `y` is above 0."""

    x: float
    y: float
    label: str


def _linear_ticks(last: float) -> list[float]:
    """Returns round numbers from 0 to `last` or a little more, at most 9 of them."""
    step = 10 ** math.floor(math.log10(last))
    for part in (0.2, 0.25, 0.5, 1, 2):
        if last / (part * step) <= 8:
            step *= part
            break
    return [i * step for i in range(math.ceil(last / step) + 1)]


def _logarithmic_ticks(first: float, last: float) -> list[float]:
    """Returns the powers of ten around what lies from `first` to `last`."""
    low, high = math.floor(math.log10(first)), math.ceil(math.log10(last))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _text(x: float, y: float, text: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def scatter_svg(points: Sequence[Point], title: str, x_label: str, y_label: str) -> str:
    """Returns an SVG document with one numbered circle for each point.

    The x axis starts at 0; the y axis is logarithmic. A list beside the plot says what
    each number is.

    Raises
    ------
    ValueError
        If there are no points, or a number is not finite, or a `y` not above 0.
    """
    if not points:
        raise ValueError("expected points to plot, got none")
    for point in points:
        if not (math.isfinite(point.x) and math.isfinite(point.y) and point.x >= 0 < point.y):
            raise ValueError(f"expected numbers that a plot can show, got {point}")
    x_ticks = _linear_ticks(max(point.x for point in points) or 1)
    y_ticks = _logarithmic_ticks(min(p.y for p in points), max(p.y for p in points))
    low, high = math.log10(y_ticks[0]), math.log10(y_ticks[-1])

    def to_x(x: float) -> float:
        return _LEFT + x / x_ticks[-1] * _WIDTH

    def to_y(y: float) -> float:
        return _TOP + (high - math.log10(y)) / (high - low) * _HEIGHT

    right, bottom, middle = _LEFT + _WIDTH, _TOP + _HEIGHT, _TOP + _HEIGHT / 2
    list_x = right + _LIST
    longest = max(len(point.label) for point in points) + 4
    width = math.ceil(list_x + longest * _CHARACTER + 10)
    height = max(bottom + _BOTTOM, _TOP + len(points) * _LINE + 20)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        _text(_LEFT, 28, title, more=' font-size="15"'),
    ]
    for x in x_ticks:
        parts += [
            f'<path d="M{to_x(x):.1f} {_TOP}V{bottom}" stroke="#ddd"/>',
            _text(to_x(x), bottom + 18, f"{x:,g}", "middle"),
        ]
    for y in y_ticks:
        parts += [
            f'<path d="M{_LEFT} {to_y(y):.1f}H{right}" stroke="#ddd"/>',
            _text(_LEFT - 8, to_y(y) + 4, f"{y:g}", "end"),
        ]
    parts += [
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="black"/>',
        _text(_LEFT + _WIDTH / 2, bottom + 44, x_label, "middle"),
        _text(0, 0, y_label, "middle", f' transform="translate(22 {middle}) rotate(-90)"'),
    ]
    for number, point in enumerate(points, 1):
        x, y = to_x(point.x), to_y(point.y)
        parts += [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#1f5fa8"/>',
            _text(x + 6, y - 5, str(number)),
            _text(
                list_x,
                _TOP + number * _LINE,
                f"{number:2d}  {point.label}",
                more=' font-family="monospace" xml:space="preserve"',
            ),
        ]
    return "\n".join([*parts, "</svg>", ""])


