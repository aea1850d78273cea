"""Due work in each bucket or partition of a table without a primary key.

Called by `live_files` like `judging`, of which it replaces what knows merge trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from lithify.clock import epoch_of_wall
from lithify.errors import CorruptTable
from lithify.planning.bin_packing.plan import PackedUnit, leftovers_due_millis, plan_bucket
from lithify.planning.bin_packing.policy import PackingOptions
from lithify.planning.merge_tree.policy import Strategy
from lithify.tables.model import Bucket, BucketId, fingerprint_of
from lithify.tables.paimon.append.levels import check_levels
from lithify.tables.paimon.append.packable import packable, rests
from lithify.tables.paimon.metadata.column_groups import Flags, listed, taken, with_columns
from lithify.tables.paimon.metadata.entry_columns import data_files
from lithify.tables.paimon.metadata.vector_columns import has_vectors
from lithify.tables.paimon.observing.blocked import BUCKET_ERRORS, problem_of
from lithify.tables.paimon.observing.judging import UNCOUNTED, Judge, Judgement


@dataclass(frozen=True, slots=True)
class PackingJudge(Judge):
    """Judges buckets whose files are joined.

    Attributes:
        packing: the table's options that steer bin packing.
    """

    packing: PackingOptions = field(default_factory=PackingOptions)

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        return f"{super(PackingJudge, self).terms}, {self.packing!r}"

    def _rests(self, statistics: pa.Table, strategy: Strategy) -> Flags:
        return rests(statistics, self.packing, strategy)

    def _judge(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        try:
            full = self._bucket(bucket_id, files, Strategy.FULL)
            has_same = self.packing.delete_ratio is None or not has_vectors(files)
            bucket = full if has_same else self._bucket(bucket_id, files, Strategy.MINOR)
        except BUCKET_ERRORS as error:
            return Judgement(
                problem=problem_of(error, self.table),
                is_corrupt=isinstance(error, CorruptTable),
                fingerprint=fingerprint_of(zip(listed(files["name"]), listed(files["level"]), strict=True)),
            )
        minor = None if rests_minor else plan_bucket(bucket, self.packing, Strategy.MINOR, self.now)
        fully = plan_bucket(full, self.packing, Strategy.FULL, self.now)
        due = minor if isinstance(minor, PackedUnit) else None
        later = None if due else leftovers_due_millis(bucket, self.packing, self.now)
        return Judgement(
            trigger=None if due is None else due.trigger,
            detail=None if due is None else f"{self._place(bucket_id)} has {due.reason}",
            is_picked=due is not None,
            full_bytes=fully.read_bytes if isinstance(fully, PackedUnit) else None,
            due_at=None if later is None else epoch_of_wall(later, self.now.tzinfo),
        )

    def _bucket(self, bucket: BucketId, files: pa.Table, strategy: Strategy) -> Bucket:
        """The files that a plan may take."""
        found = data_files(taken(files, packable(files, self.packing, strategy)), self.order_keys)
        check_levels(self.table, found)
        return Bucket(bucket, found, UNCOUNTED)

    def _place(self, bucket: BucketId) -> str:
        partition, _, name = bucket.path.rpartition("/")
        if not self.packing.is_ordered:
            return partition or "the table"
        number = f"bucket {name.rpartition('-')[2]}"
        return f"{number} of {partition}" if partition else number

    def _timed(self, figures: pa.Table) -> pa.Table:
        """Adds the times at which figures change without a commit: when leftovers are old enough."""
        due = figures["due_at"].combine_chunks()
        return with_columns(figures, next_trigger=due, valid_until=due)
