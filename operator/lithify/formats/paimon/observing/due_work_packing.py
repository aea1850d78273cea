"""Due work in each bucket or partition of a table whose files are joined.

Called by `engine.observe.groups` like `due_work`, of which it replaces what knows merge trees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from lithify.clock import epoch_of_wall
from lithify.columns.column_groups import Flags, taken
from lithify.engine.pack.candidates import candidates, rests
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.triggers import leftovers_due_millis
from lithify.formats.paimon.buckets.levels import check_levels
from lithify.formats.paimon.manifests.entry_objects import data_files
from lithify.formats.paimon.manifests.vector_columns import has_vectors
from lithify.formats.paimon.model import Bucket, BucketId
from lithify.formats.paimon.observing.due_work import UNCOUNTED, Judgement
from lithify.formats.paimon.observing.due_work_append import AppendJudge
from lithify.formats.paimon.planning.bin_packing import PackedUnit, plan_bucket
from lithify.formats.protocol.strategy import Strategy


@dataclass(frozen=True, slots=True)
class PackingJudge(AppendJudge):
    """Judges buckets whose files are joined.

    Attributes:
        packing: the table's options that steer bin packing.
    """

    packing: PackingOptions = field(default_factory=PackingOptions)

    @property
    def terms(self) -> str:
        """Everything except files and time that figures depend on."""
        return f"{super(PackingJudge, self).terms}, {self.packing!r}"

    @property
    def has_buckets(self) -> bool:
        """Whether the table has buckets."""
        return self.packing.is_ordered

    def _rests(self, statistics: pa.Table, strategy: Strategy) -> Flags:
        return rests(statistics, self.packing, strategy)

    def _planned(self, bucket_id: BucketId, files: pa.Table, *, rests_minor: bool) -> Judgement:
        full = self._bucket(bucket_id, files, Strategy.FULL)
        has_same = self.packing.delete_ratio is None or not has_vectors(files)
        bucket = full if has_same else self._bucket(bucket_id, files, Strategy.MINOR)
        minor = None if rests_minor else plan_bucket(bucket, self.packing, Strategy.MINOR, self.now)
        fully = plan_bucket(full, self.packing, Strategy.FULL, self.now)
        later = (
            None
            if isinstance(minor, PackedUnit)
            else leftovers_due_millis(bucket.files, self.packing, self.now)
        )
        due_at = None if later is None else epoch_of_wall(later, self.now.tzinfo)
        return self._judgement(bucket_id, minor, fully, due_at)

    def _bucket(self, bucket: BucketId, files: pa.Table, strategy: Strategy) -> Bucket:
        """The files that a plan may take."""
        found = data_files(taken(files, candidates(files, self.packing, strategy)), self.order_keys)
        check_levels(self.table, found)
        return Bucket(bucket, found, UNCOUNTED)
