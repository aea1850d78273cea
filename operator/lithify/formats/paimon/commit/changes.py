"""The changes of a run to a bucket or a partition, as manifest entries.

Made by steps, and by `dropping`. `conflict_check` decides whether the newest snapshot admits them;
`committer` commits them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from lithify.formats.paimon.deletion_vectors.maintaining import NO_VECTORS, VectorChange
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.model import POSTPONED, BucketId
from lithify.formats.protocol.results import TaskOutputs


@dataclass(frozen=True, slots=True)
class BucketChange:
    """The outcome of one unit.

    Attributes:
        bucket: the bucket.
        removed: entries of the files that were rewritten; statistics may be missing (see `found_in`).
        upgraded: entries of the files that only change level.
        output_level: new level of upgraded files.
        outputs: the new files.
        vectors: the bucket's deletion vectors; they include what tasks return as `outputs.index`.
    """

    bucket: BucketId
    removed: tuple[ManifestEntry, ...]
    upgraded: tuple[ManifestEntry, ...]
    output_level: int
    outputs: TaskOutputs
    vectors: VectorChange | SharedVectorChange = NO_VECTORS

    @property
    def added(self) -> tuple[FileMeta, ...]:
        """The new data files."""
        return self.outputs.data

    @property
    def placed(self) -> tuple[tuple[BucketId, FileMeta], ...]:
        """All new files, those of the changelog included, each with its bucket."""
        return tuple((self.bucket, file) for file in (*self.outputs.data, *self.outputs.changelog))

    @property
    def inputs(self) -> tuple[ManifestEntry, ...]:
        """Every file that must still be live."""
        return (*self.removed, *self.upgraded)

    def found_in(self, live: Iterable[ManifestEntry]) -> BucketChange:
        """The same change with its inputs as they are in a snapshot, statistics included.

        Raises:
            KeyError: an input is not among the live files; see `validate_inputs_live`.
        """
        found = {entry.identity: entry for entry in live}
        return replace(
            self,
            removed=tuple(found[entry.identity] for entry in self.removed),
            upgraded=tuple(found[entry.identity] for entry in self.upgraded),
        )

    def entries(self) -> list[ManifestEntry]:
        """The manifest entries, deletions first."""
        place = self.inputs[0]
        after = [entry.file.upgraded(self.output_level) for entry in self.upgraded]
        return [
            *(replace(entry, kind=DELETE) for entry in self.inputs),
            *(replace(place, kind=ADD, file=file) for file in (*after, *self.added)),
        ]

    def changelog_entries(self) -> list[ManifestEntry]:
        """The entries of the changelog's manifests."""
        place = self.inputs[0]
        return [replace(place, kind=ADD, file=file) for file in self.outputs.changelog]


@dataclass(frozen=True, slots=True)
class DroppedPartition:
    """A partition of which every file goes: Paimon's `dropPartitions`.

    Attributes:
        bucket: the place of postponed rows in it, which stands for the partition.
        before_millis: local time before which all of its files must have been written; None for any.
        has_postponed: whether postponed rows go, too; Java drops them in tables that have such buckets.
        removed: entries of its files; see `found_in`.
    """

    bucket: BucketId
    before_millis: int | None = None
    has_postponed: bool = False
    removed: tuple[ManifestEntry, ...] = ()

    @property
    def placed(self) -> tuple[tuple[BucketId, FileMeta], ...]:
        """It adds no files."""
        return ()

    def found_in(self, live: Iterable[ManifestEntry]) -> DroppedPartition:
        """The same change with the files that a snapshot has there."""
        found = (entry for entry in live if self.has_postponed or entry.bucket != POSTPONED)
        return replace(self, removed=tuple(found))

    def entries(self) -> list[ManifestEntry]:
        """The manifest entries."""
        return [replace(entry, kind=DELETE) for entry in self.removed]
