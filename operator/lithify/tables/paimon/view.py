"""The live files of some buckets in one pinned snapshot, as columns.

Made by `table`, read by the job's planner and the command line. A bucket becomes objects only when somebody
asks for it: most buckets of a large table have no work, and one with damaged metadata must not stand in the
way of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lithify.planning.policy import CompactionPolicy, Strategy
from lithify.tables.model import Bucket, BucketId, OrderKey, SnapshotId
from lithify.tables.paimon.bucket_statistics import PLACE, bucket_statistics
from lithify.tables.paimon.entries import Entry
from lithify.tables.paimon.entry_columns import data_files, entries_of
from lithify.tables.paimon.resting import resting_reasons


@dataclass(frozen=True, slots=True)
class View:
    """The live files of the selected buckets, and the kinds of index that the snapshot has.

    Attributes:
        snapshot_id: the snapshot.
        commit_millis: when it was committed.
        index_types: the kinds of index files that it has.
        files: the files, a row each, as narrow columns (see `entry_columns`).
        rows: the rows of each bucket in `files`.
        order_keys: turns key bounds into order keys.
    """

    snapshot_id: SnapshotId
    commit_millis: int
    index_types: frozenset[str]
    files: pl.DataFrame
    rows: Mapping[BucketId, pl.Series]
    order_keys: Callable[[pl.Series], Sequence[OrderKey]]

    @property
    def bucket_ids(self) -> list[BucketId]:
        """The buckets that have live files, by partition path and bucket number."""
        return sorted(self.rows, key=lambda bucket: (bucket.path.rpartition("/")[0], bucket.bucket))

    def bucket(self, bucket: BucketId) -> Bucket:
        """The live files of a bucket.

        Raises:
            CorruptTable: a key bound is null.
            UnsupportedTable: a key bound has no order.
        """
        files = self.files[self.rows[bucket]]
        return Bucket(bucket, data_files(files, self.order_keys), files["total_buckets"][0])

    def entries(self, bucket: BucketId) -> dict[str, Entry]:
        """The manifest entries of a bucket's live files by file name, without statistics."""
        return {entry.file.name: entry for entry in entries_of(self.files[self.rows[bucket]])}

    def resting(self, policy: CompactionPolicy, strategy: Strategy, now: datetime) -> dict[BucketId, str]:
        """The buckets that certainly rest, with the reason; others have to be planned to know."""
        statistics = bucket_statistics(self.files, policy.small_file_size)
        reasons = resting_reasons(statistics, policy, strategy, now)
        known = statistics.select(PLACE).with_columns(reasons.alias("reason")).drop_nulls("reason")
        ids = {(bucket.partition, bucket.bucket): bucket for bucket in self.rows}
        return {ids[partition, bucket]: reason for partition, bucket, reason in known.iter_rows()}


def rows_of_buckets(
    files: pl.DataFrame, bucket_id: Callable[[bytes, int], BucketId]
) -> dict[BucketId, pl.Series]:
    """The rows of each bucket in a frame of live files, in their order."""
    grouped = files.with_row_index("row").group_by(PLACE, maintain_order=True).agg("row")
    places = grouped.select(PLACE).iter_rows()
    return {bucket_id(*place): rows for place, rows in zip(places, grouped["row"], strict=True)}
