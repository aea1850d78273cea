"""Which manifests of a Paimon snapshot a merge rewrites: what `engine.pack.manifest_choice` asks of a list.

Called by `manifest_merge` for its plan, and in each try of its commit. Reads the manifests that remove files,
and of the others those whose partitions may have such a file; all else the manifest list tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
import pyarrow as pa
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.columns.column_groups import Numbers, listed
from lithify.engine.pack.manifest_choice import (
    ManifestChoice,
    ManifestFigures,
    choose_manifests,
    is_worthwhile,
)
from lithify.formats.paimon.manifests.manifest_lists import from_pypaimon
from lithify.formats.paimon.manifests.manifest_plan import (
    may_hold,
    partition_ranges,
    ranks_of_ranges,
)
from lithify.formats.paimon.manifests.manifest_sorting import removed_files, staying
from lithify.formats.paimon.manifests.manifests import Manifests

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ManifestSelection:
    """The manifests of one snapshot that are rewritten.

    Attributes:
        chosen: these manifests, in the order of the list.
        kept: the others, likewise.
        choice: their figures.
        is_worthwhile: whether rewriting them is worth a snapshot.
    """

    chosen: tuple[ManifestFileMeta, ...]
    kept: tuple[ManifestFileMeta, ...]
    choice: ManifestChoice
    is_worthwhile: bool


def select_manifests(
    manifests: Manifests, metas: Sequence[ManifestFileMeta], target_size: int
) -> ManifestSelection:
    """Selects the manifests to rewrite of all manifests of a snapshot.

    Raises:
        MissingFile: a manifest is gone; the snapshot may have expired concurrently.
        CorruptTable: a manifest cannot be read.
    """
    entries = np.array([meta.num_added_files + meta.num_deleted_files for meta in metas], dtype=np.int64)
    dropped = _dropped(manifests, metas)
    low, high = _ranges(manifests, metas)
    figures = ManifestFigures(
        sizes=np.array([meta.file_size for meta in metas], dtype=np.int64),
        entries=entries,
        dropped=dropped,
        low=low,
        high=high,
        must_change=dropped > 0,
    )
    choice = choose_manifests(figures, target_size)
    return ManifestSelection(
        chosen=tuple(compress(metas, choice.rewritten)),
        kept=tuple(compress(metas, ~choice.rewritten)),
        choice=choice,
        is_worthwhile=is_worthwhile([choice], int(entries.sum())),
    )


def _dropped(manifests: Manifests, metas: Sequence[ManifestFileMeta]) -> Numbers:
    """How many entries of each manifest vanish: those of removed files."""
    found = np.zeros(len(metas), dtype=np.int64)
    removed = removed_files(manifests, metas)
    if not len(removed):
        return found
    affected = [place for place, meta in enumerate(metas) if _may_change(manifests, meta, removed)]
    frames = manifests.frames([metas[place] for place in affected])
    next(frames)  # an empty one
    for place, frame in zip(affected, frames, strict=True):
        found[place] = len(frame) - len(staying(frame, removed))
    return found


def _may_change(manifests: Manifests, meta: ManifestFileMeta, removed: pa.Table) -> bool:
    if meta.num_deleted_files > 0:
        return True
    types = manifests.partition_types
    ranges = partition_ranges(dict.fromkeys(listed(removed["partition"].unique()), 1), types)
    return may_hold(meta.num_added_files, from_pypaimon(meta.partition_stats), ranges, types)


def _ranges(manifests: Manifests, metas: Sequence[ManifestFileMeta]) -> tuple[Numbers, Numbers]:
    """Ranks of the least and the greatest partition of each manifest; of the bucket without partitions."""
    if manifests.partition_types:
        return ranks_of_ranges(
            [from_pypaimon(meta.partition_stats) for meta in metas], manifests.partition_types
        )
    low = [_UNKNOWN if meta.min_bucket is None else max(0, meta.min_bucket) for meta in metas]
    high = [_UNKNOWN if meta.max_bucket is None else max(0, meta.max_bucket) for meta in metas]
    return np.array(low, dtype=np.int64), np.array(high, dtype=np.int64)
