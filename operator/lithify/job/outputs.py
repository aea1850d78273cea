"""What the tasks of a round returned, as changes to commit.

Made by `driver` between the tasks and the commit. A task that fails because others compacted and expired what
it was reading makes its bucket a conflict; every other failure is raised.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lithify.errors import MissingFile
from lithify.job.planner import RunPlan
from lithify.job.task import TaskResult
from lithify.planning.plan import Unit
from lithify.tables.model import BucketId
from lithify.tables.paimon.changes import BucketChange
from lithify.tables.paimon.entries import FileMeta
from lithify.tables.paimon.table import PaimonTable


class Outputs:
    """What the tasks of a round returned, by bucket.

    Attributes:
        changes: what to commit.
        lost: buckets whose inputs vanished while they were read, because they were compacted and expired.
    """

    def __init__(self, table: PaimonTable, plan: RunPlan, done: Sequence[tuple[Unit, TaskResult]]) -> None:
        self._table = table
        self._results: dict[BucketId, list[TaskResult]] = {}
        for unit, result in done:
            self._results.setdefault(unit.bucket, []).append(result)
        self.lost = dict(self._losses())
        self.changes = [self._change(plan, unit) for unit in plan.units if unit.bucket not in self.lost]

    def added(self, bucket: BucketId) -> list[FileMeta]:
        """The new files of a bucket."""
        return [file for result in self._results.get(bucket, ()) for file in result.files]

    def _losses(self) -> Iterator[tuple[BucketId, str]]:
        for bucket, results in self._results.items():
            for failure in (result.failure for result in results if result.failure):
                error = failure.as_error()
                if not (isinstance(error, MissingFile) and self._has_moved_on(bucket, error)):
                    raise error
                yield bucket, moved_on(error)

    def _has_moved_on(self, bucket: BucketId, error: MissingFile) -> bool:
        """Whether the newest snapshot does without the missing file."""
        live = (self._table.live_now([bucket]) or {}).get(bucket, ())
        return all(not error.path.endswith(entry.file.name) for entry in live)

    def _change(self, plan: RunPlan, unit: Unit) -> BucketChange:
        entries = plan.view.entries(unit.bucket)
        rewritten = [file for rewrite in unit.work.rewrites for file in rewrite.files]
        return BucketChange(
            bucket=unit.bucket,
            removed=tuple(entries[file.name] for file in rewritten),
            upgraded=tuple(entries[file.name] for file in unit.work.upgrades),
            output_level=unit.output_level,
            added=tuple(self.added(unit.bucket)),
        )


def moved_on(error: MissingFile) -> str:
    """Why a bucket of which a file is missing is in conflict."""
    return f"{error.path} was compacted and expired by others"
