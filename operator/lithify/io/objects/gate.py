"""A proxy on the loopback address for the object store client of a guarded process.

Used by `bucket` for endpoints that a Catalog names. The client opens sockets outside Python and follows
redirects; the proxy applies the process's policy to both: it connects only to endpoints that were opened, and
only to addresses that are allowed at that moment.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import cache
from threading import Thread
from urllib.parse import urlsplit

from lithify.errors import OutOfReach
from lithify.io.guard import admit
from lithify.io.network_words import NO_SUCH_HOST, words_of

_HEAD_BYTES = 1 << 16
_CHUNK = 1 << 16
_HEAD_SECONDS = 30
_CONNECT_SECONDS = 5
_OF_PROXIES = (b"proxy-", b"connection:", b"keep-alive:")

_GIVES_UP = (OSError, OutOfReach, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError)

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Gate:
    """The proxy. It lives as long as the process."""

    def __init__(self) -> None:
        self._open: set[tuple[str, int]] = set()
        self._failures: dict[tuple[str, int], str] = {}
        self._loop = asyncio.new_event_loop()
        Thread(target=self._loop.run_forever, daemon=True, name="gate").start()
        self._port = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def open(self, host: str, port: int) -> str:
        """Allows connections to an endpoint; returns the proxy's URL.

        Raises:
            OutOfReach: the process may not connect there.
        """
        admit(host, port)
        self._open.add((host.lower(), port))
        return f"http://127.0.0.1:{self._port}"

    def failure(self, host: str, port: int) -> str | None:
        """Why the last connection to an endpoint failed, in the network's words; None if it did not."""
        return self._failures.get((host.lower(), port))

    async def _listen(self) -> int:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD_BYTES)
        return int(server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(*_GIVES_UP):
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
            is_tunnel = method == "CONNECT"
            host, port = _endpoint(f"//{target}" if is_tunnel else target)
            upstream = await self._connect(host, port, writer)
            if upstream is not None:
                if is_tunnel:
                    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    upstream[1].write(_forwarded(head, target))
                await _join((reader, writer), upstream)
        await _close(writer)

    async def _connect(self, host: str, port: int, writer: asyncio.StreamWriter) -> Streams | None:
        """Connects to an endpoint; None if that fails, after sending the client an error response."""
        try:
            is_open = (host, port) in self._open
            addresses = await asyncio.to_thread(admit, host, port) if is_open else ()
        except OutOfReach:
            is_open, addresses = False, ()
        if not is_open:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return None
        failure = NO_SUCH_HOST
        for address in addresses:
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    found = await asyncio.open_connection(address, port)
            except OSError as error:
                failure = words_of(error) or type(error).__name__
            else:
                self._failures.pop((host, port), None)
                return found
        self._failures[host, port] = failure
        writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        return None


@cache
def gate() -> Gate:
    """Returns the process's gate."""
    return Gate()


def _endpoint(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or 80


def _forwarded(head: bytes, target: str) -> bytes:
    """Rewrites a request for its server: on a connection of its own that closes after the response."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    method, _, version = first.split(b" ")
    parts = urlsplit(target)
    path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}".encode("latin-1")
    kept = (field for field in fields if not field.lower().startswith(_OF_PROXIES))
    return b"\r\n".join([b" ".join((method, path, version)), *kept, b"Connection: close", b"", b""])


async def _join(client: Streams, server: Streams) -> None:
    """Copies bytes in both directions until the server closes or either side fails."""
    sending = asyncio.create_task(_pass(client[0], server[1]))
    try:
        await _pass(server[0], client[1])
    finally:
        sending.cancel()
        await _close(server[1])


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        await writer.drain()
        writer.close()
        await writer.wait_closed()
