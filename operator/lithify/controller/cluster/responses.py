"""HTTP responses as kopf reads them: lists, and lines of a watch, with too deep values cut off.

Used by `events`. kopf decodes each list and each line of a watch with Python's decoder; an error there would
end the watch, and with it the process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, cast

import aiohttp
from aiohttp.connector import Connection

from lithify.controller.cluster.decoding import decode, may_be_deep, shallow


class Lines:
    """The content of a response, split into whole lines; all else is delegated to the content.

    Args:
        content: the response's content.
    """

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    def __getattr__(self, name: str) -> Any:
        return getattr(self._content, name)

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Yields the lines, in order; those that arrived together come as one chunk."""
        rest = b""
        async for data in self._content.iter_chunked(size):
            end = data.rfind(b"\n") + 1
            if end:
                yield b"\n".join(map(_readable, (rest + data[:end]).split(b"\n")))
                rest = b""
            rest += data[end:]
        if rest:
            yield _readable(rest)


def _readable(line: bytes) -> bytes:
    return shallow(line) if may_be_deep(line) else line


class Response(aiohttp.ClientResponse):
    """A response whose JSON is never too deep."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Starts with the headers; the content comes later."""
        await super().start(connection)
        self.content = cast("aiohttp.StreamReader", Lines(self.content))
        return self

    async def json(
        self,
        *,
        encoding: str | None = None,
        loads: Callable[[str], Any] = decode,
        content_type: str | None = "application/json",
    ) -> Any:
        """Returns the whole content, decoded."""
        return await super().json(encoding=encoding, loads=loads, content_type=content_type)
