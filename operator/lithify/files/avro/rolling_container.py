"""Writes encoded rows as Avro files that roll at a size.

Called by merges of manifests. Holds one file at a time, compressed; the caller stores it.
"""

from __future__ import annotations

from collections.abc import Callable

from lithify.files.avro.container import block, block_bounds
from lithify.files.avro.encoding import Bytes, Lengths

Start = Callable[[], tuple[bytes, bytes]]
"""Makes the header of a new file, and its sync marker."""


class RollingContainer:
    """Files of rows.

    Args:
        start: makes the header of a file.
        pack: compresses a block.
        block_bytes: bytes of a block before compression.
        target_size: bytes at which a file ends, after the block that reaches them.
        store: takes the bytes of a file, and the number of its rows.
    """

    def __init__(
        self,
        start: Start,
        pack: Callable[[bytes], bytes],
        block_bytes: int,
        target_size: int,
        store: Callable[[bytes, int], None],
    ) -> None:
        self._start = start
        self._pack = pack
        self._block_bytes = block_bytes
        self._target_size = target_size
        self._store = store
        self._chunks: list[bytes] = []
        self._sync = b""
        self._size = self._rows = 0

    def write(self, data: Bytes, lengths: Lengths) -> None:
        """Adds rows; may store files.

        Args:
            data: the bytes of all rows.
            lengths: the bytes of each row.
        """
        for first, last, begin, end in block_bounds(lengths, self._block_bytes):
            if not self._chunks:
                header, self._sync = self._start()
                self._add(header)
            self._add(block(last - first, self._pack(data[begin:end].tobytes()), self._sync))
            self._rows += last - first
            if self._size >= self._target_size:
                self.close()

    def close(self) -> None:
        """Stores the rows of the last file."""
        if self._rows:
            content, rows = b"".join(self._chunks), self._rows
            self._chunks, self._size, self._rows = [], 0, 0
            self._store(content, rows)

    def _add(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        self._size += len(chunk)
