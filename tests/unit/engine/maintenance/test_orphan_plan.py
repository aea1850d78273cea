"""A plan of orphans goes on reading names where it began, also if files were compared in several portions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, with_columns
from lithify.engine.maintenance.orphan_plan import OrphanPlan, plan_orphans
from lithify.engine.maintenance.orphan_search import Chosen, delete_orphans, gather
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId
from lithify.io.listings import listing_of


@dataclass
class Table:
    """A table whose commits name a file each; one comes with each complete reading of names."""

    to_come: list[str]
    committed: list[str] = field(default_factory=list)


@dataclass
class Reader:
    """Reads the names of the table's commits; implements `NameReader`."""

    table: Table
    seen: int = 0

    @property
    def has_read(self) -> bool:
        return self.seen > 0

    @property
    def oldest(self) -> SnapshotId | None:
        return SnapshotId("1")

    def unread(self) -> Iterator[pa.Array]:
        fresh = self.table.committed[self.seen :]
        self.seen += len(fresh)
        yield pa.array(fresh, pa.string())
        if self.table.to_come:
            self.table.committed.append(self.table.to_come.pop(0))


def choose(files: pa.Table) -> Chosen:
    return with_columns(files, kind=np.zeros(len(files), dtype=np.int8)), files["path"].combine_chunks()


def nobody(paths: pa.Array) -> Flags:
    return np.zeros(len(paths), dtype=bool)


def planned(table: Table, *names: str) -> OrphanPlan:
    """A plan whose files are compared one by one."""
    batches = [listing_of([name], [1], pa.array([1], pa.int64())) for name in names]
    candidates = gather(batches, choose, 10, most_at_once=1)
    return plan_orphans(candidates, lambda: Reader(table), nobody, "root", ("dataFiles",))


def test_commit_between_two_portions_counts_for_the_first() -> None:
    table = Table(["late"], ["begin"])
    plan = planned(table, "late", "other", "begin")
    assert plan.figures == {"dataFiles": 2, "bytes": 2}
    deleted: list[str] = []

    delete_orphans(plan.orphans, plan.root, deleted.extend, plan.names.unread)

    assert deleted == ["root/other"]


def test_plan_says_what_it_deletes() -> None:
    plan = planned(Table([], ["kept"]), "kept", "gone")
    assert (plan.kind, plan.is_empty, plan.oldest) == (MaintenanceKind.REMOVE_ORPHANS, False, "1")
    assert plan.samples == ["root/gone"]
    assert planned(Table([], ["kept"]), "kept").is_empty
