"""Due work in each bucket or partition of a table whose rows are clustered.

Called by `live_files` like `judging`, of which it replaces what knows merge trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pyarrow as pa

from lithify.clock import epoch_of_wall, wall_millis
from lithify.errors import CorruptTable
from lithify.planning.clustering.plan import HISTORY, ClusteredUnit, history_due_millis, plan_bucket
from lithify.planning.clustering.policy import ClusteringOptions
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.model import Bucket, BucketId, fingerprint_of
from lithify.tables.paimon.append.clustering.resting import have_same_columns, rests, taken_at_once
from lithify.tables.paimon.metadata.column_groups import Flags, listed, taken, with_columns
from lithify.tables.paimon.metadata.entry_columns import data_files
from lithify.tables.paimon.observing.blocked import BUCKET_ERRORS, problem_of
from lithify.tables.paimon.observing.judging import UNCOUNTED, Judge, Judgement


def _always(schema_id: int) -> bool:
    del schema_id
    return True


@dataclass(frozen=True, slots=True)
class ClusteringJudge(Judge):
    """Judges buckets whose rows are clustered.

    Attributes:
        clustering: the table's options that steer clustering.
        has_same_columns: tells whether a schema has the clustering columns of the newest one; schemas never
            change, so figures do not depend on it otherwise.
        same_columns: whether it is true of all schemas of the files at hand.
    """

    clustering: ClusteringOptions = field(default_factory=lambda: ClusteringOptions(()))
    has_same_columns: Callable[[int], bool] = _always
    same_columns: bool = False

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        return f"{super(ClusteringJudge, self).terms}, {self.clustering!r}"

    def figures(self, files: pa.Table) -> pa.Table:
        """The figures of the buckets of some files; see `Judge.figures`."""
        same = have_same_columns(files, self.has_same_columns)
        return super(ClusteringJudge, replace(self, same_columns=same)).figures(files)

    def _rests(self, statistics: pa.Table, strategy: Strategy) -> Flags:
        return rests(statistics, self.clustering, strategy, self.now, same_columns=self.same_columns)

    def _judge(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        try:
            at_once = taken(files, taken_at_once(files, self.clustering))
            bucket = Bucket(bucket_id, data_files(at_once, self.order_keys), UNCOUNTED)
            plan = (bucket, self.clustering)
            same = self.has_same_columns
            minor = None if rests_minor else plan_bucket(*plan, Strategy.MINOR, self.now, same)
            full = plan_bucket(*plan, Strategy.FULL, self.now, same)
        except BUCKET_ERRORS as error:
            return Judgement(
                problem=problem_of(error, self.table),
                is_corrupt=isinstance(error, CorruptTable),
                fingerprint=fingerprint_of(zip(listed(files["name"]), listed(files["level"]), strict=True)),
            )
        due = minor if isinstance(minor, ClusteredUnit) else None
        return Judgement(
            trigger=None if due is None else due.trigger,
            detail=None if due is None else f"{self._place(bucket_id)} has {due.reason}",
            is_picked=due is not None,
            full_bytes=full.read_bytes if isinstance(full, ClusteredUnit) else None,
            due_at=self._due_at(bucket, due),
        )

    def _due_at(self, bucket: Bucket, due: ClusteredUnit | None) -> int | None:
        """When the age of the bucket's files makes it due, in milliseconds since the epoch."""
        later = history_due_millis(bucket.files, self.clustering)
        if later is None or wall_millis(self.now) > later or (due is not None and due.trigger == HISTORY):
            return None
        return epoch_of_wall(later, self.now.tzinfo) + 1

    def _place(self, bucket: BucketId) -> str:
        partition, _, name = bucket.path.rpartition("/")
        if not self.clustering.grows:
            return partition or "the table"
        number = f"bucket {name.rpartition('-')[2]}"
        return f"{number} of {partition}" if partition else number

    def _timed(self, figures: pa.Table) -> pa.Table:
        """Adds the times at which figures change without a commit: when partitions become history."""
        due = figures["due_at"].combine_chunks()
        return with_columns(figures, next_trigger=due, valid_until=due)
