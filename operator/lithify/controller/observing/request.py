"""Requests to observing workers and their results, as values that can be sent between processes.

Made by `reconciling`, answered by a table format in a worker of `pool`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.observation import Observation, PlanFound, RunFound
from lithify.formats.protocol.observing import ObservationRequest


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A request for the plan of a run.

    Attributes:
        address: which table.
        selection: which part of it, and the run's strategy.
        task_bytes: about how much one task would read; None for the table's usual size.
    """

    address: TableAddress
    selection: Selection = field(default_factory=Selection)
    task_bytes: int | None = None


MOST_TABLES = 10_000
"""Default limit of LakeTables that discovery makes for one catalog; the operator's flags can change it."""


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Which tables of a catalog are wanted.

    Attributes:
        include: patterns of `database.table`; without any, the request only tests whether the catalog
            answers.
        exclude: patterns of unwanted tables, even if included.
        most: maximum number of names in the reply.
    """

    include: tuple[str, ...] = ("*.*",)
    exclude: tuple[str, ...] = ()
    most: int = MOST_TABLES


@dataclass(frozen=True, slots=True)
class TableList:
    """The wanted tables of a catalog.

    Attributes:
        names: the first of them in alphabetical order, as `database.table`.
        wanted: number of wanted tables.
        unusable: number of others whose names no LakeTable can have.
    """

    names: tuple[str, ...] = ()
    wanted: int = 0
    unusable: int = 0


ALL_TABLES = TableFilter()
PROBE = TableFilter(include=(), most=0)
NO_TABLES = TableList()


class TableObserver(Protocol):
    """Observes tables. All methods raise the errors of `lithify.errors` about tables, and `TimedOut`."""

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        """Observes a table; returns None if nothing has changed since the last observation."""
        ...

    async def find_run(
        self, address: TableAddress, run: str, timeout: float, since: datetime | None = None
    ) -> RunFound | None:
        """Returns what a run has committed, None if it certainly has committed nothing that still exists.

        With `since`, when the run began, older snapshots are not read; if younger snapshots are expired, so
        that the answer is unknown, a `CommitUnknown` is raised. Without it None says only that no retained
        snapshot is the run's.
        """
        ...

    async def plan(self, request: PlanRequest, timeout: float) -> PlanFound:
        """Returns the plan of a run."""
        ...

    async def list_tables(
        self, address: TableAddress, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        """Returns the wanted tables of the catalog; the name in the address does not matter."""
        ...
