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

from lithify.engine.rewrite.runs import Piece
from lithify.errors import StorageError
from lithify.faults import failpoint

_RUN = "__run"
_BEGINS = "__begins"
_BATCH_BYTES = 512 << 10
"""Approximate size of a stored batch, the smallest unit that can be read back."""

_COLUMN_BYTES = 4 << 10
"""Approximate size of a column in it, if there are very many: each of a batch costs time."""


@dataclass(frozen=True, slots=True)
class SpilledRun:
    """A run on local disk; a `RunSource`."""

    path: Path
    batch_bytes: int = _BATCH_BYTES

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.path.stat().st_size

    @property
    def overhead(self) -> int:
        """Bytes of a stored batch before it is decoded; more if the rows of one key are larger."""
        return self.batch_bytes

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
        batch_bytes = _write(pieces, path)
    except OSError as error:
        problem = f"merging needs more room on the local disk than there is ({error.strerror or error})"
        raise StorageError(str(path), problem) from error
    failpoint("rows-spilled")
    return SpilledRun(path, batch_bytes)


def _write(pieces: Iterable[Piece], path: Path) -> int:
    """Writes the pieces; returns the approximate size of a batch."""
    batch_bytes = _BATCH_BYTES
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    writer: pa.RecordBatchStreamWriter | None = None
    with pa.OSFile(str(path), "wb") as file:
        for piece in pieces:
            stored = _to_stored(piece)
            if writer is None:
                writer = pa.ipc.new_stream(file, stored.schema, options=options)
                batch_bytes = max(_BATCH_BYTES, _COLUMN_BYTES * stored.num_columns)
            for start, stop in _cuts(piece, stored, batch_bytes):
                writer.write_batch(stored.slice(start, stop - start))
        if writer is None:
            writer = pa.ipc.new_stream(file, pa.schema([]), options=options)
        writer.close()
    return batch_bytes


def _cuts(piece: Piece, stored: pa.RecordBatch, batch_bytes: int) -> Iterator[tuple[int, int]]:
    """Batch boundaries: after about `batch_bytes` each, moved to where the next key begins."""
    rows, size = int(stored.num_rows), int(stored.nbytes)
    step = max(1, rows * batch_bytes // max(1, size))
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
