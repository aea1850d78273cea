"""Pools with real workers, tables to look at, and catalogs that never answer."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lithify.controller.observing.pool import ObserverPool, PoolSettings
from lithify.controller.observing.wire import WorkerSettings
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.access_policy import UNBOUNDED
from support.rest_server import WAREHOUSE
from support.small_tables import SmallTable

PATIENCE = 120.0
"""Seconds that nothing here takes unless it hangs."""


def pool_in(folder: Path, **changes: Any) -> ObserverPool:
    """A pool whose cache is in a folder; changes are the worker's settings or the pool's."""
    worker = {name: changes.pop(name) for name in list(changes) if name in WorkerSettings.__slots__}
    settings = PoolSettings(replace(WorkerSettings(str(folder / "kept")), **worker))
    return ObserverPool(replace(settings, **changes))


def target_of(table: SmallTable) -> TableAddress:
    return TableAddress(str(table.warehouse), table.name, {}, reach=UNBOUNDED)


def request_for(target: TableAddress, **changes: Any) -> ObservationRequest:
    return ObservationRequest(target, cache_key=target.name, **changes)


@contextmanager
def silent_catalog() -> Iterator[TableAddress]:
    """A table of a REST catalog that takes connections and never says a word."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(64)
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        options = {"metastore": "rest", "uri": uri, "token.provider": "bear", "token": "open sesame"}
        yield TableAddress(WAREHOUSE, "db.silent", options, reach=UNBOUNDED)


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():
            await asyncio.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has asked for its end does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def is_worker(pid: int) -> bool:
    """Whether a process runs that is a worker."""
    return is_alive(pid) and b"observing.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()


def resident_mebibytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) >> 10
    return 0
