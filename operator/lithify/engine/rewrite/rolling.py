"""Cuts a stream of rows into files of about the target size.

Called by a run's tasks. Rows are buffered and written one row group at a time; after each the file's real
size is known, and the next row group is cut so that the file ends near the target.

If the rows of another task follow, a small remainder is appended to the previous file, which is kept open
until then: a table cut into many tasks gets no more small files than one that is not. Where the caller knows
how much is to come, a file that can take all of it does not roll, and nothing is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

_CLOSE_ENOUGH = 0.97
"""A file this full is closed: another row group would be too small to be read efficiently."""

SMALL = 0.7
"""Share of the target below which a file is small."""


class EncodedRows(Protocol):
    """Rows as another file of the format has them, which are added without decoding."""

    @property
    def bytes(self) -> int:
        """Encoded bytes."""
        ...


class OpenFile(Protocol[Result_co]):
    """A file being written."""

    @property
    def size(self) -> int:
        """Bytes written so far."""
        ...

    def write(self, rows: pa.Table) -> None:
        """Adds one row group."""
        ...

    def copy(self, rows: EncodedRows) -> None:
        """Adds encoded rows as they are."""
        ...

    def close(self) -> Result_co:
        """Finishes the file and returns its metadata."""
        ...

    def read_back(self) -> Iterator[pa.Table]:
        """Finishes the file and yields its row groups, as they were written; only `abort` may follow."""
        ...

    def abort(self) -> None:
        """Aborts the file and deletes it."""
        ...


@dataclass(frozen=True, slots=True)
class Rolling:
    """Parameters of rolling.

    Attributes:
        target_size: bytes at which files roll.
        row_group_bytes: Arrow bytes that are buffered at most before they are written.
        bytes_per_row: expected bytes of a row in a file, until the first row group is written.
        absorbs_rest: whether a small file left over at the end is appended to the previous file.
        unit_size: upper bound of a row group's bytes in a file, None for no separate limit.
    """

    target_size: int
    row_group_bytes: int
    bytes_per_row: float
    absorbs_rest: bool = False
    unit_size: int | None = None


class RollingWriter(Generic[Result]):
    """Writes rows in key order to one file after the other.

    Args:
        open_file: opens the next file.
        rolling: parameters.
        to_come: estimates the encoded bytes of all rows that have not been given yet; None if unknown.
    """

    def __init__(
        self,
        open_file: Callable[[], OpenFile[Result]],
        rolling: Rolling,
        to_come: Callable[[], float] | None = None,
    ) -> None:
        self._open_file = open_file
        self._rolling = rolling
        self._to_come = to_come if rolling.absorbs_rest else None
        self._small = rolling.target_size * SMALL if rolling.absorbs_rest else 0
        self._bytes_per_row = max(rolling.bytes_per_row, 0.1)
        self._full: OpenFile[Result] | None = None
        self._file: OpenFile[Result] | None = None
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0
        self._unwritten_rows = 0
        self._results: list[Result] = []

    def write_all(self, batches: Iterable[pa.RecordBatch | EncodedRows]) -> list[Result]:
        """Writes all rows and returns the results of `close` for each file, in key order.

        On failure open files are deleted; the caller must delete finished ones.
        """
        try:
            for batch in batches:
                self.write(batch)
            return self.finish()
        except BaseException:
            self.abort()
            raise

    def write(self, rows: pa.RecordBatch | EncodedRows) -> None:
        """Adds rows, for callers that cannot use `write_all`; they must call `finish` or `abort`."""
        if isinstance(rows, pa.RecordBatch):
            self._write(rows)
        else:
            self._copy(rows)

    def _write(self, batch: pa.RecordBatch) -> None:
        start = 0
        self._unwritten_rows += batch.num_rows
        while start < batch.num_rows:
            rows = batch.slice(start, max(1, self._room() - self._pending_rows))
            start += rows.num_rows
            self._pending.append(rows)
            self._pending_rows += rows.num_rows
            self._pending_bytes += rows.nbytes
            if self._pending_rows >= self._room() or self._pending_bytes >= self._rolling.row_group_bytes:
                self._flush()
                self._roll_if_full()

    def _copy(self, rows: EncodedRows) -> None:
        """Adds encoded rows to the open file, or to a new one if that comes nearer to the target size."""
        self._flush()
        self._roll_if_full(rows.bytes)
        limit = self._limit(rows.bytes)
        if self._file is not None:
            size = self._file.size
            if size >= limit * SMALL and size + rows.bytes - limit > limit - size:
                self._close_full()
                self._full, self._file = self._file, None
        if self._file is None:
            self._file = self._open_file()
        self._file.copy(rows)
        self._roll_if_full()

    def finish(self) -> list[Result]:
        """Writes the rest; returns the results of `close` for each file, in key order."""
        self._flush()
        self._finish()
        return self._results

    def abort(self) -> None:
        """Deletes open files."""
        for file in (self._full, self._file):
            if file is not None:
                file.abort()

    def _limit(self, given: int = 0) -> float:
        """Bytes at which the open file rolls: the target, or more if the rest would be a small file.

        `given` is the size of encoded rows that are about to be added.
        """
        target = self._rolling.target_size
        if self._to_come is None:
            return target
        rest = self._to_come() + given + self._unwritten_rows * self._bytes_per_row
        most = target * (1 + SMALL)
        return most if self._written + rest < most else target

    @property
    def _written(self) -> int:
        return 0 if self._file is None else self._file.size

    def _room(self) -> int:
        """The number of rows, pending ones included, until the open file or row group reaches its limit."""
        room = self._limit() - self._written
        if self._rolling.unit_size is not None:
            room = min(room, self._rolling.unit_size)
        return max(1, int(room / self._bytes_per_row))

    def _flush(self) -> None:
        if not self._pending:
            return
        if self._file is None:
            self._file = self._open_file()
        before = self._file.size
        self._file.write(pa.Table.from_batches(self._pending))
        self._bytes_per_row = max((self._file.size - before) / self._pending_rows, 0.1)
        self._unwritten_rows -= self._pending_rows
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def _roll_if_full(self, given: int = 0) -> None:
        if self._file is None:
            return
        if self._file.size >= self._small:
            self._close_full()
        if self._file.size >= self._limit(given) * _CLOSE_ENOUGH:
            self._full, self._file = self._file, None

    def _finish(self) -> None:
        if self._full is not None and self._file is not None and self._file.size < self._small:
            for rows in self._file.read_back():
                self._full.write(rows)
            self._file.abort()
            self._file = None
        self._close_full()
        self._full, self._file = self._file, None
        self._close_full()

    def _close_full(self) -> None:
        if self._full is not None:
            self._results.append(self._full.close())
            self._full = None
