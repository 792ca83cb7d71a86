"""Small pictures as SVG: lines over an axis, and a heat map.

Law: numbers in, SVG text out; every text is escaped here. Colours and light or dark are the page's style sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import floor, isfinite, log10

WIDTH, HEIGHT = 420, 240
LEFT, RIGHT, TOP, BOTTOM = 60, 12, 10, 40
LARGEST, SMALLEST = 1e15, 1e-9
"""Beyond these a number is no measure of ours, and a span is none."""
COLOURS = 8
"""How many series the style sheet tells apart: the GPUs of a host."""
MARGIN = 0.04
"""Room left and right of the points, as a share of what they span, so that none lies on the numbers of the axis."""


@dataclass(frozen=True, slots=True)
class Point:
    """A value, with the bounds that are known of it and the floor or ceiling that it is held against."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    limit: float | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one colour: as `marks`, and `joined` by a line.

    Attributes:
        tone: What the colour says, as the style sheet names it: "bad", "edge". Without one it is that of its place.
    """

    name: str
    points: Sequence[Point]
    marks: bool = True
    joined: bool = True
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction: values from `first` to `last` on a length of pixels from `start` to `end`."""

    first: float
    last: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Where a value lies."""
        return self.start + (value - self.first) / (self.last - self.first) * (self.end - self.start)

    def ticks(self, *, whole: bool = False) -> list[float]:
        """About five round values; `whole`: none between whole numbers."""
        step = nice((self.last - self.first) / 5)
        step = max(step, 1.0) if whole else step
        count = floor(self.last / step + 1e-9) - floor(self.first / step - 1e-9)
        values = [(floor(self.first / step) + n) * step for n in range(count + 2)]
        return [value for value in values if self.first - 1e-9 <= value <= self.last + 1e-9]


def measured(value: float | None) -> bool:
    """Whether this is a number that can be drawn."""
    return value is not None and isfinite(value) and abs(value) < LARGEST


def nice(step: float) -> float:
    """The next round number: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(step))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= step * 0.999)


def axis(values: Sequence[float], start: float, end: float, *, from_zero: bool) -> Axis:
    """An axis that all values fit on, with a little room above."""
    low, high = min(values), max(values)
    low = min(low, 0.0) if from_zero else low
    if high - low < SMALLEST:
        low, high = (
            low - (0 if from_zero else 0.5),
            high + (abs(high) if abs(high) >= SMALLEST else 1.0) * 0.5,
        )
    return Axis(low, high + (high - low) * 0.05 if from_zero else high, start, end)


def label(value: float) -> str:
    """A tick's number."""
    return f"{value:,.0f}".replace(",", "\u202f") if abs(value) >= 1000 else f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class Words:
    """What a picture says beside its numbers: along the axes, and of limits and of the vertical line in its key.

    Attributes:
        counts: Across are whole things, counted from none.
        numbered: Across are things with a number, the first is 1.
    """

    across: str
    up: str
    limit: str = "floor"
    rule: str = "window"
    counts: bool = False
    numbered: bool = False


def lines(title: str, words: Words, series: Sequence[Series], rule: float | None = None) -> str:
    """A figure with lines; empty where there is nothing to draw. `rule`: a vertical line at this x."""
    drawn = [replace(s, points=[p for p in s.points if measured(p.x) and measured(p.y)]) for s in series]
    drawn = [each for each in drawn if each.points]
    if not drawn:
        return ""
    points = [point for each in drawn for point in each.points]
    xs = [point.x for point in points] + ([rule] if rule is not None else [])
    ys = [v for p in points for v in (p.y, p.low, p.high, p.limit) if v is not None and measured(v)]
    x = wider(axis(xs, LEFT, WIDTH - RIGHT, from_zero=words.counts))
    y = axis(ys, HEIGHT - BOTTOM, TOP, from_zero=True)
    parts = [*_frame(x, y, words)]
    if rule is not None:
        parts.append(
            f'<line class="rule" x1="{x.at(rule):.1f}" x2="{x.at(rule):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        )
    tones = [each.tone or str(number % COLOURS) for number, each in enumerate(drawn)]
    for tone, each in zip(tones, drawn, strict=True):
        parts += _drawn(each, x, y, f"s{tone}")
    keys = [(f"k{tone}", each.name) for tone, each in zip(tones, drawn, strict=True)] if drawn[1:] else []
    marked = [point for each in drawn if each.marks for point in each.points]
    keys += [("klimit", words.limit)] if any(point.limit is not None for point in marked) else []
    bounded = any(point.low is not None or point.high is not None for point in marked)
    keys += [("kbounds", "may lie between")] if bounded else []
    keys += [("krule", words.rule)] if rule is not None else []
    return _figure(title, parts, keys)


def wider(x: Axis) -> Axis:
    """The same with a margin at both ends."""
    room = (x.last - x.first) * MARGIN
    return Axis(x.first - room, x.last + room, x.start, x.end)


def _drawn(series: Series, x: Axis, y: Axis, colour: str) -> list[str]:
    places = [(x.at(p.x), y.at(p.y), p) for p in series.points]
    path = " ".join(f"{left:.1f},{top:.1f}" for left, top, _ in places)
    parts = [f'<polyline class="{colour}" points="{path}"/>'] if series.joined else []
    for left, top, point in places if series.marks else ():
        if point.low is not None or point.high is not None:
            ends = [y.at(v) if v is not None and measured(v) else top for v in (point.low, point.high)]
            parts.append(
                f'<line class="{colour}" x1="{left:.1f}" x2="{left:.1f}" y1="{ends[0]:.1f}" y2="{ends[1]:.1f}"/>'
            )
        if point.limit is not None and measured(point.limit):
            at = y.at(point.limit)
            parts.append(
                f'<line class="limit" x1="{left - 9:.1f}" x2="{left + 9:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
            )
        told = escape(f"{series.name}: {label(point.y)} at {label(point.x)}")
        parts.append(
            f'<circle class="{colour}" cx="{left:.1f}" cy="{top:.1f}" r="3"><title>{told}</title></circle>'
        )
    return parts


def _frame(x: Axis, y: Axis, words: Words) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in y.ticks():
        at = y.at(value)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{label(value)}</text>')
    parts += [
        f'<text x="{x.at(value):.1f}" y="{bottom + 15}" text-anchor="middle">{label(value)}</text>'
        for value in x.ticks(whole=words.counts or words.numbered)
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(words.across)}</text>'
    )
    parts.append(
        f'<text transform="translate(11,{(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">{escape(words.up)}</text>'
    )
    return parts


def heat(
    title: str,
    across: Sequence[str],
    up: Sequence[str],
    values: Sequence[Sequence[float | None]],
    names: tuple[str, str],
) -> str:
    """A heat map: `values[row][column]`; a cell that was not measured is empty. `names`: of the columns, of the rows."""
    known = [value for row in values for value in row if value is not None and measured(value)]
    if not known:
        return ""
    low, high = min(known), max(known)
    wide, tall = (WIDTH - LEFT - RIGHT) / len(across), (HEIGHT - TOP - BOTTOM) / len(up)
    parts = []
    for r, row in enumerate(values):
        middle = TOP + r * tall + tall / 2
        parts.append(f'<text x="{LEFT - 5}" y="{middle + 4:.1f}" text-anchor="end">{escape(up[r])}</text>')
        for c, value in enumerate(row):
            if value is None or not measured(value):
                continue
            strength = 0.1 + 0.5 * ((value - low) / (high - low) if high > low else 0.5)
            left = LEFT + c * wide
            place = f'x="{left:.1f}" y="{TOP + r * tall:.1f}" width="{wide - 1:.1f}" height="{tall - 1:.1f}"'
            parts.append(f'<rect class="heat" {place} fill-opacity="{strength:.2f}"/>')
            parts.append(
                f'<text x="{left + wide / 2:.1f}" y="{middle + 4:.1f}" text-anchor="middle">{label(value)}</text>'
            )
    for c, name in enumerate(across):
        parts.append(
            f'<text x="{LEFT + c * wide + wide / 2:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{escape(name)}</text>'
        )
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(names[0])}</text>'
    )
    parts.append(
        f'<text transform="translate(11,{HEIGHT / 2 - 20}) rotate(-90)" text-anchor="middle">{escape(names[1])}</text>'
    )
    return _figure(title, parts)


def _figure(title: str, parts: Sequence[str], keys: Sequence[tuple[str, str]] = ()) -> str:
    """Title, picture, and a key of (class, name)."""
    legend = " ".join(f'<span class="key {tone}">{escape(name)}</span>' for tone, name in keys)
    told = f'<p class="quiet">{legend}</p>' if keys else ""
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>{told}</figure>'
    )
