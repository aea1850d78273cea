"""Requests to observing workers and their results, as values that can be sent between processes.

Made by `reconciling`, answered by `tables.paimon.observation` in a worker of `pool`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.io.reach import NOWHERE, Reach
from lithify.tables.observation import Observation, PlanFound, RunFound


@dataclass(frozen=True, slots=True)
class TableTarget:
    """A table, and how to reach it.

    Attributes:
        warehouse: root of the catalog.
        identifier: `database.table`.
        catalog_options: by pypaimon's names, credentials included: never to be logged.
        overrides: table options for evaluating triggers.
        time_zone: of the table's writers, None for UTC.
        catalog: its Catalog, as `namespace/name`: catalogs take turns.
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
    """A request to observe a table.

    Attributes:
        target: which table.
        cache_key: names the table's cache entry; its LakeTable's uid.
        known_uuid: the table's UUID in the last observation.
        known_snapshot: the table's snapshot then. "Unchanged" refers to these two.
        is_full: observe as if for the first time.
        partitions: only partitions with the values of one of these count as due; empty for all.
        idle_seconds: for full compactions, partitions written to more recently do not count.
        held: fingerprints of buckets by path: those that still have these files count as blocked, not as due.
        reconsider: return an observation even if nothing has changed: a trigger's time has come, or the
            request differs from the last one. Costs no more than an unchanged answer does.
    """

    target: TableTarget
    cache_key: str
    known_uuid: str | None = None
    known_snapshot: int | None = None
    is_full: bool = False
    partitions: tuple[Mapping[str, str], ...] = ()
    idle_seconds: int | None = None
    reconsider: bool = False
    held: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A request for the plan of a run.

    Attributes:
        target: which table.
        table_uuid: the expected UUID; None accepts any.
        strategy: the run's strategy.
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
        self, target: TableTarget, run: str, timeout: float, since: datetime | None = None
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
        self, target: TableTarget, timeout: float, wanted: TableFilter = ALL_TABLES
    ) -> TableList:
        """Returns the wanted tables of the catalog; the target's identifier does not matter."""
        ...
