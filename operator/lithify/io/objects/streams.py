"""Objects as files: read in few large ranges, written in parts, aborted without remains.

Created by `files`. PyArrow reads many small pieces of a data file, in each column separately; one request for
each would cost a round trip each. So a reader fetches whole blocks and keeps each until it was read.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lithify.io.objects.container import Container

if TYPE_CHECKING:
    from types import TracebackType

    from _typeshed import ReadableBuffer, WriteableBuffer

TAIL_BYTES = 64 << 10
"""Bytes of the end that a reader of unknown object size fetches with its first request."""


class BlockReader(io.RawIOBase):
    """Reads an object at any position.

    Args:
        bucket: bucket of the object.
        key: key of the object.
        size: bytes of the object, None to request it.
        block: bytes to fetch at a time; objects that are not larger are fetched whole.
        kept: bytes to keep in addition to one block.
    """

    def __init__(self, bucket: Container, key: str, size: int | None, block: int, kept: int) -> None:
        super().__init__()
        self._bucket = bucket
        self._key = key
        self._block = block
        self._most = block + kept
        self._held = 0
        self._blocks: OrderedDict[int, _Block] = OrderedDict()
        self._position = 0
        if size is None:
            tail = bucket.read_tail(key, TAIL_BYTES)
            size = tail.size
            self._keep(size - len(tail.data), tail.data)
        self._size = size

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves to a position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """The current position."""
        return self._position

    def size(self) -> int:
        """Bytes of the object."""
        return self._size

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes; fewer than requested only at the end."""
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        data = self._range(self._position, end)
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        """All remaining bytes."""
        return self.read()

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Reads into a buffer; returns the number of bytes."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _range(self, start: int, end: int) -> bytes:
        pieces = []
        while start < end:
            piece = self._piece(start, end)
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, start: int, end: int) -> bytes:
        """As many of the bytes as one block has; fetches the block unless it is kept."""
        begin = next((at for at in reversed(self._blocks) if self._blocks[at].has(start - at)), None)
        if begin is None:
            begin = 0 if self._size <= self._block else start
            data = self._bucket.read_range(self._key, begin, min(self._size, max(end, begin + self._block)))
            if len(data) <= start - begin:
                raise EOFError(f"{self._key} ends before its {self._size} bytes")
            self._keep(begin, data)
        block = self._blocks[begin]
        self._blocks.move_to_end(begin)
        piece = block.data[start - begin : end - begin]
        block.unread -= len(piece)
        if block.unread <= 0:
            self._drop(begin)
        return piece

    def _keep(self, begin: int, data: bytes) -> None:
        self._drop(begin)
        self._blocks[begin] = _Block(data, len(data))
        self._held += len(data)
        while self._held > self._most and len(self._blocks) > 1:
            self._drop(next(iter(self._blocks)))

    def _drop(self, begin: int) -> None:
        block = self._blocks.pop(begin, None)
        self._held -= 0 if block is None else len(block.data)


@dataclass(slots=True)
class _Block:
    """Bytes of an object, and how many of them are still unread."""

    data: bytes
    unread: int

    def has(self, offset: int) -> bool:
        return 0 <= offset < len(self.data)


class SmallObject(io.BytesIO):
    """A small object being written: sent in one request when closed, not sent after an error."""

    def __init__(self, bucket: Container, key: str) -> None:
        super().__init__()
        self._bucket = bucket
        self._key = key

    def close(self) -> None:
        """Sends the object."""
        if not self.closed:
            try:
                self._bucket.write(self._key, self.getvalue())
            finally:
                super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            super().close()


class Upload(io.RawIOBase):
    """An object of any size being written. It exists once it is closed."""

    def __init__(self, bucket: Container, key: str) -> None:
        super().__init__()
        self._bucket = bucket
        self._key = key
        self._writer = bucket.upload(key)
        self._position = 0
        self._is_over = False

    def writable(self) -> bool:
        """Always true."""
        return True

    def tell(self) -> int:
        """Bytes written so far."""
        return self._position

    def write(self, data: ReadableBuffer) -> int:
        """Adds bytes."""
        view = memoryview(data).cast("B")
        with self._bucket.answering(self._key):
            self._writer.write(view)
        self._position += len(view)
        return len(view)

    def close(self) -> None:
        """Completes the object; aborts the upload if that fails."""
        try:
            self._finish()
        except BaseException:
            self._abort()
            raise
        finally:
            super().close()

    def give_up(self) -> None:
        """Ends the upload; the caller must delete the object if it came into being.

        A part in flight when an upload is aborted stays behind for good, without appearing in any listing. So
        the upload is completed rather than aborted, if possible.
        """
        with suppress(Exception):
            self.close()

    def _finish(self) -> None:
        if not self._is_over:
            with self._bucket.answering(self._key):
                self._writer.close()
            self._is_over = True

    def _abort(self) -> None:
        self._is_over = True
        with suppress(Exception):
            self._writer.__exit__(RuntimeError, RuntimeError("given up"), None)

    def __del__(self) -> None:
        """Does nothing: an object that was not closed must not be completed."""
