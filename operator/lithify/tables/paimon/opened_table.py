"""What every kind of Paimon table does alike for a run: identity, checks, clean-up, snapshots.

Base of the `OpenTable` implementations of `primary_key` and `append`, which plan and begin steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lithify.clock import Clock
from lithify.tables.address import Selection
from lithify.tables.format import CommittedRun, Recovered
from lithify.tables.model import BucketId
from lithify.tables.observation import RunFound
from lithify.tables.paimon.commit.found_runs import buckets_of, find_run
from lithify.tables.paimon.commit.orphans import reconcile
from lithify.tables.paimon.metadata.snapshot_ids import snapshot_id
from lithify.tables.paimon.metadata.snapshots import is_last_step
from lithify.tables.paimon.metadata.view import View
from lithify.tables.paimon.schema.evolution import schema_conflict
from lithify.tables.paimon.table import PaimonTable
from lithify.tables.paimon.units import BucketUnit


class OpenedTable:
    """An open table.

    Args:
        table: the table.
    """

    def __init__(self, table: PaimonTable) -> None:
        self.table = table

    @property
    def name(self) -> str:
        """The table's name for people."""
        return self.table.name

    @property
    def uuid(self) -> str:
        """UUID that distinguishes the table from others of the same name."""
        return self.table.uuid

    def check_supported(self) -> None:
        """Checks that this release can compact the table; see `PaimonTable.check_supported`."""
        self.table.check_supported()

    def check_writable(self) -> None:
        """Checks that snapshots can be written; see `PaimonTable.check_writable`."""
        self.table.check_writable()

    def recover(self, clock: Clock) -> Recovered:
        """Removes the files of dead attempts; see `orphans.reconcile`."""
        cleaned = reconcile(self.table, clock)
        return Recovered(cleaned.deleted, cleaned.problems)

    def committed_by(self, run: str) -> CommittedRun | None:
        """What a run has committed; None if it has committed nothing."""
        found = self.table.snapshots.committed_by_run(run)
        return None if found is None else CommittedRun(snapshot_id(found.id), is_last_step(found))

    def find_run(self, run: str) -> RunFound | None:
        """Figures of what a run has committed; see `found_runs.find_run`."""
        return find_run(self.table, run)

    def groups_of(self, run: str) -> frozenset[BucketId]:
        """Buckets that a run has compacted."""
        return buckets_of(self.table, run)

    def look(self, selection: Selection) -> View | None:
        """Pins the newest snapshot; see `PaimonTable.view`."""
        return self.table.view(selection)

    def look_again(self, groups: Collection[BucketId]) -> View | None:
        """Pins the newest snapshot and lists the files of exactly these buckets."""
        self.table.check_supported()
        return self.table.view_of(groups)

    def check_again(self, units: Sequence[BucketUnit]) -> dict[BucketId, str]:
        """Buckets whose units can no longer be committed, with the reason."""
        changed = schema_conflict(self.table.schema, self.table.newest_schema())
        if changed is not None:
            return {unit.bucket: changed for unit in units}
        view = self.table.view_of([unit.bucket for unit in units])
        return {
            unit.bucket: "others have compacted it since it was planned"
            for unit in units
            if view is None
            or not {(file.name, file.level) for file in unit.inputs} <= view.names(unit.bucket)
        }
