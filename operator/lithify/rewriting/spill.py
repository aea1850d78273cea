"""Sorted runs on local disk, as Arrow IPC streams with each row's run number.

Written and read by `passes` only. Two columns are added to the rows: the run number in the whole unit, which
breaks ties, and whether the row is the first one of its key. Rows of one key are never stored in two batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from lithify.errors import StorageError
from lithify.rewriting.runs import Piece

_RUN = "__run"
_BEGINS = "__begins"
_BATCH_BYTES = 512 << 10
"""Approximate size of a stored batch, the smallest unit that can be read back."""


@dataclass(frozen=True, slots=True)
class SpilledRun:
    """A run on local disk; a `RunSource`."""

    path: Path

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    @property
    def overhead(self) -> int:
        """Bytes of a stored batch before it is decoded; more if the rows of one key are larger."""
        return _BATCH_BYTES

    def pieces(self, piece_bytes: int) -> Iterator[Piece]:
        """Yields the stored batches; they are small whatever `piece_bytes` is."""
        del piece_bytes
        with pa.OSFile(str(self.path)) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                yield _from_stored(batch, str(self.path))

    def delete(self) -> None:
        """Frees the disk space."""
        self.path.unlink()


def spill(pieces: Iterable[Piece], path: Path) -> SpilledRun:
    """Writes a run to `path`.

    Raises:
        StorageError: the local disk is full or refuses.
    """
    try:
        _write(pieces, path)
    except OSError as error:
        problem = f"merging needs more room on the local disk than there is ({error.strerror or error})"
        raise StorageError(str(path), problem) from error
    return SpilledRun(path)


def _write(pieces: Iterable[Piece], path: Path) -> None:
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    writer: pa.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as file:
        for piece in pieces:
            stored = _to_stored(piece)
            if writer is None:
                writer = pa.ipc.new_stream(file, stored.schema, options=options)
            for start, stop in _cuts(piece, stored):
                writer.write_batch(stored.slice(start, stop - start))
        if writer is None:
            writer = pa.ipc.new_stream(file, pa.schema([]), options=options)
        writer.close()


def _cuts(piece: Piece, stored: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """Batch boundaries: after about `_BATCH_BYTES` each, moved to where the next key begins."""
    rows, size = int(stored.num_rows), int(stored.nbytes)
    step = max(1, rows * _BATCH_BYTES // max(1, size))
    firsts = None if piece.begins is None else np.flatnonzero(piece.begins)
    start = 0
    while start < rows:
        stop = min(rows, start + step)
        if firsts is not None and stop < rows:
            following = np.searchsorted(firsts, stop)
            stop = int(firsts[following]) if following < len(firsts) else rows
        yield start, stop
        start = stop


def _to_stored(piece: Piece) -> pa.RecordBatch:
    begins = np.ones(piece.rows.num_rows, dtype=bool) if piece.begins is None else piece.begins
    columns = [*piece.rows.columns, pa.array(piece.run_numbers), pa.array(begins)]
    fields = [*piece.rows.schema, pa.field(_RUN, pa.int64()), pa.field(_BEGINS, pa.bool_())]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _from_stored(stored: pa.RecordBatch, origin: str) -> Piece:
    width = stored.num_columns - 2
    fields = list(stored.schema)[:width]
    begins = stored.column(width + 1).to_numpy(zero_copy_only=False)
    return Piece(
        rows=pa.RecordBatch.from_arrays(stored.columns[:width], schema=pa.schema(fields)),
        run=stored.column(width).to_numpy(),
        origin=origin,
        begins=None if begins.all() else begins,
    )
