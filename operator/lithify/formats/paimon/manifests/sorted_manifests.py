"""Writes entries that are encoded already as manifests that roll at a size, by columns.

Called by `manifest_sorting`. What a manifest list says of each manifest is computed from the columns beside
the entries; it is what `manifest_writer` says of the same entries, which writes the few of a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.manifest import avro_codec
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.columns.column_groups import integers, listed, whole
from lithify.files.avro.container import compress, new_header
from lithify.files.avro.encoding import encoded
from lithify.files.avro.rolling_container import RollingContainer
from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.encoded_entries import ENTRY
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.manifest_plan import as_stats, partition_ranges
from lithify.formats.paimon.manifests.manifest_writer import BLOCK_BYTES, to_pypaimon
from lithify.formats.paimon.options.snapshot_options import ManifestOptions

_ZSTD_LEVEL = 3
"""That of the libraries with which commits write manifests."""


class SortedManifests:
    """Writes `manifest-<prefix>-<n>`.

    Args:
        flush: writes a file of a name; raises `StorageError`.
        prefix: distinguishes the files from those of other commits.
        types: types of the partition columns.
        options: codec and target size.
    """

    def __init__(
        self,
        flush: Callable[[str, bytes], None],
        prefix: str,
        types: Sequence[ColumnType],
        options: ManifestOptions,
    ) -> None:
        self._flush = flush
        self._prefix = prefix
        self._types = types
        self._metas: list[ManifestFileMeta] = []
        self._pending: list[pa.Table] = []
        codec = avro_codec(options.compression)
        self._container = RollingContainer(
            partial(new_header, MANIFEST_ENTRY_SCHEMA, codec),
            partial(compress, codec, zstd_level=_ZSTD_LEVEL),
            BLOCK_BYTES,
            options.target_size,
            self._store,
        )

    def write(self, entries: pa.Table) -> None:
        """Adds entries in their order; see `encoded_entries`."""
        if len(entries):
            self._pending.append(entries.drop_columns([ENTRY]))
            cells = encoded(whole(entries[ENTRY]))
            self._container.write(cells.data, cells.lengths)

    def close(self) -> list[ManifestFileMeta]:
        """Writes the remaining entries; returns all files."""
        self._container.close()
        return self._metas

    def _store(self, content: bytes, rows: int) -> None:
        name = f"manifest-{self._prefix}-{len(self._metas)}"
        pending = pa.concat_tables(self._pending)
        self._pending = [pending.slice(rows)]
        self._flush(name, content)
        self._metas.append(manifest_meta(name, len(content), pending.slice(0, rows), self._types))


def manifest_meta(name: str, size: int, entries: pa.Table, types: Sequence[ColumnType]) -> ManifestFileMeta:
    """What a manifest list says of a manifest with some entries, at least one."""
    added = int((integers(entries["kind"]) == ADD).sum())
    partitions = pc.value_counts(whole(entries["partition"]))
    counts = dict(zip(listed(partitions.field("values")), listed(partitions.field("counts")), strict=True))
    totals = np.unique(integers(entries["total_buckets"]))
    is_common = len(totals) == 1 and totals[0] > 0
    low_row, high_row = _row_ids(entries)
    return ManifestFileMeta(
        file_name=name,
        file_size=size,
        num_added_files=added,
        num_deleted_files=len(entries) - added,
        partition_stats=to_pypaimon(as_stats(partition_ranges(counts, types), types)),
        schema_id=int(integers(entries["schema_id"]).max()),
        min_row_id=low_row,
        max_row_id=high_row,
        min_bucket=int(integers(entries["bucket"]).min()),
        max_bucket=int(integers(entries["bucket"]).max()),
        min_level=int(integers(entries["level"]).min()),
        max_level=int(integers(entries["level"]).max()),
        total_buckets=int(totals[0]) if is_common else None,
    )


def _row_ids(entries: pa.Table) -> tuple[int | None, int | None]:
    """The least and the greatest row id; None if a file has none."""
    if entries["first_row_id"].null_count:
        return None, None
    first = integers(entries["first_row_id"])
    return int(first.min()), int((first + integers(entries["rows"]) - 1).max())
