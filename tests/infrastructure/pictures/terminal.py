"""Draws what a command printed, as a terminal shows it."""

from __future__ import annotations

from infrastructure.pictures.drawing import CARD, FAINT, INK, MONO, Box, box, picture, text

_SIZE, _WIDTH, _HEIGHT, _MARGIN = 13.0, 7.85, 20.0, 16.0
"""Of a letter, a letter's advance, a line, and around all; in pixels."""


def draw(title: str, commands: list[tuple[str, str]]) -> str:
    """A picture of commands, and what each printed."""
    lines: list[tuple[str, str]] = []
    for command, printed in commands:
        lines += [(FAINT, f"$ {command}")]
        lines += [(INK, line.rstrip()) for line in printed.rstrip("\n").split("\n")]
        lines += [(INK, "")]
    lines.pop()
    width = max(len(line) for _, line in lines) * _WIDTH + 2 * _MARGIN
    height = len(lines) * _HEIGHT + 2 * _MARGIN
    parts = [box(Box(0.5, 0.5, width - 1, height - 1), fill=CARD)]
    for number, (colour, line) in enumerate(lines):
        bottom = _MARGIN + number * _HEIGHT + _SIZE
        parts.append(text(_MARGIN, bottom, line, size=_SIZE, colour=colour))
    return picture(width, height, title, parts, font=MONO)
