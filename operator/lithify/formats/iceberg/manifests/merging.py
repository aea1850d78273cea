"""Which manifests of a snapshot are merged, as the table's properties say.

Called by the commit. Follows the rules of Iceberg's `ManifestMergeManager`: manifests keep their order, those
of one spec are packed from the end, and the bin with the newest manifest is merged only once it has enough.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.properties import is_true, number_in

TARGET_SIZE = "commit.manifest.target-size-bytes"
MIN_COUNT = "commit.manifest.min-count-to-merge"
ENABLED = "commit.manifest-merge.enabled"


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """How manifests are merged; the defaults are Iceberg's.

    Attributes:
        target_size: bytes of a merged manifest.
        min_count: number of manifests from which the bin with the newest one is merged.
        enabled: whether any are.
    """

    target_size: int = 8 << 20
    min_count: int = 100
    enabled: bool = True


def merge_options(properties: Mapping[str, str]) -> MergeOptions:
    """Reads the properties of a table.

    Raises:
        InvalidOption: one of them is no number.
    """
    default = MergeOptions()
    return MergeOptions(
        number_in(properties, TARGET_SIZE, default.target_size),
        number_in(properties, MIN_COUNT, default.min_count),
        is_true(properties, ENABLED, "true"),
    )


def merge_plan(manifests: Sequence[ManifestFile], options: MergeOptions) -> list[tuple[ManifestFile, ...]]:
    """The manifests of a snapshot in the order of its list; several in one group become one.

    Args:
        manifests: manifests of data files, or of deletes; new ones first.
        options: the table's options.
    """
    if not options.enabled or not manifests:
        return [(each,) for each in manifests]
    groups: dict[int, list[ManifestFile]] = {}
    for each in manifests:
        groups.setdefault(each.spec_id, []).append(each)
    found: list[tuple[ManifestFile, ...]] = []
    for spec_id in sorted(groups, reverse=True):
        for packed in _packed_from_end(groups[spec_id], options.target_size):
            is_newest = any(each is manifests[0] for each in packed)
            if is_newest and len(packed) < options.min_count:
                found += [(each,) for each in packed]
            else:
                found.append(packed)
    return found


def gathered(manifests: Sequence[ManifestFile], options: MergeOptions) -> list[tuple[ManifestFile, ...]]:
    """Manifests of which nothing stays, those of one spec together: each file costs a commit a request.

    The next commit drops them, so that it does not matter whether the table's manifests are merged otherwise.

    Args:
        manifests: the manifests, in any order.
        options: the table's options, of which the size counts.
    """
    groups: dict[int, list[ManifestFile]] = {}
    for each in manifests:
        groups.setdefault(each.spec_id, []).append(each)
    return [packed for group in groups.values() for packed in _packed_from_end(group, options.target_size)]


def _packed_from_end(manifests: Sequence[ManifestFile], target: int) -> list[tuple[ManifestFile, ...]]:
    """Adjacent manifests in bins of at most `target` bytes; the first bin is the one that is not full."""
    bins: list[list[ManifestFile]] = []
    size = 0
    for each in reversed(manifests):
        if bins and size + each.length <= target:
            bins[-1].append(each)
            size += each.length
        else:
            bins.append([each])
            size = each.length
    return [tuple(reversed(each)) for each in reversed(bins)]
