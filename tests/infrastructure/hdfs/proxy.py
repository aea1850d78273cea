"""Stands between clients and a name node, and does to their requests what networks do.

It knows as much of Hadoop's protocol as that requests are length-prefixed frames with the name of a method
and the paths in them.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

_PREAMBLE = 7
_SECONDS = 30.0


class Exchange:
    """One request on its connection.

    Attributes:
        frame: the request's bytes.
    """

    def __init__(self, connection: _Connection, frame: bytes) -> None:
        self.frame = frame
        self._connection = connection

    def forward(self) -> None:
        """Passes the request on; its answer goes back by itself."""
        self._connection.server.sendall(self.frame)

    def forward_silently(self) -> None:
        """Passes the request on, waits until it is answered, and keeps the answer."""
        self._connection.mute()
        self.forward()
        assert self._connection.answered.wait(_SECONDS)

    def hang_up(self) -> None:
        """Ends the client's connection; the name node's stays open."""
        self._connection.mute()
        _end(self._connection.client)


Step = Callable[[Exchange], None]


class RpcProxy:
    """A proxy on a port of its own; a context manager.

    Args:
        port: that of the name node on this machine.
        concerns: the requests to which steps are done, the renames of snapshots by default.

    Attributes:
        steps: what is done to the next of these requests, one step each.
        seen: how many of them there were.
    """

    def __init__(self, port: int, concerns: Callable[[bytes], bool] | None = None) -> None:
        self.steps: list[Step] = []
        self.seen = 0
        self._name_node = port
        self._concerns = concerns or is_snapshot_rename
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[_Connection] = []
        self._lock = threading.Lock()

    @property
    def port(self) -> int:
        """Where it listens on this machine."""
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """What paths begin with that go through it."""
        return f"hdfs://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _end(self._listener)
        for connection in self._connections:
            connection.end()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._name_node))
                connection = _Connection(client, server)
                self._connections.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                threading.Thread(target=connection.answer, daemon=True).start()

    def _serve(self, connection: _Connection) -> None:
        with suppress(OSError):
            connection.server.sendall(_exactly(connection.client, _PREAMBLE))
            while frame := connection.frame():
                exchange = Exchange(connection, frame)
                self._step(frame)(exchange)

    def _step(self, frame: bytes) -> Step:
        if not self._concerns(frame):
            return pass_on
        with self._lock:
            self.seen += 1
            return self.steps.pop(0) if self.steps else pass_on


class _Connection:
    """A client's connection and the one to the name node that belongs to it."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.answered = threading.Event()
        self._is_muted = False

    def frame(self) -> bytes:
        """The client's next frame, with its length; empty if it has hung up."""
        head = _exactly(self.client, 4)
        return head + _exactly(self.client, int.from_bytes(head, "big")) if head else b""

    def answer(self) -> None:
        """Passes answers back until the name node hangs up."""
        with suppress(OSError):
            while data := self.server.recv(1 << 16):
                if self._is_muted:
                    self.answered.set()
                else:
                    self.client.sendall(data)
        _end(self.client)

    def mute(self) -> None:
        """Keeps answers from now on."""
        self._is_muted = True

    def end(self) -> None:
        """Ends both."""
        for each in (self.client, self.server):
            _end(each)


def is_snapshot_rename(frame: bytes) -> bool:
    """Whether a request gives a snapshot its name."""
    return b"rename2" in frame and b"/snapshot/snapshot-" in frame


def pass_on(exchange: Exchange) -> None:
    """Does nothing to it."""
    exchange.forward()


def lose_answer(exchange: Exchange) -> None:
    """Has it carried out, and hangs up."""
    exchange.forward_silently()
    exchange.hang_up()


def lose_request(exchange: Exchange) -> None:
    """Hangs up."""
    exchange.hang_up()


def hang(exchange: Exchange) -> None:
    """Neither passes it on nor hangs up."""


class Late:
    """Keeps requests back, as a slow network does, to have them arrive later."""

    def __init__(self) -> None:
        self._kept: list[Exchange] = []

    def keep(self, exchange: Exchange) -> None:
        """Keeps a request, and hangs up."""
        exchange.hang_up()
        self._kept.append(exchange)

    def arrive(self) -> int:
        """Has those that were kept carried out, and returns their number."""
        kept, self._kept = self._kept, []
        for exchange in kept:
            exchange.forward_silently()
        return len(kept)


def _exactly(connection: socket.socket, size: int) -> bytes:
    """As many bytes, or none if the other side hangs up first."""
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return b""
        data += part
    return data


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
