"""Decodes data files in a process of its own, because damaged ones may end the library that decodes them.

Used by readers whose library does so. The other side is `decoding_process`. A server is started once for each
process of ours, and forks one process for each thread of a reader, which decodes all files of that thread.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import sys
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from itertools import count
from subprocess import DEVNULL, Popen
from threading import Lock, local
from typing import Any

import pyarrow as pa

from lithify.errors import CorruptTable, LithifyError, ProcessLost
from lithify.files.decoding_process import (
    CLOSE,
    DATA,
    END,
    ERROR,
    FRAME,
    NEXT,
    OPEN,
    OUTCOME,
    RANGE,
    SCHEMA,
    Message,
    receive,
    send,
)

_PROGRAM = "lithify.files.decoding_process"
_PASSED = ("PATH", "LANG", "LC_ALL", "TZ", "TZDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
"""Environment variables of the server: none that may be a credential."""

_LEAN = {
    "MALLOC_ARENA_MAX": "2",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""A process with threads must not fork; decoding needs none of theirs."""

_starting = Lock()


class IsolatedReading(local):
    """A process that decodes files, started when it is first used; it ends when this object is gone.

    Every thread has a process of its own: one process could not decode for several at a time.
    """

    def __init__(self) -> None:
        self._process: _Process | None = None
        self._numbers = count()

    def batches(
        self, path: str, source: pa.NativeFile | FileIO, decoder: str, arguments: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        """Decodes a file; several may be decoded at a time.

        Args:
            path: names the file in errors.
            source: the file; the process reads it itself if it is one of the operating system.
            decoder: a name among those of `decoding_process`.
            arguments: further arguments of the decoder, as JSON has them.

        Raises:
            ArrowInvalid: the decoder finds the file damaged.
            CorruptTable: the process ended over this file, or over another one that it decodes.
            MemoryError: it takes more memory than there is.
        """
        process = self._running()
        number = next(self._numbers)
        size = 0 if isinstance(source, FileIO) else source.size()
        request = {"decoder": decoder, "size": size, "arguments": arguments}
        process.open(number, _File(path, source), json.dumps(request).encode())
        try:
            while (batch := process.next(number)) is not None:
                yield batch
        finally:
            process.close(number)

    def _running(self) -> _Process:
        if self._process is None or self._process.has_ended:
            self._process = _Process()
        return self._process


@dataclass(slots=True)
class _File:
    """A file that is decoded, and the error at which reading its bytes failed."""

    path: str
    source: pa.NativeFile | FileIO
    failure: Exception | None = None


class _Process:
    """A decoding process as its client sees it; one request at a time, from whichever thread.

    Garbage collection closes files in any thread, and in the middle of an exchange. So `close` sends nothing:
    the next request is preceded by what is due.
    """

    def __init__(self) -> None:
        ends = [socket.socketpair() for _ in range(3)]
        self._control, self._requests, self._outcome = (end for end, _ in ends)
        others = [end for _, end in ends]
        try:
            _start(others)
        finally:
            _close(*others)
        ending = weakref.finalize(self, _close, self._control, self._requests, self._outcome)
        ending.atexit = False  # files that are open then are closed later
        self._files: dict[int, _File] = {}
        self._paths: dict[int, str] = {}
        self._closed: deque[int] = deque()
        self._asking = Lock()
        self.has_ended = False

    def open(self, number: int, file: _File, request: bytes) -> None:
        """Opens a file under a number."""
        self._files[number], self._paths[number] = file, file.path
        with self._asking:
            self._send(OPEN, number, request, file.source if isinstance(file.source, FileIO) else None)

    def next(self, number: int) -> pa.RecordBatch | None:
        """The next batch of a file, None at its end."""
        with self._asking:
            self._send(NEXT, number)
            kind, flag, content = self._reply()
            rows = self._reply()[2] if kind == SCHEMA else None
        if rows is not None:
            return pa.ipc.read_record_batch(rows, pa.ipc.read_schema(content))
        if kind == END:
            return None
        failure, text = self._files[number].failure, content.to_pybytes().decode(errors="replace")
        if failure is not None:
            raise failure
        raise MemoryError(text) if flag else pa.ArrowInvalid(text)

    def close(self, number: int) -> None:
        """Closes a file."""
        self._files.pop(number, None)
        self._closed.append(number)

    def _send(self, kind: bytes, number: int, content: bytes = b"", source: FileIO | None = None) -> None:
        message = FRAME.pack(kind, number, len(content)) + content
        handles = [] if source is None else [source.fileno()]
        try:
            while self._closed:
                self._control.sendall(FRAME.pack(CLOSE, self._closed.popleft(), 0))
            sent = socket.send_fds(self._control, [message], handles)
            self._control.sendall(message[sent:])
        except OSError as error:
            raise self._ended() from error

    def _reply(self) -> Message:
        """The next reply; answers requests for bytes until it arrives."""
        try:
            while True:
                ready, _, _ = select.select([self._control, self._requests], [], [])
                if self._control in ready:
                    return receive(self._control)
                _, number, content = receive(self._requests)
                self._read(number, content)
        except (EOFError, OSError) as error:
            raise self._ended() from error

    def _read(self, number: int, content: pa.Buffer) -> None:
        """Answers a request for bytes; one for a file that is closed meanwhile is refused."""
        file = self._files.get(number)
        if file is None:
            send(self._requests, ERROR)
            return
        offset, size = RANGE.unpack(content)
        try:
            file.source.seek(offset)
            data = file.source.read(size)
        except (LithifyError, OSError, pa.ArrowException) as error:
            file.failure = error
            send(self._requests, ERROR)
        else:
            send(self._requests, DATA, content=data)

    def _ended(self) -> Exception:
        """How the process ended."""
        self.has_ended = True
        outcome = self._outcome.recv(OUTCOME.size, socket.MSG_WAITALL)
        code, number = OUTCOME.unpack(outcome) if outcome else (-signal.SIGKILL, 0)
        if code == -signal.SIGKILL:
            return MemoryError("the process that decodes it was killed")
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return CorruptTable(self._paths[number], f"the process that decoded it ended ({how})")


def _close(*connections: socket.socket) -> None:
    """Closes the connections to a process, at which it ends."""
    for each in connections:
        each.close()


def _start(ends: Sequence[socket.socket]) -> None:
    """Lets the server of this process start a process with these connections.

    Raises:
        ProcessLost: it does not.
    """
    handles = [end.fileno() for end in ends]
    with _starting:
        try:
            socket.send_fds(_server(os.getpid()), [b"+"], handles)
        except OSError:
            _server.cache_clear()
        else:
            return
        try:
            socket.send_fds(_server(os.getpid()), [b"+"], handles)
        except OSError as error:
            raise ProcessLost("starting a process that decodes files", str(error)) from error


@lru_cache(maxsize=1)
def _server(pid: int) -> socket.socket:
    """The connection to the server of this process; a process that was forked starts its own."""
    ours, theirs = socket.socketpair()
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    with theirs:
        process = Popen(  # noqa: S603  # the command is our own
            [sys.executable, "-P", "-m", _PROGRAM],
            stdin=theirs.fileno(),
            stdout=DEVNULL,
            env={**environment, **_LEAN},
        )
    atexit.register(_end, pid, ours, process)
    return ours


def _end(pid: int, ours: socket.socket, process: Popen[bytes]) -> None:
    """Ends the server, unless it is that of a process from which this one was forked."""
    if os.getpid() == pid:
        ours.close()
        process.wait()
