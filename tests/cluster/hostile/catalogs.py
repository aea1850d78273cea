"""Servers of hostile catalogs, and listeners that must never hear anything."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

SECRET = "hunter2-of-an-internal-service"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Listener:
    """Takes connections, counts them, and greets each with a banner, as Redis or SSH would."""

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.connections = 0
        self._socket = socket.create_server((address, 0), backlog=64)
        self.port: int = self._socket.getsockname()[1]
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                self.connections += 1
                with client, suppress(OSError):
                    client.sendall(f"-ERR {SECRET}\r\n".encode())

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@contextmanager
def listening(address: str = "127.0.0.1") -> Iterator[Listener]:
    """A listener, until the end of the block."""
    listener = Listener(address)
    try:
        yield listener
    finally:
        listener.close()


@contextmanager
def answering(answer: Answer) -> Iterator[int]:
    """The port of a server that answers every request in one way."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(OSError):
                answer(self)

        do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def redirecting(location: str, status: int = 302) -> Answer:
    """Sends everybody elsewhere."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Location", location)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return answer


def saying(status: int, body: bytes, **headers: str) -> Answer:
    """Says the same to everybody."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def endless(status: int) -> Answer:
    """Never stops answering."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.end_headers()
        while True:
            request.wfile.write(b"[" * 65536)

    return answer
