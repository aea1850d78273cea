"""Figures of a data file that packing uses: plain figures, whatever the format.

Adapters pass their own objects, which only need these attributes; packing returns the same objects. Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar


class FileFigures(Protocol):
    """The figures of a data file."""

    @property
    def name(self) -> str:
        """Unique among the files that are packed together."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def rows(self) -> int:
        """Number of rows, deleted ones included."""

    @property
    def created_millis(self) -> int:
        """Creation time by the writer's wall clock, in milliseconds."""

    @property
    def vector_file(self) -> str | None:
        """Name of the file with its deletion vector, which may have others', too; None if it has none."""

    @property
    def deleted_rows(self) -> int | None:
        """Number of deleted rows; None where the writer did not count them."""


F = TypeVar("F", bound=FileFigures)

Rank = Callable[[F], Any]
"""Where a file's rows begin in the order of all rows, such as a sequence number or a lower bound."""
