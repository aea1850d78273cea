"""The process of an operator: its identity, its workers and drivers, and its end by a signal.

Used by `lithify operator`, `watch` and `release`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import socket
import sys
from pathlib import Path

from lithify.controller.launching.process import ProcessSettings
from lithify.controller.observing.pool import ObserverPool, PoolSettings
from lithify.controller.observing.share import container_bytes, machine_bytes, share
from lithify.controller.observing.wire import WorkerSettings
from lithify.controller.operator import Operator
from lithify.io.addresses import AddressPolicy

SPARE_REQUESTS = 4
"""Requests per catalog that queue in addition to the running observations, so that no worker is idle."""
LEASE_LOST = 4
"""Exit code of an operator that has lost its lease; its supervisor restarts it."""
_log = logging.getLogger(__name__)


def identity() -> str:
    """An identity that distinguishes this process from other operators."""
    return f"{socket.gethostname()}_{os.getpid()}_{secrets.token_hex(4)}"


def observer_pool(state: Path, looks: int, addresses: AddressPolicy | None = None) -> ObserverPool:
    """The pool of observer workers, as many as fit into memory; their caches are in the state folder.

    They connect only to what the policy allows; without a policy, to everything.

    Raises:
        InvalidOption: the memory does not suffice for a single worker.
    """
    cache = state / "tables"
    cache.mkdir(parents=True, exist_ok=True)
    found = share(container_bytes(), machine_bytes(), looks)
    if found.workers < looks:
        _log.warning(
            "not all looks fit into the memory that the operator may take; raise resources.limits.memory",
            extra={"looks": looks, "fit": found.workers, "mebibytes_each": found.memory_bytes >> 20},
        )
    worker = WorkerSettings(str(cache), memory_bytes=found.memory_bytes, addresses=addresses)
    grown = found.memory_bytes // 4 * 3
    return ObserverPool(PoolSettings(worker, workers=found.workers, resident_bytes=grown))


def drivers_folder(state: Path) -> Path:
    """The folder of all driver processes, one below for each namespace and Compaction."""
    return state / "drivers"


def process_settings(state: Path) -> ProcessSettings:
    """Drivers as processes of this very installation."""
    command = (sys.executable, "-m", "lithify", "drive")
    return ProcessSettings(folder=drivers_folder(state), command=command)


async def run_until_signalled(operator: Operator) -> int:
    """Runs an operator to its end, which SIGTERM and SIGINT bring about; returns the exit code."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, operator.stop)
    return 0 if await operator.run() else LEASE_LOST
