"""What is asked of a table, and what comes back, as values that can be sent to worker processes.

Made by `reconciling`, answered by a table format in a worker of `pool`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.tables.address import Selection, TableAddress
from lithify.tables.observation import Observation, PlanFound, RunFound
from lithify.tables.watching import ObservationRequest


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A question for what a run would do.

    Attributes:
        address: which table.
        selection: which part of it, and how much the run would take.
        task_bytes: about how much one task would read; None for the table's usual size.
    """

    address: TableAddress
    selection: Selection = field(default_factory=Selection)
    task_bytes: int | None = None


MOST_TABLES = 10_000
"""LakeTables that discovery makes for one catalog unless the operator's flags say otherwise."""


@dataclass(frozen=True, slots=True)
class TableFilter:
    """Which tables of a catalog are wanted.

    Attributes:
        include: patterns of `database.table`; without any, the catalog is only asked whether it answers.
        exclude: patterns of those that are not, even if included.
        most: how many names are sent back.
    """

    include: tuple[str, ...] = ("*.*",)
    exclude: tuple[str, ...] = ()
    most: int = MOST_TABLES


@dataclass(frozen=True, slots=True)
class TableList:
    """The wanted tables of a catalog.

    Attributes:
        names: the first of them in alphabetical order, as `database.table`.
        wanted: how many there are.
        unusable: how many more there are whose names no LakeTable can have.
    """

    names: tuple[str, ...] = ()
    wanted: int = 0
    unusable: int = 0


ALL_TABLES = TableFilter()
PROBE = TableFilter(include=(), most=0)
NO_TABLES = TableList()


class TableObserver(Protocol):
    """Looks at tables. All raise what `lithify.errors` says of tables, and `TimedOut`."""

    async def observe(self, request: ObservationRequest, timeout: float) -> Observation | None:
        """Looks at a table; None if nothing has changed since the last look."""
        ...

    async def find_run(
        self, address: TableAddress, run: str, timeout: float, since: datetime | None = None
    ) -> RunFound | None:
        """What a run has committed, None if it certainly has committed nothing that is still there.

        With `since`, when the run began, older snapshots are not read; and where snapshots that are younger
        are expired, so that nobody can say, a `CommitUnknown` is raised. Without it None says only that no
        snapshot that is kept is the run's.
        """
        ...

    async def plan(self, request: PlanRequest, timeout: float) -> PlanFound:
        """What a run would do."""
        ...

    async def list_tables(
        self, address: TableAddress, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        """The wanted tables of the catalog; the name in the address does not matter."""
        ...
