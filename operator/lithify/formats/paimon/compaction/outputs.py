"""Turns the results of a step's tasks into changes to commit.

Made by `step` between the tasks and the commit. A task that fails because another writer compacted and
expired its input makes its bucket a conflict; one that fails because of the bucket's files blocks the bucket;
every other failure is raised.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from lithify.columns.bitmaps import bitmap_of, deserialize
from lithify.engine.attempts.names import writer_id
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.commit.changes import BucketChange
from lithify.formats.paimon.commit.conflict_check import Change
from lithify.formats.paimon.compaction.blocking import failed_buckets
from lithify.formats.paimon.compaction.plan import BucketPlan, BucketUnit
from lithify.formats.paimon.deletion_vectors.maintaining import NO_VECTORS, VectorChange, maintain
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.names.file_names import index_file_name
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.results import TaskOutputs, TaskResult

if TYPE_CHECKING:
    from pyroaring import BitMap


class Outputs:
    """Results of a step's tasks, by the bucket of their unit.

    Attributes:
        changes: the changes to commit.
        lost: buckets whose inputs another writer compacted and expired while tasks read them.
        blocks: buckets whose files cannot be compacted.

    Raises:
        LithifyError: a task failed for a reason that affects more than its own bucket.
    """

    def __init__(
        self,
        table: PaimonTable,
        plan: BucketPlan[BucketUnit],
        done: Sequence[tuple[BucketUnit, TaskResult]],
        prefix: str,
    ) -> None:
        self._table = table
        self._plan = plan
        self._prefix = prefix
        self._numbers = count()
        self._outputs: dict[BucketId, list[TaskOutputs]] = {}
        for unit, result in done:
            self._outputs.setdefault(unit.bucket, []).append(result.outputs)
        failures = failed_buckets(table, plan.view)
        for unit, result in done:
            if result.failure is not None:
                with failures.isolate(unit.bucket):
                    raise result.failure.as_error()
        changes = {}
        for unit in plan.units:
            if unit.bucket not in failures.errors:
                with failures.isolate(unit.bucket):
                    changes[unit.bucket] = self._change(unit)
        self.blocks, self.lost = failures.sorted_out()
        self.changes = list(changes.values())

    @property
    def has_leftovers(self) -> bool:
        """Whether the table's folder may have new files of buckets that are not committed."""
        return bool(self.lost or self.blocks)

    def of(self, bucket: BucketId) -> TaskOutputs:
        """The new files of a bucket; those of the changelog by key, as they are read."""
        joined = TaskOutputs.joined(self._outputs.get(bucket, ()))
        changelog = sorted(joined.changelog, key=lambda file: self._table.order_key(file.min_key))
        return replace(joined, changelog=tuple(changelog))

    def _change(self, unit: BucketUnit) -> Change:
        view = self._plan.view
        return BucketChange(
            bucket=unit.bucket,
            removed=tuple(view.entries(unit.bucket, unit.rewritten)),
            upgraded=tuple(view.entries(unit.bucket, unit.upgraded)),
            output_level=unit.output_level or 0,
            outputs=self.of(unit.bucket),
            vectors=self._vectors(unit, {file.name for file in unit.rewritten}),
        )

    def _vectors(self, unit: BucketUnit, rewritten: Collection[str]) -> VectorChange | SharedVectorChange:
        """The deletion vectors of a unit's bucket; writes them if they change.

        Raises:
            UnsupportedTable: tasks have found superseded rows, but the table has no deletion vectors.
        """
        found = self.of(unit.bucket).index
        options = self._table.options.vectors
        if options is None:
            if found:
                raise UnsupportedTable(unit.bucket.path, ("superseded rows without deletion vectors",))
            return NO_VECTORS
        superseded: dict[str, BitMap] = {}
        for rows in found:
            superseded[rows.file] = superseded.get(rows.file, bitmap_of()) | deserialize(rows.positions)
        writer = writer_id(self._prefix, 0)
        name = index_file_name(writer, next(self._numbers))
        return maintain(
            self._table.storage,
            f"{self._table.index_folder(unit.bucket)}/{name}",
            self._plan.view.vectors(unit.bucket),
            {name for name, _ in self._plan.view.names(unit.bucket)}.difference(rewritten),
            superseded,
            is_wide=options.is_wide,
        )
