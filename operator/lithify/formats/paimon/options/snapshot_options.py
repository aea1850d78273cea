"""Table options of snapshots: how they are committed, how manifests are written.

Called by `table_options`; how long they are kept is read by `retention_options`. Names and defaults are those
of Paimon's CoreOptions.
"""

from __future__ import annotations

from dataclasses import dataclass

from lithify.engine.commit.patience import Patience
from lithify.formats.paimon.options.option_reader import OptionReader


@dataclass(frozen=True, slots=True)
class ManifestOptions:
    """How manifests are written and merged. Sizes in bytes.

    Attributes:
        compression: Avro codec by Paimon's name, lower case.
        target_size: size at which manifests roll, and up to which adjacent ones are merged.
        merge_min_count: number of small manifests at the end of the list that are merged whatever their size.
        full_threshold: total size of small manifests and those with deletions at which all are merged.
        drop_deleted_statistics: whether entries of removed files have no column statistics.
    """

    compression: str = "zstd"
    target_size: int = 8 << 20
    merge_min_count: int = 30
    full_threshold: int = 16 << 20
    drop_deleted_statistics: bool = False


def read_commit_options(reader: OptionReader) -> Patience:
    """Reads how commits are retried.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    return Patience(
        max_retries=reader.integer("commit.max-retries", 10, low=0),
        min_wait=reader.duration("commit.min-retry-wait", 10) / 1000,
        max_wait=reader.duration("commit.max-retry-wait", 10_000) / 1000,
        timeout=reader.duration("commit.timeout", 600_000) / 1000,
    )


def read_manifest_options(reader: OptionReader) -> ManifestOptions:
    """Reads how manifests are written and merged.

    Raises:
        InvalidOption: a value cannot be parsed.
    """
    default = ManifestOptions()
    return ManifestOptions(
        compression=reader.text("manifest.compression", default.compression).lower(),
        target_size=reader.size("manifest.target-file-size", default.target_size),
        merge_min_count=reader.integer("manifest.merge-min-count", default.merge_min_count),
        full_threshold=reader.size("manifest.full-compaction-threshold-size", default.full_threshold, low=1),
        drop_deleted_statistics=reader.boolean("manifest.delete-file-drop-stats", default=False),
    )
