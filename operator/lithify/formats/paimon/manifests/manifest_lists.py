"""Manifest lists: the manifests of a snapshot, with their partition and bucket ranges.

Called by `manifests`. Reads the lists of every Paimon release since 0.4: fields were added over time (buckets
and levels in 1.1, row ids in 1.4), and fields that a list lacks are None.
"""

from __future__ import annotations

from typing import Any

from pypaimon.manifest.schema.manifest_file_meta import MANIFEST_FILE_META_SCHEMA, ManifestFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.binary_row import BinaryRow

from lithify.files.avro.metadata_files import unpack
from lithify.formats.paimon.manifests.entries import Stats, check_version
from lithify.io.file_names import check_file_name

_VERSION = 2
"""The only version since the first release that Java 1.4 reads; Java refuses all others."""

_MOST_MANIFESTS = 200_000
"""Maximum number of a snapshot's manifests; a table of a million files has twenty, and writers merge them."""
_MOST_ENTRIES = 1 << 40
"""Maximum number of entries that a list may state for a manifest."""

_REQUIRED = ("_FILE_NAME", "_FILE_SIZE", "_NUM_ADDED_FILES", "_NUM_DELETED_FILES", "_SCHEMA_ID")
_OPTIONAL = {
    "min_bucket": "_MIN_BUCKET",
    "max_bucket": "_MAX_BUCKET",
    "min_level": "_MIN_LEVEL",
    "max_level": "_MAX_LEVEL",
    "min_row_id": "_MIN_ROW_ID",
    "max_row_id": "_MAX_ROW_ID",
    "total_buckets": "_TOTAL_BUCKETS",
    "extra_files": "_EXTRA_FILES",
}


def read_list(content: bytes) -> list[ManifestFileMeta]:
    """Reads the manifests of a list, in its order.

    Raises:
        ValueError, LookupError, EOFError: it is not a manifest list, a damaged one, or of another version.
    """
    found: list[ManifestFileMeta] = []
    for record in unpack(content, MANIFEST_FILE_META_SCHEMA).records():
        found.append(_meta(record))
        if len(found) > _MOST_MANIFESTS:
            raise ValueError(f"it names more than {_MOST_MANIFESTS} manifests")
    return found


def _meta(record: dict[str, Any]) -> ManifestFileMeta:
    check_version(record["_VERSION"], _VERSION)
    stats = record["_PARTITION_STATS"]
    required = [record[name] for name in _REQUIRED]
    if stats is None or None in required:
        raise ValueError("a field is null that must not be")
    name, size, added, deleted, schema_id = required
    check_file_name(name)
    if not (0 <= added <= _MOST_ENTRIES and 0 <= deleted <= _MOST_ENTRIES):
        raise ValueError(f"{name} is said to add {added} files and remove {deleted}")
    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=added,
        num_deleted_files=deleted,
        partition_stats=_stats(stats),
        schema_id=schema_id,
        **{name: record.get(field) for name, field in _OPTIONAL.items()},
    )


def _stats(record: dict[str, Any]) -> SimpleStats:
    low, high = (BinaryRow(record[name], []) for name in ("_MIN_VALUES", "_MAX_VALUES"))
    return SimpleStats(low, high, record["_NULL_COUNTS"])


def from_pypaimon(stats: SimpleStats) -> Stats:
    """Statistics from the form of pypaimon's reader of manifest lists."""
    counts = stats.null_counts
    return Stats(stats.min_values.data, stats.max_values.data, None if counts is None else tuple(counts))
