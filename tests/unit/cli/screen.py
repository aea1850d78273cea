"""What people see of a picture."""

from __future__ import annotations

from io import StringIO

from rich.console import Console, RenderableType


def text_of(view: RenderableType, width: int = 140) -> str:
    """A picture as plain text."""
    written = StringIO()
    Console(file=written, highlight=False, width=width).print(view)
    return written.getvalue()


def lines_of(view: RenderableType) -> list[list[str]]:
    """The words of each line that has some."""
    return [line.split() for line in text_of(view).splitlines() if line.strip()]
