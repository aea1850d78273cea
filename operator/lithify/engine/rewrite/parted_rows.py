"""Rows on local disk, in parts by the hashes of their keys: one file, of which each part can be read alone.

Used by joins of keys whose sides do not fit into memory, and by `places`, which says the part instead of a
hash. Rows are collected, sorted by part and appended; where each slice lies is kept in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from lithify.engine.rewrite.key_tables import Hashes
from lithify.errors import StorageError

_LZ4 = pa.ipc.IpcWriteOptions(compression="lz4")
_PART_BITS = 32
"""Parts are taken from other bits of the hash than the first, by which `deleted_keys` finds keys."""


class PartedRows:
    """Rows in parts.

    Args:
        path: a new file.
        parts: number of parts.
        memory: bytes of rows that are collected before they are written.
        reduce: makes the rows of a slice fewer before they are written.
        purpose: what is done with the rows, for messages.
    """

    def __init__(
        self,
        path: Path,
        parts: int,
        memory: int,
        reduce: Callable[[pa.Table], pa.Table] = lambda rows: rows,
        purpose: str = "joining keys",
    ) -> None:
        self.parts = parts
        self._purpose = purpose
        self._path = path
        self._memory = memory
        self._reduce = reduce
        self._slices: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
        self._pending: list[tuple[pa.Table, Hashes]] = []
        self._pending_bytes = 0
        self._end = 0

    def add(self, rows: pa.Table, hashes: Hashes) -> None:
        """Adds rows, whose keys have these hashes.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        if rows.num_rows:
            self._pending.append((rows, hashes))
            self._pending_bytes += rows.nbytes
            if self._pending_bytes >= self._memory:
                self.flush()

    def flush(self) -> None:
        """Writes the rows that are collected.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        if not self._pending:
            return
        rows = pa.concat_tables([each for each, _ in self._pending])
        hashes = np.concatenate([each for _, each in self._pending])
        self._pending, self._pending_bytes = [], 0
        numbers = ((hashes & np.uint64((1 << _PART_BITS) - 1)) % np.uint64(self.parts)).astype(np.int64)
        order = np.argsort(numbers, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=self.parts))
        rows = rows.take(pa.array(order))
        try:
            with pa.OSFile(str(self._path), "ab") as file:
                start = 0
                for part, end in enumerate(map(int, ends)):
                    if end > start:
                        self._append(file, part, self._reduce(rows.slice(start, end - start)))
                    start = end
        except OSError as error:
            problem = f"{self._purpose} needs more room on the local disk than there is ({error})"
            raise StorageError(str(self._path), problem) from error

    def slices(self, part: int) -> Iterator[pa.Table]:
        """The rows of a part, slice by slice, after `flush`."""
        if not self._slices[part]:
            return
        with pa.OSFile(str(self._path), "rb") as file:
            for start, length in self._slices[part]:
                file.seek(start)
                with pa.ipc.open_stream(file.read_buffer(length)) as stream:
                    yield stream.read_all()

    def _append(self, file: pa.NativeFile, part: int, rows: pa.Table) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema, options=_LZ4) as stream:
            stream.write_table(rows)
        data = sink.getvalue()
        file.write(data)
        self._slices[part].append((self._end, data.size))
        self._end += data.size
