"""Selects manifest entries, and excludes manifests that cannot contain selected ones.

Created by `table` and `live_buckets`, used by `manifests`. Pure. A manifest list has the partition and bucket
ranges of each manifest, so that most manifests of a large table need not be read to look at a few buckets
(Paimon's `ManifestsReader`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

import pyarrow as pa
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.manifest_lists import from_pypaimon
from lithify.formats.paimon.manifests.manifest_plan import may_hold, partition_ranges

Place = tuple[bytes, int]
"""A partition (BinaryRow bytes) and a bucket number."""


class EntrySelection(Protocol):
    """Entries of some partitions and buckets, possibly of some files only."""

    @property
    def names(self) -> pa.Array | None:
        """The names of the files whose entries are selected; None for all files."""
        ...

    def may_be_in(self, manifest: ManifestFileMeta) -> bool:
        """Whether a manifest may contain selected entries, by its ranges in the list."""
        ...

    def holds(self, partition: bytes, bucket: int) -> bool:
        """Whether entries of this partition (BinaryRow bytes) and bucket are selected."""
        ...


class Everything:
    """All entries."""

    names: pa.Array | None = None

    def may_be_in(self, manifest: ManifestFileMeta) -> bool:
        """Always true."""
        del manifest
        return True

    def holds(self, partition: bytes, bucket: int) -> bool:
        """Always true."""
        del partition, bucket
        return True


EVERYTHING = Everything()


class Matching(Everything):
    """Entries whose partition and bucket satisfy a predicate; ranges in manifest lists cannot decide it."""

    def __init__(self, predicate: Callable[[bytes, int], bool]) -> None:
        self._predicate = predicate

    def holds(self, partition: bytes, bucket: int) -> bool:
        """The result of the predicate."""
        return self._predicate(partition, bucket)


class ChosenBuckets:
    """Entries of some buckets.

    Args:
        places: the buckets.
        types: types of the partition columns.
        whole: partitions of these buckets of which all buckets are selected.
        names: the files whose entries are selected; None for all.
    """

    def __init__(
        self,
        places: Collection[Place],
        types: Sequence[ColumnType],
        whole: Collection[bytes] = (),
        names: Collection[str] | None = None,
    ) -> None:
        self.names: pa.Array | None = None if names is None else pa.array([*names], pa.string())
        self._places = frozenset(places)
        self._types = types
        self._whole = frozenset(whole)
        self._partitions = partition_ranges({partition: 1 for partition, _ in self._places}, types)
        self._buckets = sorted(bucket for _, bucket in self._places)

    def may_be_in(self, manifest: ManifestFileMeta) -> bool:
        """Whether its partition and bucket ranges overlap those of the chosen buckets."""
        if not self._places:
            return False
        low, high = manifest.min_bucket, manifest.max_bucket
        is_known = low is not None and high is not None and not self._whole
        if is_known and (self._buckets[-1] < low or self._buckets[0] > high):
            return False
        entries = manifest.num_added_files + manifest.num_deleted_files
        return may_hold(entries, from_pypaimon(manifest.partition_stats), self._partitions, self._types)

    def holds(self, partition: bytes, bucket: int) -> bool:
        """Whether it is one of the chosen buckets."""
        return (partition, bucket) in self._places or partition in self._whole
