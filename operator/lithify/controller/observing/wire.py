"""What goes between the operator and its observing workers: requests, replies, and how they are framed.

Shared by `process`, the operator's end, and `worker`, the other one. Messages have their length in front.
Questions are pickles, which a worker may believe: they come from the operator. Replies are not; see
`replies`.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

from lithify.controller.observing.request import ALL_TABLES, PlanRequest, TableFilter
from lithify.errors import LithifyError
from lithify.tables.address import TableAddress
from lithify.tables.io.addresses import AddressPolicy
from lithify.tables.watching import ObservationRequest

HEADER = 8
"""Bytes of the length in front of a message."""

MOST_REPLY = 16 << 20
"""Bytes of a reply; the operator's own process has to hold it. 10,000 names of tables take a third of it."""

MOST_TEXT = 8192
"""Characters of each text in a reply: longer ones are cut by the worker and refused by the operator."""

TOO_MUCH_MEMORY = 86
"""What a worker ends with when it needs more memory than it may have."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker is told first.

    Attributes:
        cache_folder: where it keeps what it knows of tables; shared by all workers.
        cache_bytes: how large that may get.
        most_open: how many tables it keeps open.
        memory_bytes: what it may take; it ends where it needs more.
        processor_seconds: processor time that it may take for one answer; it ends where it needs more.
        addresses: what it may connect to, None for everything.
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
    """What comes back.

    Attributes:
        value: the answer.
        error: why there is none.
        resident_bytes: memory of the worker.
    """

    value: Any = None
    error: LithifyError | None = None
    resident_bytes: int = 0


def framed(message: object) -> bytes:
    """A question, or the settings, as they go over the wire."""
    data = pickle.dumps(message)
    return len(data).to_bytes(HEADER) + data


def receive(stream: BinaryIO) -> Any:
    """The next message from the operator.

    Raises:
        EOFError: there is none any more.
    """
    size = int.from_bytes(_read(stream.read, HEADER))
    return pickle.loads(_read(stream.read, size))  # noqa: S301  # from the operator


def _read(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size)
    if len(data) < size:
        raise EOFError
    return data
