"""Which manifests of an Iceberg snapshot a merge rewrites, and which delete files it drops.

Called by `manifest_commit` for plans, and in each try. Manifests are merged with those of their kind and
partition spec only. If the snapshot has deletes, all its entries are read, as for a compaction, to find those
that no data file needs any more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, integers
from lithify.columns.ranks import ranks
from lithify.engine.pack.manifest_choice import (
    ManifestChoice,
    ManifestFigures,
    choose_manifests,
    is_worthwhile,
)
from lithify.errors import CorruptTable
from lithify.formats.iceberg.manifests.bounds import bound_values, is_comparable
from lithify.formats.iceberg.manifests.dropping import dangling_deletes
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.view import View
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.partition_specs import partition_fields

LEAST_DANGLING = 10
"""Number of delete files that nothing needs from which dropping them is worth a snapshot, if others stay.
"""
_UNKNOWN = -1

Place = tuple[ManifestContent, int]
"""What manifests have in common that may be merged: their kind and their partition spec."""


@dataclass(frozen=True, slots=True)
class Group:
    """The manifests of one kind and spec that are rewritten.

    Attributes:
        place: the kind and the spec.
        chosen: the manifests, in the order of the list.
        choice: their figures.
    """

    place: Place
    chosen: tuple[ManifestFile, ...]
    choice: ManifestChoice


@dataclass(frozen=True, slots=True)
class Selection:
    """What a merge rewrites of one snapshot.

    Attributes:
        groups: the manifests, in groups.
        dangling: mask of the delete files of the view that are dropped.
        is_worthwhile: whether that is worth a snapshot.
    """

    groups: tuple[Group, ...]
    dangling: Flags
    is_worthwhile: bool

    @property
    def figures(self) -> Mapping[str, int]:
        """Numbers of manifests, entries and bytes; of new manifests an estimate."""
        choices = [group.choice for group in self.groups]
        return {
            "manifests": sum(choice.count for choice in choices),
            "newManifests": sum(choice.new for choice in choices),
            "entries": sum(choice.entries for choice in choices),
            "droppedEntries": sum(choice.dropped for choice in choices),
            "danglingDeletes": int(self.dangling.sum()),
            "bytes": sum(choice.size for choice in choices),
        }


def needs_entries(manifests: Sequence[ManifestFile]) -> bool:
    """Whether some of the snapshot's manifests have deletes."""
    return any(each.content is ManifestContent.DELETES and each.may_have_live for each in manifests)


def select_manifests(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, view: View | None, target_size: int
) -> Selection:
    """Selects the manifests to rewrite of all manifests of a snapshot.

    Args:
        manifests: the manifests.
        metadata: the table's metadata.
        view: their entries; None if they have no deletes.
        target_size: bytes of a new manifest.
    """
    dangling = (
        np.zeros(0, dtype=bool)
        if view is None
        else dangling_deletes(view.data, view.deletes, metadata.unpartitioned_specs)
    )
    removed = np.zeros(len(manifests), dtype=np.int64)
    if view is not None:
        np.add.at(removed, integers(view.deletes["manifest"])[dangling], 1)
    groups = []
    for place in dict.fromkeys((each.content, each.spec_id) for each in manifests):
        of_place = np.array([(each.content, each.spec_id) == place for each in manifests])
        members = [*compress(manifests, of_place)]
        choice = choose_manifests(_figures(members, removed[of_place], metadata, place[1]), target_size)
        groups.append(Group(place, tuple(compress(members, choice.rewritten)), choice))
    entries = sum(_entries(each) for each in manifests)
    is_less = dangling.sum() > 0 and (dangling.sum() >= LEAST_DANGLING or bool(dangling.all()))
    gains = is_worthwhile([group.choice for group in groups], entries)
    return Selection(tuple(group for group in groups if group.chosen), dangling, is_less or gains)


def _figures(
    manifests: Sequence[ManifestFile], removed: Numbers, metadata: TableMetadata, spec_id: int
) -> ManifestFigures:
    low, high = _ranges(manifests, metadata, spec_id)
    is_uncounted = metadata.format_version > 1
    return ManifestFigures(
        sizes=np.array([each.length for each in manifests], dtype=np.int64),
        entries=np.array([_entries(each) for each in manifests], dtype=np.int64),
        dropped=removed + np.array([each.deleted_files or 0 for each in manifests], dtype=np.int64),
        low=low,
        high=high,
        must_change=(removed > 0)
        | np.array([not each.may_have_live or (is_uncounted and not each.is_counted) for each in manifests]),
    )


def _entries(manifest: ManifestFile) -> int:
    """The number of entries; 1 where its writer did not count."""
    counts = (manifest.added_files, manifest.existing_files, manifest.deleted_files)
    return sum(count or 0 for count in counts) or 1


def _ranges(
    manifests: Sequence[ManifestFile], metadata: TableMetadata, spec_id: int
) -> tuple[Numbers, Numbers]:
    """Ranks of the bounds of the first partition field that tells manifests apart; -1 where unknown."""
    unknown = np.full(len(manifests), _UNKNOWN, dtype=np.int64)
    try:
        fields = partition_fields(metadata, spec_id)
    except CorruptTable:  # the schema no longer has a column of an old spec
        return unknown, unknown
    for number, (_, _, kind) in enumerate(fields):
        if not is_comparable(kind):
            continue
        stored = [_bounds(each, number) for each in manifests]
        low, high = ranks(
            [bound_values(pa.array([each[side] for each in stored], pa.binary()), kind) for side in (0, 1)]
        )
        if len(set(low.tolist()) | set(high.tolist())) > 1:
            return low, high
    return unknown, unknown


def _bounds(manifest: ManifestFile, field: int) -> tuple[bytes | None, bytes | None]:
    summaries = manifest.partitions or ()
    return (summaries[field].lower, summaries[field].upper) if field < len(summaries) else (None, None)
