"""Events from a real API server, by kopf.

kopf lists, watches, reconnects and delivers. An event only ever means "reconcile this object". There are no
handlers with state, timers, daemons, indexes or finalizers: at 10,000 objects they cost writes and quadratic
time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain, repeat
from signal import SIGINT, SIGTERM
from threading import current_thread, main_thread
from typing import Any

import aiohttp
import kopf
from kubernetes.aio.client.configuration import Configuration

from lithify.controller.api import Tell
from lithify.controller.cluster.responses import Response
from lithify.resources.names import LABEL_COMPACTION, OWN_KINDS, POD, ResourceKind

_FINALIZER = "lithify.dev/unused"
"""A name that kopf requires; with event handlers alone it never sets the finalizer."""


def registry_of(tell: Tell, kinds: Collection[ResourceKind] = (*OWN_KINDS, POD)) -> kopf.OperatorRegistry:
    """Returns event handlers for our kinds, and for the pods of drivers."""
    registry = kopf.OperatorRegistry()
    for kind in kinds:
        labels: Any = {LABEL_COMPACTION: kopf.PRESENT} if kind is POD else None
        kopf.on.event(kind.group, kind.version, kind.plural, labels=labels, registry=registry)(
            _handler(kind, tell)
        )
    return registry


def _handler(kind: ResourceKind, tell: Tell) -> Any:
    async def seen(type: str | None, body: kopf.Body, **_: object) -> None:  # noqa: A002  # kopf's name
        tell(kind, dict(body), type == "DELETED")

    return seen


class _NoMemory(kopf.DiffBaseStorage):
    """Storage of objects' earlier states that stores nothing: kopf would copy every object of every event."""

    def build(self, **_: object) -> kopf.BodyEssence:
        """Returns nothing to compare."""
        return kopf.BodyEssence({})

    def fetch(self, **_: object) -> kopf.BodyEssence | None:
        """Returns nothing."""
        return None

    def store(self, **_: object) -> None:
        """Does nothing."""


class _Backoffs(Iterable[float]):
    """Seconds between the tries of a request, without end: a list that fails for minutes ends no operator."""

    def __iter__(self) -> Iterator[float]:
        return chain((1, 2, 5, 10, 20), repeat(30))


def settings() -> kopf.OperatorSettings:
    """Configures kopf to log, write and remember as little as possible."""
    found = kopf.OperatorSettings()
    found.posting.enabled = False
    found.scanning.disabled = True
    found.persistence.finalizer = _FINALIZER
    found.persistence.diffbase_storage = _NoMemory()
    found.watching.chunk_size = 500
    found.watching.server_timeout = 300  # watches end by themselves regularly, which heals silent stalls
    found.watching.client_timeout = 310
    found.watching.connect_timeout = 10
    found.networking.request_timeout = 60
    found.networking.error_backoffs = _Backoffs()
    found.queueing.idle_timeout = 1
    return found


async def watch(
    configuration: Configuration, namespaces: Collection[str], tell: Tell, stop: asyncio.Event
) -> None:
    """Delivers events until `stop` is set; returns or raises when kopf gives up.

    SIGTERM and SIGINT count as `stop`, because kopf takes over the handlers of both.

    Args:
        configuration: how to reach the API server.
        namespaces: which namespaces; empty for all.
        tell: called for each object.
        stop: ends it.
    """
    registry = registry_of(tell)
    kopf.on.login(registry=registry)(_login(configuration))
    others = asyncio.all_tasks()
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=settings(),
        standalone=True,
        clusterwide=not namespaces,
        namespaces=sorted(namespaces),
        stop_flag=stop,
    )
    if current_thread() is main_thread():
        for number in (SIGTERM, SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await kopf.run_tasks(tasks, ignored=others)


def _login(configuration: Configuration) -> Any:
    refresh: Callable[[Configuration], Any] | None = configuration.refresh_api_key_hook
    sessions: list[tuple[kopf.ConnectionInfo, kopf.AiohttpSession]] = []

    async def login(**_: object) -> kopf.AiohttpSession:
        if refresh is not None:
            refreshed = refresh(configuration)
            if asyncio.iscoroutine(refreshed):
                await refreshed
        keys: dict[str, str] = configuration.api_key
        scheme, _blank, token = keys.get("BearerToken", "").rpartition(" ")
        info = kopf.ConnectionInfo(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            insecure=not configuration.verify_ssl,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
            scheme=scheme or None,
            token=token or None,
        )
        # kopf gives up if refused credentials come again, and compares them by session: a new one means new
        # ones.
        if not (sessions and sessions[0][0] == info):
            sessions[:] = [(info, _session(info))]
        return sessions[0][1]

    return login


def _session(info: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """Returns a session like kopf's own, but for its responses; kopf closes it."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
        headers=info.as_http_headers(),
        response_class=Response,
    )
    return kopf.AiohttpSession(server=info.server, aiohttp_session=session)
