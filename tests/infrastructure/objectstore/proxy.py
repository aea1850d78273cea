"""Stands between a client and a store's server: counts requests, and does what networks and bad stores do.

Requests are passed on byte for byte, with the Host header that they were signed with.
"""

from __future__ import annotations

import http.client
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from infrastructure.objectstore.store_server import StoreServer

_TIMEOUT = 30.0
_CONDITIONS = ("if-none-match", "x-goog-if-generation-match", "x-oss-forbid-overwrite")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def key(self) -> str:
        """The object or folder that it is about, without the bucket."""
        parts = urlsplit(self.target)
        path = unquote(parts.path).lstrip("/").partition("/")[2]
        return path or parse_qs(parts.query).get("prefix", [""])[0]

    @property
    def is_conditional(self) -> bool:
        """Whether it is to be refused if there is such an object."""
        return any(name.lower() in _CONDITIONS for name, _ in self.headers)


@dataclass(frozen=True, slots=True)
class Answered:
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


Forward = Callable[[], Answered]
Step = Callable[[Asked, Forward], Answered | None]
"""Does something to a request; None hangs up without an answer."""


class S3Proxy:
    """A proxy on a port of its own; a context manager.

    Attributes:
        asked: every request so far.
        steps: what is done to the next requests that `concerns` is true of, one step each.
        always: what is done to all of them, where there are no steps.
    """

    def __init__(self, server: StoreServer, concerns: Callable[[Asked], bool] | None = None) -> None:
        self.asked: list[Asked] = []
        self.steps: list[Step] = []
        self.always: Step = pass_on
        self._server = server
        self._concerns = concerns or is_snapshot_put
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def endpoint(self) -> str:
        """The URL to reach the server through it by."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def counted(self) -> Counter[str]:
        """How many requests of each method there were, listings as LIST; forgets them."""
        with self._lock:
            asked, self.asked = self.asked, []
        return Counter("LIST" if "list-type" in each.target else each.method for each in asked)

    def forward(self, asked: Asked) -> Answered:
        """Sends a request to the server."""
        connection = http.client.HTTPConnection(self._server.address, self._server.port, timeout=_TIMEOUT)
        try:
            connection.putrequest(asked.method, asked.target, skip_host=True, skip_accept_encoding=True)
            for name, value in asked.headers:
                connection.putheader(name, value)
            connection.endheaders(asked.body)
            reply = connection.getresponse()
            return Answered(reply.status, tuple(reply.getheaders()), reply.read())
        finally:
            connection.close()

    def answer(self, asked: Asked) -> Answered | None:
        """What to answer."""
        with self._lock:
            self.asked.append(asked)
            step: Step = pass_on
            if self._concerns(asked):
                step = self.steps.pop(0) if self.steps else self.always
        return step(asked, lambda: self.forward(asked))


def is_snapshot_put(asked: Asked) -> bool:
    """Whether a request writes a snapshot."""
    return asked.method == "PUT" and asked.key.rpartition("/")[2].startswith("snapshot-")


def pass_on(asked: Asked, forward: Forward) -> Answered | None:
    """Does nothing to it."""
    return forward()


def lose_answer(asked: Asked, forward: Forward) -> Answered | None:
    """Has it carried out, and hangs up."""
    forward()
    return None


def lose_request(asked: Asked, forward: Forward) -> Answered | None:
    """Hangs up."""
    return None


def fail_after(asked: Asked, forward: Forward) -> Answered | None:
    """Has it carried out, and says that something went wrong."""
    forward()
    return FAILURE


def fail_before(asked: Asked, forward: Forward) -> Answered | None:
    """Says that something went wrong, which is true."""
    return FAILURE


def cut_off(asked: Asked, forward: Forward) -> Answered | None:
    """Gives half of the answer, and hangs up."""
    answered = forward()
    return Answered(
        answered.status,
        (*answered.headers, ("Content-Length", str(len(answered.body)))),
        answered.body[: len(answered.body) // 2],
    )


def send_twice(asked: Asked, forward: Forward) -> Answered | None:
    """Has it carried out twice, and gives the second answer."""
    forward()
    return forward()


FAILURE = Answered(500, (), b"<Error><Code>InternalError</Code><Message>try again</Message></Error>")


class Late:
    """Keeps requests back, as a slow network does, to have them arrive later."""

    def __init__(self) -> None:
        self._kept: list[Forward] = []

    def keep(self, asked: Asked, forward: Forward) -> Answered | None:
        """Keeps a request, and hangs up."""
        self._kept.append(forward)
        return None

    def arrive_before(self, asked: Asked, forward: Forward) -> Answered | None:
        """Has those that were kept carried out first."""
        self.arrive()
        return forward()

    def arrive(self) -> list[int]:
        """Has those that were kept carried out; how the server answered."""
        kept, self._kept = self._kept, []
        return [forward().status for forward in kept]


def _handler_of(proxy: S3Proxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def __getattr__(self, name: str) -> Any:
            if name.startswith("do_"):
                return self._serve
            raise AttributeError(name)

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked = Asked(self.command, self.path, tuple(self.headers.items()), body)
            with suppress(OSError, http.client.HTTPException):
                answered = proxy.answer(asked)
                if answered is not None:
                    self._reply(answered)
                    return
            self.close_connection = True

        def _reply(self, answered: Answered) -> None:
            self.send_response_only(answered.status)
            for name, value in answered.headers:
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            length = next((v for n, v in answered.headers if n.lower() == "content-length"), None)
            self.send_header("Content-Length", length or str(len(answered.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answered.body)
                self.close_connection = len(answered.body) < int(length or 0)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler
