"""A sorted run as a stream: buffers a bounded piece of it and returns the rows at or below a key.

`merge` holds one `RunCursor` per run. A source yields pieces in key order and never splits the records of a
key; the cursor verifies the order, because every later step relies on it, and a file that violates it is
corrupt.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.key_range import EVERYTHING, Key, KeyRange
from lithify.columns.order import (
    Part,
    count_upto,
    first_disorder,
    key_at,
    slice_parts,
)
from lithify.engine.rewrite.records import Mask, RecordLayout
from lithify.errors import CorruptTable, UnsupportedTable

_OUT_OF_ORDER = (
    "its keys are not strictly increasing, so it cannot be merged; the engine that wrote it is at fault, "
    "restore the file or rewrite the partition with it (in ORC files, CHAR keys with control characters and "
    "TIMESTAMP keys just before 1970 are stored as other values: rewrite these with file.format = parquet)"
)
_PIECES_PER_BUFFER = 4

_OVERSIZE = 2
"""A buffer this many times as large as asked for is merged in several rounds, which copy what they merge."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive rows of a run.

    Attributes:
        rows: value and system columns.
        run: their run number in the whole unit, or one per row after a pass that mixed several runs.
        origin: the file that the rows come from, for messages.
        begins: mask of the first row of each key, None if every key has one row here. Only an earlier pass
            leaves several: all records of a key that it had are then in one piece, in order.
    """

    rows: pa.RecordBatch
    run: int | npt.NDArray[np.int64]
    origin: str = ""
    begins: Mask | None = None

    @property
    def run_numbers(self) -> npt.NDArray[np.int64]:
        """The run number of each row."""
        if isinstance(self.run, int):
            return np.full(self.rows.num_rows, self.run, dtype=np.int64)
        return self.run

    @property
    def oldest_run(self) -> int:
        """The highest run number of any row."""
        return self.run if isinstance(self.run, int) else int(self.run.max())

    def slice(self, start: int, stop: int) -> Piece:
        """Rows `start` to `stop`, without copying."""
        return Piece(
            rows=self.rows.slice(start, stop - start),
            run=self.run if isinstance(self.run, int) else self.run[start:stop],
            origin=self.origin,
            begins=None if self.begins is None else self.begins[start:stop],
        )


class RunSource(Protocol):
    """One sorted run, readable from the front."""

    @property
    def size(self) -> int:
        """Bytes on disk: the smallest runs are merged first when there are too many to hold at once."""
        ...

    @property
    def overhead(self) -> int:
        """Bytes that an open reader of the run holds besides the piece it has returned."""
        ...

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the rows in key order, in pieces of at most about `piece_bytes` and at least one row.

        All rows of a key are in one piece.
        """
        ...


@dataclass(frozen=True, slots=True)
class KeyedPiece:
    """A piece together with the comparable parts of its keys."""

    piece: Piece
    keys: Sequence[Part]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.piece.rows.num_rows)

    def key(self, row: int) -> Key:
        """Key of one row."""
        return key_at(self.keys, row)

    @property
    def last_key(self) -> Key:
        """Key of the last row."""
        return self.key(self.rows - 1)

    def part(self, start: int, stop: int) -> KeyedPiece:
        """Rows `start` to `stop`, without copying."""
        return KeyedPiece(self.piece.slice(start, stop), slice_parts(self.keys, start, stop))

    def copied(self) -> KeyedPiece:
        """The same rows in memory of their own."""
        return KeyedPiece(replace(self.piece, rows=pa.concat_batches([self.piece.rows])), self.keys)

    def within(self, keys: KeyRange) -> KeyedPiece:
        """The rows inside a key range."""
        start = 0 if keys.after is None else count_upto(self.keys, keys.after)
        stop = self.rows if keys.upto is None else count_upto(self.keys, keys.upto)
        return self if stop - start == self.rows else self.part(start, max(start, stop))


@dataclass(frozen=True, slots=True)
class _Buffered:
    """A piece, or the rest of it, with its size, which is slow to determine for many columns.

    Attributes:
        piece: the rows.
        bytes_per_row: their size.
        bytes_held: size of all rows that are kept because of these.
    """

    piece: KeyedPiece
    bytes_per_row: float
    bytes_held: float

    @staticmethod
    def of(piece: KeyedPiece) -> _Buffered:
        size = float(piece.piece.rows.nbytes)  # less than its buffers have, if it is a slice
        return _Buffered(piece, size / piece.rows, size)

    @property
    def bytes(self) -> float:
        return self.bytes_per_row * self.piece.rows

    def after(self, count: int) -> _Buffered:
        return _Buffered(self.piece.part(count, self.piece.rows), self.bytes_per_row, self.bytes_held)

    def copied(self) -> _Buffered:
        return _Buffered(self.piece.copied(), self.bytes_per_row, self.bytes)


class RunCursor:
    """The front of a run: after `fill` at least the buffer's size is buffered, or all remaining rows."""

    def __init__(
        self, source: RunSource, layout: RecordLayout, piece_bytes: int, keys: KeyRange = EVERYTHING
    ) -> None:
        # Widths of rows are only known after reading, so the buffer is filled with small pieces until it is
        # full.
        self._pieces = source.pieces(piece_bytes // _PIECES_PER_BUFFER)
        self._buffer_bytes = piece_bytes
        self._layout = layout
        self._keys = keys
        self._buffer: deque[_Buffered] = deque()
        self._is_at_end = False
        self._last_key: Key | None = None

    @property
    def is_exhausted(self) -> bool:
        """Whether, after `fill`, neither the buffer nor the source has another row."""
        return not self._buffer

    @property
    def horizon(self) -> Key | None:
        """The key up to which this run can be merged at once, None if all of it can."""
        if self._buffered_bytes > _OVERSIZE * self._buffer_bytes:
            return self._split_key(self._buffer_bytes)
        return None if self._is_at_end else self._buffer[-1].piece.last_key

    def take_upto(self, key: Key | None) -> list[KeyedPiece]:
        """Removes and returns the buffered rows at or below `key`, all of them for None."""
        taken = []
        while self._buffer:
            front = self._buffer.popleft()
            rows = front.piece.rows
            count = rows if key is None else count_upto(front.piece.keys, key)
            if count:
                taken.append(front.piece.part(0, count))
            if count < rows:
                self._buffer.appendleft(front.after(count))
                break
        return taken

    def fill(self) -> None:
        """Reads pieces until the buffer is full. Rounds are then as large as memory allows.

        Raises:
            CorruptTable: keys are not strictly increasing.
            UnsupportedTable: a column of the key or sequence has a NaN, which has no order, or the file's
                format is known to store such keys out of order.
        """
        while not self._is_at_end and self._buffered_bytes < self._buffer_bytes:
            self._release_pieces()
            piece = None if self._is_past_range() else next(self._pieces, None)
            if piece is None:
                self._is_at_end = True
            elif piece.rows.num_rows:
                whole = self._verified(piece)
                inside = whole.within(self._keys)
                if inside.rows:
                    left_out = whole.rows - inside.rows
                    self._buffer.append(_Buffered.of(inside if not left_out else inside.copied()))

    @property
    def _buffered_bytes(self) -> float:
        return sum(each.bytes for each in self._buffer)

    def _release_pieces(self) -> None:
        """Copies the ends of large pieces, so that a piece is not kept for a few of its rows."""
        large = _OVERSIZE * self._buffer_bytes
        for number, each in enumerate(self._buffer):
            if each.bytes < each.bytes_held and each.bytes_held > large:
                self._buffer[number] = each.copied()

    def _split_key(self, size: float) -> Key:
        """The key before which about `size` of the buffered bytes are."""
        for each in self._buffer:
            if each.bytes >= size:
                return each.piece.key(min(each.piece.rows - 1, int(size / each.bytes_per_row)))
            size -= each.bytes
        return self._buffer[-1].piece.last_key

    def close(self) -> None:
        """Closes the source's files."""
        self._buffer.clear()
        close = getattr(self._pieces, "close", None)
        if close is not None:
            close()

    def _is_past_range(self) -> bool:
        upto = self._keys.upto
        return upto is not None and self._last_key is not None and self._last_key >= upto

    def _verified(self, piece: Piece) -> KeyedPiece:
        unordered = self._layout.column_with_nan(piece.rows)
        if unordered is not None:
            raise UnsupportedTable(piece.origin, (f"column {unordered}: {self._layout.nan_problem}",))
        keyed = KeyedPiece(piece, self._layout.key_parts(piece.rows))
        wrong = first_disorder(keyed.keys, repeats=piece.begins is not None)
        if wrong is None and self._last_key is not None and key_at(keyed.keys, 0) <= self._last_key:
            wrong = 0
        if wrong is not None:
            raise CorruptTable(piece.origin, _OUT_OF_ORDER)
        self._last_key = keyed.last_key
        return keyed
