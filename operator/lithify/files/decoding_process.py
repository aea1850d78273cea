"""The processes that decode data files: a program that `isolated_reading` starts, and its protocol.

A server loads the libraries once and decodes nothing. For each task it forks a process, which forks another
one, waits for its end and reports it. The latter decodes. None of them has credentials or access to a table:
the decoding process gets opened local files, and asks its client for the bytes of others.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import SEEK_END, SEEK_SET
from mmap import mmap
from pathlib import Path
from threading import Lock
from typing import Any, NoReturn

import pyarrow as pa

from lithify.files.without_pandas import leave_out_pandas

FRAME = struct.Struct("<cqq")
"""Before each message: its kind, a number, and the bytes of its content."""

OPEN, NEXT, CLOSE = b"o", b"n", b"c"
"""Requests, with the number of a file."""

SCHEMA, ROWS, END, ERROR = b"s", b"r", b"e", b"x"
"""Replies."""

READ, DATA = b"d", b"b"
"""A request for a range of a file, and its bytes. The reply to one that failed is an ERROR."""

RANGE = struct.Struct("<qq")
"""Offset and number of bytes."""

OUTCOME = struct.Struct("<qq")
"""Exit code of the decoding process, and the number of the file that it decoded last."""

_NUMBER = struct.Struct("<q")
_MOST_TEXT = 4096
_MOST_SECONDS = 300
"""Processor time for one batch, after which a process counts as hanging."""

Decoder = Callable[[pa.NativeFile, dict[str, Any]], Iterator[pa.RecordBatch]]
Message = tuple[bytes, int, pa.Buffer]


def send(to: socket.socket, kind: bytes, number: int = 0, content: bytes | memoryview = b"") -> None:
    """Sends a message."""
    sent = to.sendmsg([FRAME.pack(kind, number, len(content)), content])
    if sent < FRAME.size + len(content):
        to.sendall(memoryview(content)[sent - FRAME.size :])


def receive(source: socket.socket) -> Message:
    """Receives a message.

    Raises:
        EOFError: the other side has closed its end, or the message is none.
    """
    return _with_content(source, _bytes(source, FRAME.size).to_pybytes())


def _receive_with_file(source: socket.socket) -> tuple[Message, list[int]]:
    """Receives a message, and the file that came with it, if any."""
    head, files, _, _ = socket.recv_fds(source, FRAME.size, 1)
    if len(head) < FRAME.size:
        raise EOFError("the other side is gone")
    return _with_content(source, head), files


def _with_content(source: socket.socket, head: bytes) -> Message:
    kind, number, size = FRAME.unpack(head)
    return kind, number, _bytes(source, size)


def _bytes(source: socket.socket, size: int) -> pa.Buffer:
    if size < 0:
        raise EOFError("a message has a negative length")
    buffer = pa.allocate_buffer(size)
    rest = memoryview(buffer).cast("B")
    while rest:
        count = source.recv_into(rest)
        if not count:
            raise EOFError("the other side is gone")
        rest = rest[count:]
    return buffer


class _RemoteFile:
    """A file whose bytes are requested from the client; libraries may read it from several threads."""

    def __init__(self, client: socket.socket, lock: Lock, number: int, size: int) -> None:
        self._client = client
        self._lock = lock
        self._number = number
        self._size = size
        self._at = 0
        self.closed = False

    def read(self, size: int) -> memoryview:
        """Reads bytes at the current position.

        Raises:
            OSError: the client cannot read them.
        """
        request = RANGE.pack(self._at, size)
        with self._lock:
            send(self._client, READ, self._number, request)
            kind, _, data = receive(self._client)
        if kind != DATA:
            raise OSError("the bytes cannot be read")
        self._at += data.size
        return memoryview(data)

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Moves the position."""
        self._at = offset + (self._size if whence == SEEK_END else 0)
        return self._at

    def tell(self) -> int:
        """The position."""
        return self._at

    def close(self) -> None:
        """Closes it for the library."""
        self.closed = True


class _Decoding:
    """Answers the requests of one task; decodes one batch ahead of them.

    Args:
        client: requests and replies.
        files: requests for bytes.
        current: shared memory for the number of the file that is being decoded.
        decoders: by name.
    """

    def __init__(
        self, client: socket.socket, files: socket.socket, current: mmap, decoders: dict[str, Decoder]
    ) -> None:
        self._client = client
        self._files = files
        self._lock = Lock()
        self._current = current
        self._decoders = decoders
        self._open: dict[int, Iterator[pa.RecordBatch]] = {}
        self._ahead: dict[int, pa.RecordBatch | Exception | None] = {}

    def run(self) -> None:
        """Answers until the client is gone."""
        while True:
            (kind, number, content), files = _receive_with_file(self._client)
            if kind == OPEN:
                self._open[number] = self._opened(number, json.loads(content.to_pybytes()), files)
                self._decode(number)
            elif kind == CLOSE:
                self._open.pop(number, None)
                self._ahead.pop(number, None)
            else:
                self._reply(self._ahead.pop(number))
                self._decode(number)

    def _opened(self, number: int, request: dict[str, Any], files: list[int]) -> Iterator[pa.RecordBatch]:
        """Starts to decode a file: errors are those of its first batch."""
        if files:
            source = pa.OSFile(f"/dev/fd/{files[0]}")
            os.close(files[0])
        else:
            source = pa.PythonFile(_RemoteFile(self._files, self._lock, number, request["size"]), mode="r")
        with source:
            yield from self._decoders[request["decoder"]](source, request["arguments"])

    def _decode(self, number: int) -> None:
        """Decodes the next batch of a file."""
        _NUMBER.pack_into(self._current, 0, number)
        signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
        try:
            self._ahead[number] = next(self._open[number], None)
        except Exception as error:  # noqa: BLE001  # whatever a library finds wrong with a file
            self._ahead[number] = error

    def _reply(self, result: pa.RecordBatch | Exception | None) -> None:
        if result is None:
            send(self._client, END)
        elif isinstance(result, Exception):
            text = f"{result}"[:_MOST_TEXT].encode(errors="replace")
            send(self._client, ERROR, int(isinstance(result, MemoryError)), text)
        else:
            send(self._client, SCHEMA, content=memoryview(result.schema.serialize()))
            send(self._client, ROWS, content=memoryview(result.serialize()))


def serve(requests: socket.socket, decoders: dict[str, Decoder]) -> None:
    """Starts a process for every task of the client, until the client is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        _, handles, _, _ = socket.recv_fds(requests, 1, 3)
        if not handles:
            return
        client, files, result = (socket.socket(fileno=handle) for handle in handles)
        if not os.fork():
            requests.close()
            _watch(client, files, result, decoders)
        for each in (client, files, result):
            each.close()


def _watch(
    client: socket.socket, files: socket.socket, result: socket.socket, decoders: dict[str, Decoder]
) -> NoReturn:
    """Forks the process that decodes, waits until it ends, and reports how."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    current = mmap(-1, _NUMBER.size)
    child = os.fork()
    if not child:
        result.close()
        _decode(_Decoding(client, files, current, decoders))
    client.close()
    files.close()
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        result.sendall(OUTCOME.pack(os.waitstatus_to_exitcode(status), *_NUMBER.unpack(current)))
    os._exit(0)


def _decode(decoding: _Decoding) -> NoReturn:
    try:
        _expect_to_end()
        decoding.run()
    except (OSError, EOFError):
        os._exit(0)
    finally:
        os._exit(1)


def _expect_to_end() -> None:
    """Ends without a core and a message, and before others where memory runs out."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def main() -> None:
    """Serves the client at the other end of standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    leave_out_pandas()
    from lithify.files.orc.decoding import decoded

    serve(socket.socket(fileno=0), {"orc": decoded})


if __name__ == "__main__":
    main()
