"""The move of postponed rows to their real buckets, as manifest entries.

Made by steps. `conflict_check` decides whether the newest snapshot admits it; `committer` commits it. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.model import BucketId

Live = Mapping[int, Sequence[ManifestEntry]]
"""The live files of a partition, by bucket."""


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The outcome of a unit of postponed rows.

    Attributes:
        bucket: the postponed bucket.
        removed: entries of its files that were read; statistics may be missing (see `found_in`).
        moved: the new files, each with its bucket.
        count: number of real buckets of the partition.
        highest: the highest sequence number in each real bucket that had files when the unit was planned.
    """

    bucket: BucketId
    removed: tuple[ManifestEntry, ...]
    moved: tuple[tuple[BucketId, FileMeta], ...]
    count: int
    highest: Mapping[int, int]

    @property
    def inputs(self) -> tuple[ManifestEntry, ...]:
        """Every file that must still be live."""
        return self.removed

    @property
    def placed(self) -> tuple[tuple[BucketId, FileMeta], ...]:
        """The new files, each with its bucket."""
        return self.moved

    def found_in(self, live: Live) -> MovedRows:
        """The same change with its inputs as they are in a snapshot, statistics included.

        Raises:
            KeyError: an input is not among the live files; see `validate_inputs_postponed`.
        """
        found = {entry.identity: entry for entry in live[self.bucket.bucket]}
        return replace(self, removed=tuple(found[entry.identity] for entry in self.removed))

    def entries(self) -> list[ManifestEntry]:
        """The manifest entries, deletions first."""
        place = self.removed[0]
        return [
            *(replace(entry, kind=DELETE) for entry in self.removed),
            *(
                replace(place, kind=ADD, bucket=bucket.bucket, total_buckets=self.count, file=file)
                for bucket, file in self.moved
            ),
        ]
