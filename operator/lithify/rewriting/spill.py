"""Sorted runs on local disk, as Arrow IPC streams that remember each row's run number.

Written and read by `passes` only. Two columns are added to the rows: the run number in the whole unit, which
breaks ties, and whether the row stands for several records already.
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
_MERGED = "__merged"
_BATCH_BYTES = 512 << 10
"""Rows are stored in batches of this size, the smallest unit that can be read back."""


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
        """At most what one stored batch has before it is decoded."""
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
            rows = _rows_per_batch(stored)
            for start in range(0, stored.num_rows, rows):
                writer.write_batch(stored.slice(start, rows))
        if writer is None:
            writer = pa.ipc.new_stream(file, pa.schema([]), options=options)
        writer.close()


def _rows_per_batch(stored: pa.RecordBatch) -> int:
    rows, size = int(stored.num_rows), int(stored.nbytes)
    return max(1, rows * _BATCH_BYTES // max(1, size))


def _to_stored(piece: Piece) -> pa.RecordBatch:
    merged = np.zeros(piece.rows.num_rows, dtype=bool) if piece.merged is None else piece.merged
    columns = [*piece.rows.columns, pa.array(piece.run_numbers), pa.array(merged)]
    fields = [*piece.rows.schema, pa.field(_RUN, pa.int64()), pa.field(_MERGED, pa.bool_())]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))


def _from_stored(stored: pa.RecordBatch, origin: str) -> Piece:
    width = stored.num_columns - 2
    fields = list(stored.schema)[:width]
    merged = stored.column(width + 1).to_numpy(zero_copy_only=False)
    return Piece(
        rows=pa.RecordBatch.from_arrays(stored.columns[:width], schema=pa.schema(fields)),
        run=stored.column(width).to_numpy(),
        origin=origin,
        merged=merged if merged.any() else None,
    )
