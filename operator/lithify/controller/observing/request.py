"""What is asked of a table, and what comes back, as values that can be sent to worker processes.

Made by `reconciling`, answered by `tables.paimon.observation` in a worker of `pool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.io.reach import NOWHERE, Reach
from lithify.tables.model import SnapshotId
from lithify.tables.observation import Observation, PlanFound, RunFound


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table, and how to get at it.

    Attributes:
        warehouse: root of the catalog.
        identifier: `database.table`.
        catalog_options: by pypaimon's names, credentials included: never to be logged.
        overrides: table options by which triggers are judged.
        time_zone: of the table's writers, None for UTC.
        catalog: which Catalog it is of, as `namespace/name`: catalogs take turns.
        reach: where the operator's own rights may be used.
        format: the table format, as `tables.registry` knows it.
    """

    warehouse: str
    identifier: str
    catalog_options: Mapping[str, str] = field(repr=False)
    overrides: Mapping[str, str] = field(default_factory=dict)
    time_zone: str | None = None
    catalog: str = ""
    reach: Reach = NOWHERE
    format: str = "paimon"


@dataclass(frozen=True, slots=True)
class ObservationRequest:
    """A look at a table.

    Attributes:
        target: which table.
        cache_key: names what is kept of the table between two looks; its LakeTable's uid.
        known_uuid: the table that was seen last.
        known_snapshot: its snapshot that was seen last. Unchanged answers are given relative to these.
        is_full: look as if for the first time.
        partitions: only partitions with the values of one of these count as due; empty for all.
        idle_seconds: for full compactions, partitions written to more recently do not count.
        held: fingerprints of buckets by path: those that still have these files count as blocked, not as due.
        reconsider: tell what there is also if nothing has changed: the time of a trigger has come, or what is
            asked for is another than before. Costs no more than an unchanged answer does.
    """

    target: TableTarget
    cache_key: str
    known_uuid: str | None = None
    known_snapshot: SnapshotId | None = None
    is_full: bool = False
    partitions: tuple[Mapping[str, str], ...] = ()
    idle_seconds: int | None = None
    reconsider: bool = False
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A question for what a run would do.

    Attributes:
        target: which table.
        table_uuid: the expected UUID; None accepts any.
        strategy: how much the run would take.
        partitions: only partitions with the values of one of these; empty for all.
        buckets: only these buckets; empty for all.
        held: fingerprints of buckets by path: those that still have these files are left out.
        task_bytes: about how much one task would read; None for the table's usual size.
    """

    target: TableTarget
    table_uuid: str | None = None
    strategy: Strategy = Strategy.MINOR
    partitions: tuple[Mapping[str, str], ...] = ()
    buckets: tuple[int, ...] = ()
    held: Mapping[str, str] = field(default_factory=dict)
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
        self, target: TableTarget, run: str, timeout: float, since: datetime | None = None
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
        self, target: TableTarget, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        """The wanted tables of the catalog; the target's identifier does not matter."""
        ...
