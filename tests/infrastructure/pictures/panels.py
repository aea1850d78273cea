"""Draws panels of a Grafana dashboard: single figures, lines over time, tables.

Called by `dashboard` with what the queries of a panel came to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, log, log10
from typing import Any

from infrastructure.chart.judging import Span, Values
from infrastructure.pictures.drawing import COLOURS, FAINT, INK, LINE, Box, line, text
from infrastructure.pictures.units import shown

Panel = Mapping[str, Any]
Results = Sequence[Sequence[Values]]
"""For each query of a panel its series."""
_MOST_NAMES = len(COLOURS)
_LETTER = 6.4
_KIBI = 1024
_RIGHT, _MIDDLE = 'text-anchor="end"', 'text-anchor="middle"'


@dataclass(frozen=True, slots=True)
class Curve:
    """A line of a panel."""

    name: str
    points: Sequence[tuple[float, float]]


def unit_of(panel: Panel) -> str:
    """The unit of a panel's figures."""
    return str(panel["fieldConfig"]["defaults"]["unit"])


def stat(panel: Panel, results: Results, place: Box) -> Iterator[str]:
    """The last value."""
    values = [one.points[-1][1] for series in results for one in series if one.points]
    words = shown(values[0], unit_of(panel)) if values else "No data"
    middle = place.x + place.width / 2
    yield text(middle, place.y + place.height * 0.62, words, size=26, colour=COLOURS[0], more=_MIDDLE)


def timeseries(panel: Panel, results: Results, place: Box, span: Span) -> Iterator[str]:
    """All series as lines, with axes and a legend."""
    curves = list(_curves(panel, results))
    names = [curve.name for curve in curves if curve.name][:_MOST_NAMES]
    rows = _rows(names, place.width)
    plot = place.inside(58, 6, 8, 22 + 16 * len(rows))
    unit = unit_of(panel)
    top = _ceiling(max((value for curve in curves for _, value in curve.points), default=0.0), unit)
    yield from _axes(plot, top, unit, span)
    if not curves:
        middle = plot.x + plot.width / 2, plot.y + plot.height / 2
        yield text(*middle, "No data", colour=FAINT, more=_MIDDLE)
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        for part in _without_gaps(curve.points, span.step):
            yield line([_at(plot, span, top, point) for point in part], colour=colour, width=1.5)
    yield from _legend(rows, names, place)


def table(panel: Panel, results: Results, place: Box) -> Iterator[str]:
    """One row for each set of labels, in the order of the first query's values, the largest first."""
    (organize,) = [one["options"] for one in panel["transformations"] if one["id"] == "organize"]
    renamed = organize["renameByName"]
    labels = sorted(organize["indexByName"], key=organize["indexByName"].__getitem__)
    refs = [target["refId"] for target in panel["targets"]]
    units = {
        one["matcher"]["options"]: one["properties"][0]["value"] for one in panel["fieldConfig"]["overrides"]
    }
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for ref, series in zip(refs, results, strict=True):
        for one in series:
            key = tuple(one.labels.get(label, "") for label in labels)
            rows.setdefault(key, {})[ref] = one.points[-1][1]
    ordered = sorted(rows.items(), key=lambda row: -row[1].get(refs[0], 0.0))
    titles = [renamed[f"Value #{ref}"] for ref in refs]
    cells = [[*(renamed[label] for label in labels), *titles]]
    for key, values in ordered:
        figures = [
            shown(values[ref], units[title]) if ref in values else ""
            for ref, title in zip(refs, titles, strict=True)
        ]
        cells.append([*key, *figures])
    yield from _cells(cells, len(labels), place)


def _cells(cells: Sequence[Sequence[str]], labels: int, place: Box) -> Iterator[str]:
    width = place.width / len(cells[0])
    for number, row in enumerate(cells):
        y = place.y + 20 + number * 21
        if y > place.y + place.height:
            return
        for column, words in enumerate(row):
            colour = INK if number else FAINT
            if column < labels:
                yield text(place.x + 10 + column * width, y, words, colour=colour)
            else:
                yield text(place.x + (column + 1) * width - 14, y, words, colour=colour, more=_RIGHT)
        yield line([(place.x + 8, y + 6), (place.x + place.width - 8, y + 6)])


def _curves(panel: Panel, results: Results) -> Iterator[Curve]:
    for target, series in zip(panel["targets"], results, strict=True):
        for one in series:
            name = re.sub(
                r"\{\{(\w+)\}\}", lambda label, one=one: one.labels.get(label[1], ""), target["legendFormat"]
            )
            if one.points:
                yield Curve(name, one.points)


def _without_gaps(points: Sequence[tuple[float, float]], step: float) -> Iterator[list[tuple[float, float]]]:
    part: list[tuple[float, float]] = []
    for point in points:
        if part and point[0] - part[-1][0] > 1.5 * step:
            yield part
            part = []
        part.append(point)
    if part:
        yield part


def _ceiling(most: float, unit: str) -> float:
    """A round number that is not below; of bytes, one that is round in their unit."""
    if most <= 0:
        return 1.0
    if unit in {"bytes", "Bps"} and most >= _KIBI:
        scale = _KIBI ** int(log(most, _KIBI))
        return scale * _ceiling(most / scale, "short")
    size = 10 ** (ceil(log10(most)) - 1)
    return next(size * factor for factor in (1, 2, 3, 4, 5, 6, 8, 10, 20) if size * factor >= most)


def _at(plot: Box, span: Span, top: float, point: tuple[float, float]) -> tuple[float, float]:
    along = (point[0] - span.start) / (span.end - span.start)
    return plot.x + along * plot.width, plot.y + plot.height * (1 - max(0.0, point[1]) / top)


def _axes(plot: Box, top: float, unit: str, span: Span) -> Iterator[str]:
    for quarter in range(5):
        y = plot.y + plot.height * (1 - quarter / 4)
        yield line([(plot.x, y), (plot.x + plot.width, y)])
        if quarter % 2 == 0:
            words = shown(top * quarter / 4, unit)
            yield text(plot.x - 6, y + 4, words, size=11, colour=FAINT, more=_RIGHT)
    first = ceil(span.start / 60) * 60
    for minute in range(first, int(span.end) + 1, 60):
        x, _ = _at(plot, span, 1.0, (minute, 0.0))
        words = datetime.fromtimestamp(minute, UTC).strftime("%H:%M")
        yield text(x, plot.y + plot.height + 15, words, size=11, colour=FAINT, more=_MIDDLE)
        yield line([(x, plot.y + plot.height), (x, plot.y + plot.height + 3)], colour=LINE)


def _rows(names: Sequence[str], width: float) -> list[list[int]]:
    """Which names share a line of the legend."""
    rows: list[list[int]] = []
    room = 0.0
    for number, name in enumerate(names):
        needs = 26 + len(name) * _LETTER
        if not rows or needs > room:
            rows.append([])
            room = width - 20
        rows[-1].append(number)
        room -= needs
    return rows


def _legend(rows: Sequence[Sequence[int]], names: Sequence[str], place: Box) -> Iterator[str]:
    for below, row in enumerate(reversed(rows)):
        x, y = place.x + 10, place.y + place.height - 6 - 16 * below
        for number in row:
            yield line([(x, y - 4), (x + 12, y - 4)], colour=COLOURS[number % len(COLOURS)], width=3)
            yield text(x + 16, y, names[number], size=11)
            x += 26 + len(names[number]) * _LETTER
