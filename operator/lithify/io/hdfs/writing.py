"""A file on HDFS while it is written. Made by `cluster`; exists with all of its bytes once it is closed.

Data nodes have its blocks on disk when it is closed: the client asks for that with the last packet of each.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from lithify.io.hdfs.client import DATA_SECONDS, Client

if TYPE_CHECKING:
    from hdfs_native._internal import RawFileWriter

_PIECE = 4 << 20
"""Bytes that are sent at a time, each within its own time."""


class HdfsWriter:
    """Writes one file.

    Args:
        client: sends its bytes.
        path: the file, for messages.
        writer: the client's own.
    """

    def __init__(self, client: Client, path: str, writer: RawFileWriter) -> None:
        self._client = client
        self._path = path
        self._writer = writer
        self._waiting = bytearray()

    def write(self, data: bytes | memoryview) -> None:
        """Adds bytes; they are sent once there are some MiB."""
        self._waiting += data
        if len(self._waiting) >= _PIECE:
            self._send()

    def close(self) -> None:
        """Sends the rest and completes the file.

        Raises:
            StorageUnavailable: it may be incomplete.
        """
        self._send()
        self._client.run(self._path, self._writer.close, DATA_SECONDS)

    def _send(self) -> None:
        waiting, self._waiting = self._waiting, bytearray()
        view = memoryview(waiting)
        for start in range(0, len(waiting), _PIECE):
            piece = bytes(view[start : start + _PIECE])
            self._client.run(self._path, lambda piece=piece: self._writer.write(piece), DATA_SECONDS)  # type: ignore[misc]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Completes the file, unless there was an error: then whoever writes it deletes it."""
        if kind is None:
            self.close()
