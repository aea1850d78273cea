"""Parts of an SVG picture: text, boxes and lines. Knows of no metrics.

Used by `dashboard` and `terminal`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, FAINT, LINE, PAPER, CARD = "#1f2328", "#656d76", "#d0d7de", "#f6f8fa", "#ffffff"
COLOURS = (
    *("#0969da", "#bf8700", "#1a7f37", "#cf222e", "#8250df"),
    *("#0e8a8a", "#bc4c00", "#57606a", "#bf3989", "#4d2d00"),
)
SANS = "system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif"
MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,DejaVu Sans Mono,monospace"


@dataclass(frozen=True, slots=True)
class Box:
    """A place in a picture, in pixels."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, left: float, top: float, right: float, bottom: float) -> Box:
        """The box without margins."""
        return Box(self.x + left, self.y + top, self.width - left - right, self.height - top - bottom)


def text(x: float, y: float, words: str, *, size: float = 12, colour: str = INK, more: str = "") -> str:
    """A line of text; `more` are further attributes."""
    space = ' xml:space="preserve"' if "  " in words else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size:g}"'
    return f'<text {place} fill="{colour}"{space} {more}>{escape(words)}</text>'


def box(place: Box, *, fill: str = CARD, stroke: str = LINE) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{place.x:.1f}" y="{place.y:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" '
        f'rx="4" fill="{fill}" stroke="{stroke}"/>'
    )


def line(points: Sequence[tuple[float, float]], *, colour: str = LINE, width: float = 1) -> str:
    """A line through points; a dot where there is one only."""
    if len(points) == 1:
        ((x, y),) = points
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width:g}" fill="{colour}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}"/>'


def picture(width: float, height: float, title: str, parts: Iterable[str], *, font: str = SANS) -> str:
    """The text of an SVG file."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" font-family="{font}" role="img">'
    )
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>", ""])
