"""Decompresses the chunks of zstd streams before the C++ library does, which ignores the errors of zstd.

Used by `decoding`. Without it, a damaged chunk would be read as whatever is in memory behind a buffer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import cramjam
import pyarrow as pa

_HEADER = 3


class CheckedFile:
    """A file whose streams are checked while they are read, each from its start on.

    Args:
        source: the file.
        streams: start and length of each stream, ascending.
        block_size: maximum number of decompressed bytes of a chunk.
    """

    def __init__(self, source: pa.NativeFile, streams: Sequence[Sequence[int]], block_size: int) -> None:
        self._source = source
        self._starts = [start for start, _ in streams]
        self._ends = [start + length for start, length in streams]
        self._next = list(self._starts)
        self._pending = [bytearray() for _ in streams]
        self._block = bytearray(block_size)
        self.closed = False

    def read(self, size: int) -> bytes:
        """Reads bytes.

        Raises:
            OSError: a chunk that ends in them cannot be decompressed.
        """
        position = self._source.tell()
        data: bytes = self._source.read(size)
        stream = bisect_right(self._starts, position) - 1
        if stream >= 0 and position == self._next[stream] < self._ends[stream]:
            self._next[stream] += len(data)
            self._pending[stream] += data
            self._check(self._pending[stream])
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Moves the position."""
        return int(self._source.seek(offset, whence))

    def tell(self) -> int:
        """The position."""
        return int(self._source.tell())

    def close(self) -> None:
        """Closes it for the library."""
        self.closed = True

    def _check(self, pending: bytearray) -> None:
        """Decompresses whole chunks, and removes them."""
        position = 0
        while len(pending) - position >= _HEADER:
            header = int.from_bytes(pending[position : position + _HEADER], "little")
            start, end = position + _HEADER, position + _HEADER + (header >> 1)
            if end > len(pending):
                break
            if not header & 1:
                self._decompress(bytes(memoryview(pending)[start:end]))
            position = end
        del pending[:position]

    def _decompress(self, chunk: bytes) -> None:
        try:
            cramjam.zstd.decompress_into(chunk, self._block)
        except cramjam.DecompressionError as error:
            raise OSError(f"a chunk cannot be decompressed ({error})") from error
