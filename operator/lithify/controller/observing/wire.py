"""The protocol between the operator and its observing workers: requests, replies, and their framing.

Shared by `process`, the operator's end, and `worker`, the other one. Messages are prefixed by their length.
Questions are pickles, which a worker may trust: they come from the operator. Replies are not; see `replies`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from lithify.controller.observing.request import ALL_TABLES, PlanRequest, TableFilter
from lithify.errors import LithifyError
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.io.addresses import AddressPolicy

HEADER = 8
"""Bytes of the length prefix of a message."""

MOST_REPLY = 16 << 20
"""Maximum bytes of a reply, which the operator holds in memory. 10,000 names of tables take a third of it."""

MOST_TEXT = 8192
"""Characters of each text in a reply: longer ones are cut by the worker and refused by the operator."""

TOO_MUCH_MEMORY = 86
"""Exit code of a worker that needs more memory than its limit."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The first message to a worker.

    Attributes:
        cache_folder: where it caches tables; shared by all workers.
        cache_bytes: maximum size of that folder.
        most_open: number of tables that it keeps open.
        memory_bytes: memory limit; it ends where it needs more.
        processor_seconds: limit of processor time for one answer; it ends where it needs more.
        addresses: where it may connect, None for everywhere.
    """

    cache_folder: str
    cache_bytes: int = 512 << 20
    most_open: int = 1024
    memory_bytes: int = 2 << 30
    addresses: AddressPolicy | None = None
    processor_seconds: float = 120.0


@dataclass(frozen=True, slots=True)
class FindRun:
    """Asks what a run has committed."""

    address: TableAddress
    run: str
    since: datetime | None


@dataclass(frozen=True, slots=True)
class ListTables:
    """Asks for the wanted tables of a catalog."""

    address: TableAddress
    wanted: TableFilter = ALL_TABLES


Question = ObservationRequest | PlanRequest | FindRun | ListTables


@dataclass(frozen=True, slots=True)
class Reply:
    """A worker's reply.

    Attributes:
        value: the answer.
        error: why there is none.
        resident_bytes: memory of the worker.
    """

    value: Any = None
    error: LithifyError | None = None
    resident_bytes: int = 0


def framed(message: object) -> bytes:
    """The bytes of a question, or of the settings, with their length prefix."""
    data = pickle.dumps(message)
    return len(data).to_bytes(HEADER) + data


def receive(stream: BinaryIO) -> Any:
    """Reads the next message from the operator.

    Raises:
        EOFError: the input has ended.
    """
    size = int.from_bytes(_read(stream.read, HEADER))
    return pickle.loads(_read(stream.read, size))  # noqa: S301  # from the operator


def _read(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) < size:
        raise EOFError
    return data
