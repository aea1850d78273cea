"""Files of a table on the local disk, as columns: a table may have more of them than fit into memory.

Written and read by `orphan_search`, in a folder of its own that disappears with its owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from weakref import finalize

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import integers
from lithify.columns.text_hashes import Hashes
from lithify.errors import StorageError
from lithify.scratch import scratch_folder

STORED = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("kind", pa.int8(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("hash", pa.uint64(), nullable=False),
    ]
)
"""A file: its path relative to the table's folder, what it is, its bytes, and the hash of its name."""

BATCH = 10_000
"""Files of a batch, at least; at most as many more as were added at once."""

_HASH = STORED.get_field_index("hash")
_WRITTEN = pa.ipc.IpcWriteOptions(compression="lz4")


class Disk:
    """A scratch folder, deleted when nobody has this object any more."""

    def __init__(self) -> None:
        stack = ExitStack()
        with _on_disk("the scratch folder"):
            self.folder: Path = stack.enter_context(scratch_folder())
        self._closing = finalize(self, stack.close)

    def close(self) -> None:
        """Deletes the folder now."""
        self._closing()


class StoredFiles:
    """Files in one file on the disk; first all are added, then they are read.

    Attributes:
        count: how many there are.
        size: their bytes in the table.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.count = 0
        self.size = 0
        self._waiting: list[pa.Table] = []
        self._writer: pa.RecordBatchFileWriter | None = None

    def add(self, files: pa.Table) -> None:
        """Adds files, as `STORED` has them.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        self._waiting.append(files)
        self.count += len(files)
        self.size += int(integers(files["size"]).sum())
        if sum(map(len, self._waiting)) >= BATCH:
            self._write()

    def _write(self) -> None:
        with _on_disk(str(self._path)):
            if self._writer is None:
                self._writer = pa.ipc.new_file(str(self._path), STORED, options=_WRITTEN)
            self._writer.write_table(pa.concat_tables(self._waiting).combine_chunks())
        self._waiting = []

    def finish(self) -> StoredFiles:
        """Ends the writing."""
        if self._waiting:
            self._write()
        if self._writer is not None:
            with _on_disk(str(self._path)):
                self._writer.close()
        return self

    def batches(self) -> Iterator[pa.Table]:
        """The files, in the order in which they were added."""
        if not self.count:
            return
        with _on_disk(str(self._path)), pa.ipc.open_file(str(self._path)) as stored:
            for at in range(stored.num_record_batches):
                yield pa.Table.from_batches([stored.get_batch(at)])

    def hashes(self) -> Hashes:
        """The hash of each file's name."""
        if not self.count:
            return np.empty(0, dtype=np.uint64)
        wanted = pa.ipc.IpcReadOptions(included_fields=[_HASH])
        with _on_disk(str(self._path)), pa.ipc.open_file(str(self._path), options=wanted) as stored:
            parts = [stored.get_batch(at).column(0).to_numpy() for at in range(stored.num_record_batches)]
        return np.concatenate(parts)

    def delete(self) -> None:
        """Frees the space on the disk."""
        self._path.unlink(missing_ok=True)


@contextmanager
def _on_disk(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        problem = f"the search needs more room on the local disk than there is ({error.strerror or error})"
        raise StorageError(path, problem) from error
