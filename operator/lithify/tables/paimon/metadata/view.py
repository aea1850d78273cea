"""The live files of some buckets in one pinned snapshot, as columns.

Made by `table`, read by the job's planner and the command line. A bucket becomes objects only when somebody
asks for it: most buckets of a large table have no work, and one with damaged metadata must not stand in the
way of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lithify.planning.merge_tree.policy import CompactionPolicy, Strategy
from lithify.tables.files.names import FORMATS
from lithify.tables.model import Bucket, BucketId, DataFile, OrderKey, SnapshotId, fingerprint_of
from lithify.tables.paimon.metadata.entries import Entry
from lithify.tables.paimon.metadata.entry_columns import data_files, entries_of
from lithify.tables.paimon.observing.bucket_statistics import PLACE, bucket_statistics
from lithify.tables.paimon.observing.resting import resting_reasons


@dataclass(frozen=True, slots=True)
class View:
    """The live files of the selected buckets, and the kinds of index that the snapshot has.

    Attributes:
        snapshot_id: the snapshot.
        commit_millis: when it was committed.
        index_types: the kinds of index files that it has.
        files: the files, a row each, as narrow columns (see `entry_columns`), and whether they are usual;
            those of a bucket follow each other.
        spans: first row and number of rows of each bucket in `files`.
        order_keys: turns key bounds into order keys.
    """

    snapshot_id: SnapshotId
    commit_millis: int
    index_types: frozenset[str]
    files: pl.DataFrame
    spans: Mapping[BucketId, tuple[int, int]]
    order_keys: Callable[[pl.Series], Sequence[OrderKey]]

    @property
    def bucket_ids(self) -> list[BucketId]:
        """The buckets that have live files, by partition path and bucket number."""
        return sorted(self.spans, key=lambda bucket: (bucket.path.rpartition("/")[0], bucket.bucket))

    def bucket(self, bucket: BucketId) -> Bucket:
        """The live files of a bucket.

        Raises:
            CorruptTable: a key bound is null.
            UnsupportedTable: a key bound has no order.
        """
        files = self.files.slice(*self.spans[bucket])
        return Bucket(bucket, data_files(files, self.order_keys), files["total_buckets"][0])

    def entries(self, bucket: BucketId, files: Iterable[DataFile]) -> dict[str, Entry]:
        """The manifest entries of some files of a bucket by file name, without statistics."""
        names = [file.name for file in files]
        return {entry.file.name: entry for entry in entries_of(self._named(bucket, names))}

    def unusual(self, bucket: BucketId) -> list[Entry]:
        """The entries of a bucket's files that have more to them than rows in the bucket's directory."""
        files = self.files.slice(*self.spans[bucket])
        is_usual = files[_USUAL]
        return [] if is_usual.all() else entries_of(files.filter(~is_usual))

    def names(self, bucket: BucketId) -> frozenset[tuple[str, int]]:
        """Name and level of each live file of a bucket; of none if it has none."""
        files = self.files.slice(*self.spans.get(bucket, (0, 0)))
        return frozenset(zip(files["name"].to_list(), files["level"].to_list(), strict=True))

    def fingerprint(self, bucket: BucketId) -> str:
        """Identifies the live files of a bucket."""
        return fingerprint_of(self.names(bucket))

    def _named(self, bucket: BucketId, names: Sequence[str]) -> pl.DataFrame:
        files = self.files.slice(*self.spans[bucket])
        return files if len(names) == len(files) else files.filter(files["name"].is_in(names))

    def resting(self, policy: CompactionPolicy, strategy: Strategy, now: datetime) -> dict[BucketId, str]:
        """The buckets that certainly rest, with the reason; others have to be planned to know."""
        statistics = bucket_statistics(self.files, policy.small_file_size)
        reasons = resting_reasons(statistics, policy, strategy, now)
        known = statistics.select(PLACE).with_columns(reasons.alias("reason")).drop_nulls("reason")
        ids = {(bucket.partition, bucket.bucket): bucket for bucket in self.spans}
        return {ids[partition, bucket]: reason for partition, bucket, reason in known.iter_rows()}


_USUAL = "is_usual"
_LACKS = ("embedded_index", "external_path", "first_row_id", "write_columns")
"""Columns that are null for a usual file."""


def _is_usual() -> pl.Expr:
    """Whether nothing that `evolution.file_problems` or `table` would look at is special about a file."""
    has_format = pl.col("name").str.split(".").list.last().is_in(list(FORMATS))
    lacks = pl.all_horizontal(pl.col(name).is_null() for name in _LACKS)
    return has_format & lacks & (pl.col("extra_files").list.len() == 0) & pl.col("source").is_not_null()


def by_bucket(
    files: pl.DataFrame, bucket_id: Callable[[bytes, int], BucketId]
) -> tuple[pl.DataFrame, dict[BucketId, tuple[int, int]]]:
    """Live files with those of each bucket in a row, and the first row and number of rows of each."""
    grouped = files.select(PLACE).with_row_index("row").group_by(PLACE, maintain_order=True).agg("row")
    lengths = grouped["row"].list.len()
    starts = lengths.cum_sum() - lengths
    ids = (bucket_id(*place) for place in grouped.select(PLACE).iter_rows())
    spans = dict(zip(ids, zip(starts.to_list(), lengths.to_list(), strict=True), strict=True))
    ordered = files[grouped["row"].explode(empty_as_null=False)] if spans else files
    return ordered.with_columns(_is_usual().alias(_USUAL)), spans
