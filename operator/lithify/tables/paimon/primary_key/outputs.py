"""What the tasks of a round returned, as changes to commit.

Made by `step` between the tasks and the commit. A task that fails because others compacted and expired what
it was reading makes its bucket a conflict; one that fails because of the bucket's files blocks the bucket;
every other failure is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from lithify.planning.merge_tree.plan import Unit
from lithify.tables.format import TaskResult
from lithify.tables.model import BucketId
from lithify.tables.paimon.commit.changes import BucketChange
from lithify.tables.paimon.metadata.entries import FileMeta
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
        self._results: dict[BucketId, list[TaskResult]] = {}
        for unit, result in done:
            self._results.setdefault(unit.bucket, []).append(result)
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

    def added(self, bucket: BucketId) -> list[FileMeta]:
        """The new files of a bucket."""
        return [file for result in self._results.get(bucket, ()) for file in result.files]

    def _change(self, plan: RunPlan, unit: Unit) -> BucketChange:
        entries = plan.view.entries(unit.bucket, unit.inputs)
        rewritten = [file for rewrite in unit.work.rewrites for file in rewrite.files]
        return BucketChange(
            bucket=unit.bucket,
            removed=tuple(entries[file.name] for file in rewritten),
            upgraded=tuple(entries[file.name] for file in unit.work.upgrades),
            output_level=unit.output_level,
            added=tuple(self.added(unit.bucket)),
        )
