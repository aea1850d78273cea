"""The HTTP endpoints /metrics, /healthz and /readyz.

Opened by the commands around the operator. They must respond while the operator is busy, so metrics are
rendered in a thread; gauges are updated before, on the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from lithify.controller.telemetry.health import Health, HealthFacts, health, readiness
from lithify.errors import InvalidOption

_log = logging.getLogger(__name__)
_HOST_AND_PORT = "host:port, such as 0.0.0.0:8080 or [::]:8080"


def _nothing() -> None:
    """Updates nothing."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Sources of the pages.

    Attributes:
        registry: the metrics.
        facts: the state of the process.
        refresh: updates gauges before they are read.
        ticks: the clock of the facts.
    """

    registry: CollectorRegistry
    facts: Callable[[], HealthFacts]
    refresh: Callable[[], None] = field(default=_nothing)
    ticks: Callable[[], float] = monotonic

    async def metrics(self, request: web.Request) -> web.Response:
        """Returns all metrics, in the requested format."""
        self.refresh()
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        text = await asyncio.to_thread(encode, self.registry)
        return web.Response(body=text, headers={"Content-Type": content_type})

    async def healthz(self, request: web.Request) -> web.Response:
        """Returns 200 if the process should live on, else 503 and why."""
        del request
        return _answer(health(self.facts(), self.ticks()))

    async def readyz(self, request: web.Request) -> web.Response:
        """Returns 200 if the process can do its work or stands by, else 503 and why."""
        del request
        return _answer(readiness(self.facts()))


@asynccontextmanager
async def serve(listen: str, pages: Pages) -> AsyncIterator[str]:
    """Serves the pages; yields the address, with the port that the system chose if 0 was requested.

    Args:
        listen: host and port; an empty host means all addresses.
        pages: what to serve.

    Raises:
        InvalidOption: the address cannot be understood or is not free.
    """
    host, port = parse_listen(listen)
    app = web.Application()
    app.add_routes(
        [
            web.get("/metrics", pages.metrics),
            web.get("/healthz", pages.healthz),
            web.get("/readyz", pages.readyz),
        ]
    )
    runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host or None, port).start()
        except (OSError, OverflowError) as error:
            raise InvalidOption(
                "--listen", f"{listen} cannot be used ({error}); give {_HOST_AND_PORT}"
            ) from error
        name, number = runner.addresses[0][:2]
        address = f"[{name}]:{number}" if ":" in name else f"{name}:{number}"
        _log.info("listening", extra={"address": address})
        yield address
    finally:
        await runner.cleanup()


def parse_listen(listen: str) -> tuple[str, int]:
    """Host and port of an address.

    Raises:
        InvalidOption: the text is no address.
    """
    host, colon, port = listen.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    is_host = not set(bare) & set("[]/ ") and (":" not in bare or bare != host)
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or not is_host:
        raise InvalidOption("--listen", f"{listen} is not {_HOST_AND_PORT}")
    return bare, int(port)


def _answer(found: Health) -> web.Response:
    if found.ok:
        return web.Response(text="ok\n")
    _log.warning("not well: %s", "; ".join(found.problems))
    return web.Response(status=503, text="".join(f"{problem}\n" for problem in found.problems))
