"""Turns the results of a step's tasks into changes to commit.

Made by `step` between the tasks and the commit. A task that fails because another writer compacted and
expired its input makes its bucket a conflict; one that fails because of the bucket's files blocks the bucket;
every other failure is raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lithify.planning.merge_tree.plan import Unit
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.model import BucketId
from lithify.tables.paimon.commit.changes import BucketChange
from lithify.tables.paimon.primary_key.blocking import Blocks
from lithify.tables.paimon.primary_key.planning import RunPlan
from lithify.tables.paimon.table import PaimonTable


class Outputs:
    """Results of a step's tasks, by bucket.

    Attributes:
        changes: the changes to commit.
        lost: buckets whose inputs another writer compacted and expired while tasks read them.
        blocks: buckets whose files cannot be compacted.

    Raises:
        LithifyError: a task failed for a reason that affects more than its own bucket.
    """

    def __init__(self, table: PaimonTable, plan: RunPlan, done: Sequence[tuple[Unit, TaskResult]]) -> None:
        self._order_key = table.order_key
        self._outputs: dict[BucketId, list[TaskOutputs]] = {}
        for unit, result in done:
            self._outputs.setdefault(unit.bucket, []).append(result.outputs)
        failures = Blocks(table, plan.view)
        for unit, result in done:
            if result.failure is not None:
                with failures.isolate(unit.bucket):
                    raise result.failure.as_error()
        self.blocks, self.lost = failures.sorted_out()
        whole = [unit for unit in plan.units if unit.bucket not in failures.errors]
        self.changes = [self._change(plan, unit) for unit in whole]

    @property
    def has_leftovers(self) -> bool:
        """Whether the table's folder may have new files of buckets that are not committed."""
        return bool(self.lost or self.blocks)

    def of(self, bucket: BucketId) -> TaskOutputs:
        """The new files of a bucket; those of the changelog by key, as they are read."""
        joined = TaskOutputs.joined(self._outputs.get(bucket, ()))
        changelog = sorted(joined.changelog, key=lambda file: self._order_key(file.min_key))
        return replace(joined, changelog=tuple(changelog))

    def _change(self, plan: RunPlan, unit: Unit) -> BucketChange:
        rewritten = [file for rewrite in unit.work.rewrites for file in rewrite.files]
        return BucketChange(
            bucket=unit.bucket,
            removed=tuple(plan.view.entries(unit.bucket, rewritten)),
            upgraded=tuple(plan.view.entries(unit.bucket, unit.work.upgrades)),
            output_level=unit.output_level,
            outputs=self.of(unit.bucket),
        )
