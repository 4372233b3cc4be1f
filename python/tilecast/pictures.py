"""Small pictures: as SVG for notebooks, which needs nothing, and through matplotlib where it is there."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

Point = Tuple[float, float]
_COLOURS = ("#3366aa", "#dd7722", "#449966", "#aa3344", "#7755aa", "#777777")


@dataclass(frozen=True)
class Picture:
    """What is drawn, whoever draws it: bars, or series of points as lines or dots."""

    title: str
    x_words: str
    y_words: str = ""
    bars: List[Tuple[str, float]] = field(default_factory=list)
    mark: Optional[float] = None  # a line across the bars
    mark_words: str = ""
    series: Dict[str, List[Point]] = field(default_factory=dict)
    joined: bool = False
    logarithmic: bool = False

    @classmethod
    def of_bars(cls, title: str, unit: str, bars: Iterable[Tuple[str, float]], mark: Optional[float] = None,
                mark_words: str = "") -> "Picture":
        return cls(title, unit, bars=list(bars), mark=mark, mark_words=mark_words)

    @classmethod
    def of_lines(cls, title: str, x_words: str, y_words: str, series: Dict[str, List[Point]], logarithmic: bool = False) -> "Picture":
        return cls(title, x_words, y_words, series=series, joined=True, logarithmic=logarithmic)

    @classmethod
    def of_dots(cls, title: str, x_words: str, y_words: str, series: Dict[str, List[Point]]) -> "Picture":
        return cls(title, x_words, y_words, series=series)


def number(value: Any) -> str:
    """As people read it: three digits of a fraction."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def facts(title: str, figures: Mapping[str, Any]) -> str:
    cells = "".join(f"<tr><td>{html.escape(str(name))}</td><td>{html.escape(number(value))}</td></tr>" for name, value in figures.items())
    return f"<table><caption>{html.escape(title)}</caption>{cells}</table>"


def svg(picture: Picture) -> str:
    return _bars_svg(picture) if picture.bars else _points_svg(picture)


def _text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="12" font-family="sans-serif" {more}>{html.escape(words)}</text>'


def _frame(width: float, height: float, title: str, parts: List[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
            f'<rect width="100%" height="100%" fill="white"/>' + _text(8, 16, title, 'font-weight="bold"') + "".join(parts) + "</svg>")


def _bars_svg(picture: Picture) -> str:
    left, wide, row = 190.0, 300.0, 20.0
    most = max([value for _, value in picture.bars] + [picture.mark or 0.0]) or 1.0
    parts = []
    for i, (name, value) in enumerate(picture.bars):
        y = 26 + i * row
        parts.append(_text(left - 6, y + 13, name, 'text-anchor="end"'))
        parts.append(f'<rect x="{left}" y="{y + 2:.1f}" width="{wide * value / most:.1f}" height="{row - 5}" fill="{_COLOURS[0]}"/>')
        parts.append(_text(left + wide * value / most + 4, y + 13, f"{number(value)} {picture.x_words}"))
    height = 26 + len(picture.bars) * row + 8
    if picture.mark is not None:
        x = left + wide * picture.mark / most
        parts.append(f'<line x1="{x:.1f}" y1="24" x2="{x:.1f}" y2="{height - 14}" stroke="{_COLOURS[1]}" stroke-dasharray="4 3"/>')
        parts.append(_text(x + 3, height - 2, picture.mark_words, f'fill="{_COLOURS[1]}"'))
    return _frame(left + wide + 110, height, picture.title, parts)


def _points_svg(picture: Picture) -> str:
    left, top, wide, high = 64.0, 28.0, 380.0, 220.0
    points = [point for some in picture.series.values() for point in some]
    if not points:
        return ""
    place_x = _scale([x for x, _ in points], left, left + wide, picture.logarithmic)
    place_y = _scale([y for _, y in points], top + high, top, picture.logarithmic)
    parts = [f'<path d="M{left},{top}V{top + high}H{left + wide}" fill="none" stroke="#444"/>']
    for ends, along in ((_ends([x for x, _ in points], picture.logarithmic), True), (_ends([y for _, y in points], picture.logarithmic), False)):
        for value in ends:
            parts.append(_text(place_x(value), top + high + 15, number(value), 'text-anchor="middle"') if along
                         else _text(left - 5, place_y(value) + 4, number(value), 'text-anchor="end"'))
    parts.append(_text(left + wide / 2, top + high + 32, picture.x_words, 'text-anchor="middle"'))
    parts.append(_text(14, top + high / 2, picture.y_words, f'text-anchor="middle" transform="rotate(-90 14 {top + high / 2:.0f})"'))
    for i, (name, some) in enumerate(picture.series.items()):
        colour = _COLOURS[i % len(_COLOURS)]
        places = [(place_x(x), place_y(y)) for x, y in some]
        if picture.joined:
            way = "L".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<path d="M{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        else:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
        if name:
            parts.append(_text(left + wide - 4, top + 14 * (i + 1), name, f'text-anchor="end" fill="{colour}"'))
    return _frame(left + wide + 24, top + high + 42, picture.title, parts)


def _ends(values: List[float], logarithmic: bool) -> Tuple[float, float]:
    low, high = (min(values) if logarithmic else min(0.0, min(values))), max(values)
    return low, high if high > low else low + 1.0


def _scale(values: List[float], start: float, end: float, logarithmic: bool) -> Any:
    low, high = _ends(values, logarithmic)
    if logarithmic:
        return lambda value: start + (end - start) * math.log(value / low) / math.log(high / low)
    return lambda value: start + (end - start) * (value - low) / (high - low)


def plot(picture: Picture, axes: Any = None) -> Any:
    """Draws with matplotlib; answers with the axes."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib; notebooks draw small pictures without it") from None
    if axes is None:
        axes = pyplot.subplots()[1]
    axes.set_title(picture.title)
    axes.set_xlabel(picture.x_words)
    if picture.bars:
        axes.barh([name for name, _ in picture.bars][::-1], [value for _, value in picture.bars][::-1])
        if picture.mark is not None:
            axes.axvline(picture.mark, linestyle="--", color="tab:orange", label=picture.mark_words)
            axes.legend()
        return axes
    axes.set_ylabel(picture.y_words)
    for name, points in picture.series.items():
        axes.plot([x for x, _ in points], [y for _, y in points], "-" if picture.joined else "o", label=name or None)
    if picture.logarithmic:
        axes.set_xscale("log")
        axes.set_yscale("log")
    if any(picture.series):
        axes.legend()
    return axes
