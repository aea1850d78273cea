"""Runs that are read once although their section is merged in several stages.

Used by `section_copier`: between two stages a row group is copied, whose keys no staged run has.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lithify.columns.order import count_upto, parts_of_column
from lithify.engine.rewrite.runs import Piece, RunSource
from lithify.formats.paimon.primary_key.copying import Bound


class StagedRun:
    """A run that is read once, by several merges one after the other.

    Args:
        run: the run.
        first: name of the first key column.
    """

    def __init__(self, run: RunSource, first: str) -> None:
        self._run = run
        self._first = first
        self._pieces: Iterator[Piece] | None = None
        self._left: Piece | None = None

    def upto(self, bound: Bound | None) -> RunSource:
        """The remaining rows up to a value of the first key column; all of them for None."""
        return _StagePart(self, bound)

    @property
    def run(self) -> RunSource:
        """The whole run."""
        return self._run

    def close(self) -> None:
        """Closes the run's files."""
        self._left = None
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()

    def take(self, bound: Bound | None, piece_bytes: int) -> Iterator[Piece]:
        """Yields the remaining rows up to a bound, and keeps the others."""
        if self._pieces is None:
            self._pieces = self._run.pieces(piece_bytes)
        while True:
            piece, self._left = self._left or next(self._pieces, None), None
            if piece is None:
                return
            rows = piece.rows.num_rows
            count = (
                rows if bound is None else count_upto(parts_of_column(piece.rows.column(self._first)), bound)
            )
            if count < rows:
                self._left = piece.slice(count, rows)
            if count:
                yield piece.slice(0, count)
            if count < rows:
                return


@dataclass(frozen=True, slots=True)
class _StagePart:
    """One stage of a staged run; a `RunSource`."""

    staged: StagedRun
    bound: Bound | None

    @property
    def size(self) -> int:
        """Bytes of the whole run."""
        return self.staged.run.size

    @property
    def overhead(self) -> int:
        """Bytes that an open reader holds."""
        return self.staged.run.overhead

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the rows of the stage."""
        return self.staged.take(self.bound, piece_bytes)
