"""Holds the drivers of an operator at fault points, one point at a time.

The operator is started with `faults`; a point does nothing until a test arms it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lithify.faults import POINTS
from support.holding import Hold


class Holds:
    """The fault points of one operator's drivers; their pipes are in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder

    @property
    def faults(self) -> str:
        """What LITHIFY_FAULTS has to be for the operator."""
        return ";".join(f"{point}=hold:{self.folder / point}" for point in POINTS)

    @contextmanager
    def armed(self, point: str) -> Iterator[Hold]:
        """Holds drivers at a point; inside, `reached` and `release` step them on. Who is held at the end
        stays held: release it, or end it."""
        hold = Hold(self.folder / point)
        hold.arm()
        try:
            yield hold
        finally:
            hold.disarm()
