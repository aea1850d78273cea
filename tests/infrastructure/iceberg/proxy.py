"""Stands between clients and a REST catalog, and does to chosen requests what networks and bad servers do.

Tests of commits use it. A step handles one request; it may have the request carried out, none, one or
several times, and says what the client gets, if anything.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from aiohttp import web

_TIMEOUT = aiohttp.ClientTimeout(total=60)
_START_SECONDS = 10.0
_NOT_PASSED_ON = frozenset({"connection", "content-encoding", "content-length", "host", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def is_commit(self) -> bool:
        """Whether it changes a table, or several tables at once."""
        return self.method == "POST" and (
            "/tables/" in self.path or self.path.endswith("/transactions/commit")
        )


@dataclass(frozen=True, slots=True)
class Answered:
    """What comes back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


Forward = Callable[[], Awaitable[Answered]]
Step = Callable[[Asked, Forward], Awaitable[Answered | None]]
"""Does something to a request; None hangs up without an answer."""


class RestProxy:
    """A proxy on a port of its own; a context manager.

    Args:
        server: the URL that requests are passed on to.
        concerns: which requests take a step; by default commits to tables.

    Attributes:
        asked: every request so far.
        steps: what is done to the next requests that it concerns, one step each.
        always: what is done to all others.
    """

    def __init__(
        self, server: str, concerns: Callable[[Asked], bool] = lambda asked: asked.is_commit
    ) -> None:
        self.asked: list[Asked] = []
        self.steps: list[Step] = []
        self.always: Step = pass_on
        self.url = ""
        self._server = server.rstrip("/")
        self._concerns = concerns
        self._loop = asyncio.new_event_loop()
        self._end = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError("the proxy did not start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        application = web.Application(client_max_size=1 << 30)
        application.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        async with aiohttp.ClientSession(timeout=_TIMEOUT, auto_decompress=False) as self._client:
            await site.start()
            self.url = "http://{}:{}".format(*runner.addresses[0])
            self._ready.set()
            await self._end.wait()
            await runner.cleanup()
            await _cancel_the_others()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(request.method, request.path_qs, tuple(request.headers.items()), await request.read())
        self.asked.append(asked)
        step = self.steps.pop(0) if self.steps and self._concerns(asked) else self.always
        answered = await step(asked, lambda: self._forward(asked))
        if answered is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=answered.status, headers=answered.headers, body=answered.body)

    async def _forward(self, asked: Asked) -> Answered:
        headers = [(name, value) for name, value in asked.headers if name.lower() not in _NOT_PASSED_ON]
        headers += [(name, value) for name, value in asked.headers if name.lower() == "content-encoding"]
        url = self._server + asked.path
        async with self._client.request(asked.method, url, headers=headers, data=asked.body) as reply:
            kept = [(n, v) for n, v in reply.headers.items() if n.lower() not in _NOT_PASSED_ON]
            kept += [(n, v) for n, v in reply.headers.items() if n.lower() == "content-encoding"]
            return Answered(reply.status, tuple(kept), await reply.read())


async def _cancel_the_others() -> None:
    """Ends requests that are never answered."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def pass_on(asked: Asked, forward: Forward) -> Answered | None:
    """Does nothing to it."""
    return await forward()


async def lose_request(asked: Asked, forward: Forward) -> Answered | None:
    """Hangs up."""
    return None


async def lose_answer(asked: Asked, forward: Forward) -> Answered | None:
    """Has it carried out, and hangs up."""
    await forward()
    return None


async def send_twice(asked: Asked, forward: Forward) -> Answered | None:
    """Has it carried out twice, and gives the second answer."""
    await forward()
    return await forward()


async def never_answer(asked: Asked, forward: Forward) -> Answered | None:
    """Keeps the connection open and says nothing, until the client hangs up or the proxy ends."""
    await asyncio.Event().wait()
    return None


async def carry_out_and_never_answer(asked: Asked, forward: Forward) -> Answered | None:
    """The same, after the request was carried out."""
    await forward()
    return await never_answer(asked, forward)


def fail(status: int) -> Step:
    """A step that answers with an error, which is true: nothing was done."""

    async def step(asked: Asked, forward: Forward) -> Answered | None:
        return _error(status)

    return step


def fail_after(status: int) -> Step:
    """A step that has the request carried out, and answers with an error all the same."""

    async def step(asked: Asked, forward: Forward) -> Answered | None:
        await forward()
        return _error(status)

    return step


class Held:
    """Keeps one request back until a test lets it go: a slow network, without a clock.

    Attributes:
        arrived: set when the request is there.
    """

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self._released = threading.Event()

    def release(self) -> None:
        """Lets it go on."""
        self._released.set()

    async def before(self, asked: Asked, forward: Forward) -> Answered | None:
        """Holds the request: it reaches the server late."""
        await self._hold()
        return await forward()

    async def after(self, asked: Asked, forward: Forward) -> Answered | None:
        """Has it carried out at once, and holds the answer."""
        answered = await forward()
        await self._hold()
        return answered

    async def _hold(self) -> None:
        self.arrived.set()
        await asyncio.to_thread(self._released.wait)


_NAMES = {409: "CommitFailedException", 500: "InternalServerError", 503: "ServiceUnavailableException"}


def _error(status: int) -> Answered:
    name = _NAMES.get(status, "RESTException")
    body = f'{{"error": {{"message": "not today", "type": "{name}", "code": {status}}}}}'
    return Answered(status, (("Content-Type", "application/json"),), body.encode())
