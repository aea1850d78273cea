"""Which manifests of a snapshot are merged: Paimon's `ManifestFileMerger`, without its I/O.

Called by `manifest_merging`. Pure. A merge is either full or minor. A *full* merge is due when the total size
of manifests that are small or have deletions reaches the threshold; afterwards no deletion is left, and
manifests whose partitions no deletion touches are unchanged. A *minor* merge joins adjacent manifests up to
the target size, and the rest once there are enough of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol, TypeVar

import numpy as np

from lithify.columns.column_groups import Numbers
from lithify.columns.order import encode_key, total_order
from lithify.columns.order_key import OrderKey
from lithify.files.types import ColumnType, Raw, order_parts
from lithify.formats.paimon.manifests.entries import Stats
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import decode_row, encode_row

_NULL_ORDER = OrderKey(b"")


class ListedManifest(Protocol):
    """The fields of a manifest list entry that planning uses."""

    file_size: int
    num_added_files: int
    num_deleted_files: int


Manifest = TypeVar("Manifest", bound=ListedManifest)


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """Minimum, maximum and null count of a partition column over some entries.

    Minimum and maximum are None if all values are null, and for binary columns, for which Paimon keeps no
    bounds.
    """

    low: Raw
    high: Raw
    nulls: int


def must_change(manifest: ListedManifest, options: ManifestOptions) -> bool:
    """Whether a full merge rewrites a manifest in any case."""
    return manifest.num_deleted_files > 0 or manifest.file_size < options.target_size


def full_is_due(manifests: Iterable[ListedManifest], options: ManifestOptions) -> bool:
    """Whether the total size of manifests that must change reaches the threshold of a full merge."""
    size = sum(manifest.file_size for manifest in manifests if must_change(manifest, options))
    return size >= options.full_threshold


def minor_groups(manifests: Sequence[Manifest], options: ManifestOptions) -> list[list[Manifest]]:
    """Adjacent manifests that a minor merge joins; a group of one is left unchanged."""
    groups: list[list[Manifest]] = []
    group: list[Manifest] = []
    size = 0
    for manifest in manifests:
        group.append(manifest)
        size += manifest.file_size
        if size >= options.target_size:
            groups.append(group)
            group, size = [], 0
    if len(group) >= options.merge_min_count:
        return [*groups, group]
    return [*groups, *([manifest] for manifest in group)]


def partition_ranges(partitions: Mapping[bytes, int], types: Sequence[ColumnType]) -> list[ColumnRange]:
    """The range of each partition column.

    Args:
        partitions: BinaryRow bytes, and how many entries have them.
        types: types of the partition columns.
    """
    rows = [(decode_row(partition, types), count) for partition, count in partitions.items()]
    return [
        _range([(row[field], count) for row, count in rows], column) for field, column in enumerate(types)
    ]


def partition_order(partitions: Sequence[bytes], types: Sequence[ColumnType]) -> list[int]:
    """The places of distinct partitions (BinaryRow bytes) in the order of their values, nulls first."""

    def key(place: int) -> tuple[OrderKey, ...]:
        return tuple(map(_null_or_order, types, decode_row(partitions[place], types)))

    return sorted(range(len(partitions)), key=key)


def ranks_of_ranges(stats: Sequence[Stats], types: Sequence[ColumnType]) -> tuple[Numbers, Numbers]:
    """The bounds of the first partition column that tells manifests apart, as comparable numbers.

    Args:
        stats: partition ranges of manifests.
        types: types of the partition columns, at least one.

    Returns:
        The ranks of the least and the greatest value of each manifest; -1 where one is unknown or null.
    """
    bounds = [(_bounds(each.min_values, types), _bounds(each.max_values, types)) for each in stats]
    columns = [[(low[column], high[column]) for low, high in bounds] for column in range(len(types))]
    pairs = next((each for each in columns if len(set(chain(*each))) > 1), columns[0])
    ranks = {key: rank for rank, key in enumerate(sorted(set(chain(*pairs))))}
    ranks[_NULL_ORDER] = -1
    found = np.array([[ranks[low], ranks[high]] for low, high in pairs], dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _bounds(row: bytes, types: Sequence[ColumnType]) -> tuple[OrderKey, ...]:
    try:
        return tuple(map(_null_or_order, types, decode_row(row, types)))
    except ValueError:
        return (_NULL_ORDER,) * len(types)


def as_stats(ranges: Sequence[ColumnRange], types: Sequence[ColumnType]) -> Stats:
    """The ranges in the form of a manifest list."""
    return Stats(
        min_values=encode_row([column.low for column in ranges], types),
        max_values=encode_row([column.high for column in ranges], types),
        null_counts=tuple(column.nulls for column in ranges),
    )


def may_hold(entries: int, stats: Stats, deleted: Sequence[ColumnRange], types: Sequence[ColumnType]) -> bool:
    """Whether a manifest with this many entries may have an entry in a partition with deletions.

    Like Paimon's `PartitionPredicate`, column by column; true if nothing is known.
    """
    try:
        lows, highs = decode_row(stats.min_values, types), decode_row(stats.max_values, types)
    except ValueError:
        return True
    counts = stats.null_counts if len(stats.null_counts or ()) == len(types) else None
    return all(
        _meet(entries, (low, high, nulls), column_range, column)
        for low, high, nulls, column_range, column in zip(
            lows, highs, counts or (None,) * len(types), deleted, types, strict=True
        )
    )


def _range(values: Sequence[tuple[Raw, int]], column: ColumnType) -> ColumnRange:
    nulls = sum(count for value, count in values if value is None)
    known = [value for value, _ in values if value is not None]
    if not known or column.is_binary:  # Java does not order byte arrays
        return ColumnRange(None, None, nulls)
    ordered = sorted(known, key=lambda value: _order(column, value))
    return ColumnRange(ordered[0], ordered[-1], nulls)


def _meet(entries: int, there: tuple[Raw, Raw, int | None], deleted: ColumnRange, column: ColumnType) -> bool:
    low, high, nulls = there
    has_nulls = nulls is None or nulls > 0
    if nulls != entries and (low is None or high is None):
        return True  # no statistics
    if deleted.low is None or deleted.high is None:
        return column.is_binary or has_nulls
    if deleted.nulls and has_nulls:
        return True
    if low is None or high is None:
        return False  # only nulls
    return _order(column, deleted.low) <= _order(column, high) and _order(column, low) <= _order(
        column, deleted.high
    )


def _null_or_order(column: ColumnType, value: Raw) -> OrderKey:
    return _NULL_ORDER if value is None else _order(column, value)


def _order(column: ColumnType, value: Raw) -> OrderKey:
    parts = (total_order(value),) if isinstance(value, float) else order_parts(column, value)
    return encode_key(parts)
