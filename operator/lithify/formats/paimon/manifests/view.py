"""The live files of some buckets in one pinned snapshot, as columns.

Created by `table`, read by a run's planner and the command line. Objects are created for a bucket only on
demand: most buckets of a large table have no work, and one with damaged metadata must not block the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import (
    ColumnGroups,
    Flags,
    Numbers,
    flagged,
    flags,
    is_null,
    is_one_of,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.columns.order_key import OrderKey
from lithify.files.names import FORMATS
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.file_indexes.model import SUFFIX
from lithify.formats.paimon.manifests.entries import ManifestEntry
from lithify.formats.paimon.manifests.entry_objects import data_files, entries_of
from lithify.formats.paimon.manifests.index_manifests import Indexes
from lithify.formats.paimon.manifests.partition_layouts import PartitionLayout
from lithify.formats.paimon.model import PLACE, Bucket, BucketId, DataFile
from lithify.formats.paimon.names.snapshot_ids import snapshot_id
from lithify.formats.protocol.model import SnapshotId, fingerprint_of


@dataclass(frozen=True, slots=True)
class View:
    """The live files of the selected buckets, and the index types of the snapshot.

    Attributes:
        snapshot_number: the snapshot.
        commit_millis: when it was committed.
        indexes: its index files; deletion vectors of the selected buckets only.
        files: the files, a row each, as narrow columns (see `entry_columns`), with `VECTOR_COLUMNS`, and
            whether they are usual; those of a bucket are adjacent.
        spans: first row and number of rows of each bucket in `files`.
        order_keys: converts key bounds to order keys.
        layouts: by partition, the real buckets of partitions that have postponed rows.
        is_due: whether all buckets are known to have work.
    """

    snapshot_number: int
    commit_millis: int
    indexes: Indexes
    files: pa.Table
    spans: Mapping[BucketId, tuple[int, int]]
    order_keys: Callable[[pa.Array], Sequence[OrderKey]]
    layouts: Mapping[bytes, PartitionLayout] = field(default_factory=dict)
    is_due: bool = False

    @property
    def snapshot_id(self) -> SnapshotId:
        """The snapshot's id outside the adapter."""
        return snapshot_id(self.snapshot_number)

    def only(self, due: Collection[BucketId]) -> View:
        """The same snapshot with some of the buckets, all of which have work."""
        return replace(self, spans={bucket: self.spans[bucket] for bucket in due}, is_due=True)

    def vectors(self, bucket: BucketId) -> tuple[VectorIndex, ...]:
        """The index files with the deletion vectors of a bucket."""
        return self.indexes.vectors.get((bucket.partition, bucket.bucket), ())

    @property
    def bucket_ids(self) -> list[BucketId]:
        """The buckets that have live files, by partition path and bucket number."""
        return sorted(self.spans, key=lambda bucket: (bucket.path.rpartition("/")[0], bucket.bucket))

    def bucket(self, bucket: BucketId, wanted: Callable[[pa.Table], Numbers] | None = None) -> Bucket:
        """The live files of a bucket.

        Args:
            bucket: the bucket.
            wanted: finds the rows of the files that are needed; None for all files.

        Raises:
            CorruptTable: a key bound is null.
            UnsupportedTable: a key bound has no order.
        """
        rows = self.files.slice(*self.spans[bucket])
        total = rows["total_buckets"][0].as_py()
        if wanted is None:
            files = data_files(rows, self.order_keys)
        else:
            numbers = wanted(rows)
            files = data_files(taken(rows, numbers), self.order_keys, numbers.tolist())
        return Bucket(bucket, files, total)

    def entries(self, bucket: BucketId, files: Sequence[DataFile]) -> list[ManifestEntry]:
        """The manifest entries of some files of a bucket, in their order, without statistics."""
        return entries_of(self._rows(bucket, files))

    def unusual(self, bucket: BucketId, files: Sequence[DataFile]) -> list[ManifestEntry]:
        """The entries of the given files that are more than plain rows in the bucket's directory."""
        rows = self._rows(bucket, files)
        is_usual = flags(rows[_USUAL])
        return [] if is_usual.all() else entries_of(flagged(rows, ~is_usual))

    def names(self, bucket: BucketId) -> frozenset[tuple[str, int]]:
        """Name and level of each live file of a bucket; empty if it has none."""
        files = self.files.slice(*self.spans.get(bucket, (0, 0)))
        return frozenset(zip(listed(files["name"]), listed(files["level"]), strict=True))

    def fingerprint(self, bucket: BucketId) -> str:
        """Identifies the live files of a bucket."""
        return fingerprint_of(self.names(bucket))

    def _rows(self, bucket: BucketId, files: Sequence[DataFile]) -> pa.Table:
        """The rows of some files of a bucket; file handles count from the bucket's first row."""
        handles = np.array([file.handle for file in files], np.int64)
        return taken(self.files.slice(*self.spans[bucket]), handles)

    def buckets_of(self, statistics: pa.Table, chosen: Flags) -> frozenset[BucketId]:
        """The buckets of some rows of `bucket_statistics`."""
        places = flagged(statistics.select(PLACE), chosen)
        found = set(zip(*map(listed, places.columns), strict=True))
        return frozenset(bucket for bucket in self.spans if (bucket.partition, bucket.bucket) in found)


_USUAL = "is_usual"
_LACKS = ("external_path", "first_row_id", "write_columns")
"""Columns that are null for a usual file."""


def _is_usual(files: pa.Table) -> pa.Array:
    """Whether a file has nothing special that `evolution.file_problems` or `table` would check."""
    name = whole(files["name"])
    endings = [flags(pc.ends_with(name, f".{ending}")) for ending in FORMATS]
    has_format = np.any([is_one_of(name, FORMATS), *endings], axis=0)
    lacks = [is_null(files[column]) for column in _LACKS]
    beside = pc.binary_join(whole(files["extra_files"]), "\0")
    has_no_more = flags(pc.match_substring_regex(beside, rf"^([^\x00]*{re.escape(SUFFIX)})?$"))
    return pa.array(np.all([has_format, *lacks, has_no_more, ~is_null(files["source"])], axis=0))


def by_bucket(
    files: pa.Table, bucket_id: Callable[[bytes, int], BucketId]
) -> tuple[pa.Table, dict[BucketId, tuple[int, int]]]:
    """Live files sorted by bucket, and the first row and number of rows of each bucket."""
    groups = ColumnGroups(files, PLACE)
    places = taken(files.select(PLACE), groups.firsts)
    ids = map(bucket_id, *map(listed, places.columns))
    spans = dict(zip(ids, zip(groups.starts.tolist(), groups.sizes.tolist(), strict=True), strict=True))
    ordered = taken(files, groups.order)
    return with_columns(ordered, **{_USUAL: _is_usual(ordered)}), spans
