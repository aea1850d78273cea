"""What the tasks of a round returned, as changes to commit.

Made by `step` between the tasks and the commit. A task that fails because others compacted and expired what
it was reading makes its bucket a conflict; one that fails because of the bucket's files blocks the bucket;
every other failure is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from lithify.planning.merge_tree.plan import Unit
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.model import BucketId
from lithify.tables.paimon.commit.changes import BucketChange
from lithify.tables.paimon.primary_key.blocking import Blocks
from lithify.tables.paimon.primary_key.planning import RunPlan
from lithify.tables.paimon.table import PaimonTable


class Outputs:
    """What the tasks of a round returned, by bucket.

    Attributes:
        changes: what to commit.
        lost: buckets whose inputs vanished while they were read, because they were compacted and expired.
        blocks: buckets whose files cannot be compacted as they are.

    Raises:
        LithifyError: a task failed for a reason that does not concern its bucket alone.
    """

    def __init__(self, table: PaimonTable, plan: RunPlan, done: Sequence[tuple[Unit, TaskResult]]) -> None:
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
        """Whether files of buckets that are not committed may be in the table's folder."""
        return bool(self.lost or self.blocks)

    def of(self, bucket: BucketId) -> TaskOutputs:
        """The new files of a bucket."""
        return TaskOutputs.joined(self._outputs.get(bucket, ()))

    def _change(self, plan: RunPlan, unit: Unit) -> BucketChange:
        rewritten = [file for rewrite in unit.work.rewrites for file in rewrite.files]
        return BucketChange(
            bucket=unit.bucket,
            removed=tuple(plan.view.entries(unit.bucket, rewritten)),
            upgraded=tuple(plan.view.entries(unit.bucket, unit.work.upgrades)),
            output_level=unit.output_level,
            outputs=self.of(unit.bucket),
        )
