"""Draws the chart's dashboard with what its own queries come to over metrics that were scraped.

The queries are answered by Prometheus's engine (`judging.evaluate`); only the drawing is ours, and the
picture says so. Variables of the dashboard get the values that the scrape had.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from infrastructure.chart.judging import Span, Values, evaluate
from infrastructure.pictures.drawing import FAINT, INK, PAPER, Box, box, picture, text
from infrastructure.pictures.panels import Panel, Results, stat, table, timeseries

SOURCE = Path(__file__).resolve().parents[3] / "charts" / "lithify" / "dashboards" / "lithify.json"
_COLUMN, _ROW, _MARGIN, _TOP = 50.0, 30.0, 12.0, 44.0
_COLUMNS = 24


def panels() -> list[Panel]:
    """All panels of the dashboard, rows included."""
    found: list[Panel] = json.loads(SOURCE.read_text(encoding="utf-8"))["panels"]
    return found


def draw(history: Sequence[Values], span: Span, variables: Mapping[str, str], caption: str) -> str:
    """The picture.

    Args:
        history: what was scraped.
        span: what the dashboard shows of it.
        variables: by their names, without the dollar.
        caption: where it is from, for people.
    """
    found = panels()
    rows = max(one["gridPos"]["y"] + one["gridPos"]["h"] for one in found)
    width, height = _COLUMNS * _COLUMN + 2 * _MARGIN, _TOP + rows * _ROW + _MARGIN
    parts = [box(Box(0, 0, width, height), fill=PAPER, stroke=PAPER)]
    parts.append(text(_MARGIN + 4, 26, "Lithify", size=18))
    parts.append(text(width - _MARGIN, 26, caption, colour=FAINT, more='text-anchor="end"'))
    results = _results(found, history, span, variables)
    for panel in found:
        parts += _panel(panel, results.get(panel["id"], []), span)
    return picture(width, height, f"Lithify's dashboard. {caption}", parts)


def _results(
    found: Sequence[Panel], history: Sequence[Values], span: Span, variables: Mapping[str, str]
) -> dict[int, Results]:
    """What the queries of each panel come to, by its number; tables show the end only."""
    end = replace(span, start=span.end)
    results: dict[int, Results] = {}
    for moments, is_table in ((span, False), (end, True)):
        asked = [one for one in found if (one["type"] == "table") is is_table]
        queries = [[_filled(target["expr"], variables) for target in one.get("targets", [])] for one in asked]
        answers = iter(evaluate(history, [query for several in queries for query in several], moments))
        for one, several in zip(asked, queries, strict=True):
            results[one["id"]] = [next(answers) for _ in several]
    return results


def _filled(query: str, variables: Mapping[str, str]) -> str:
    for name in sorted(variables, key=len, reverse=True):
        query = query.replace(f"${name}", variables[name])
    return query


def _panel(panel: Panel, results: Results, span: Span) -> Iterator[str]:
    grid = panel["gridPos"]
    place = Box(
        _MARGIN + grid["x"] * _COLUMN, _TOP + grid["y"] * _ROW, grid["w"] * _COLUMN, grid["h"] * _ROW
    ).inside(3, 3, 3, 3)
    if panel["type"] == "row":
        yield text(place.x + 4, place.y + place.height - 6, panel["title"], size=15)
        return
    yield box(place)
    yield text(place.x + 10, place.y + 20, panel["title"], size=13, colour=INK, more='font-weight="600"')
    inner = place.inside(0, 28, 0, 2)
    match panel["type"]:
        case "stat":
            yield from stat(panel, results, place)
        case "table":
            yield from table(panel, results, inner)
        case "timeseries":
            yield from timeseries(panel, results, inner, span)
        case other:
            raise ValueError(f"nobody knows how to draw the panel {panel['title']}, which is a {other}")
