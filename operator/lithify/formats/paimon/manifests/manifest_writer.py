"""Writes entries as manifest files that roll at a size, with their statistics for manifest lists.

Used by `manifests` for the changes of a commit and by `manifest_merging` for merged entries. Entries are Avro
records, written block by block; one compressed file is held in memory. Rolling and statistics are Paimon's
(`RollingFileWriterImpl`, `ManifestFile.ManifestEntryWriter`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from fastavro.write import Writer
from pypaimon.manifest import avro_codec
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.binary_row import BinaryRow

from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.entries import ADD, Stats
from lithify.formats.paimon.manifests.manifest_plan import as_stats, partition_ranges
from lithify.formats.paimon.options.snapshot_options import ManifestOptions

BLOCK_BYTES = 16_000
"""Bytes of an Avro block before compression, as in Java."""
_CHECKED_EVERY = 1000
"""Records between two checks of the size; counted over all files, as in Java."""


@dataclass(slots=True)
class _Totals:
    """The totals over one manifest's entries for the manifest list."""

    added: int = 0
    deleted: int = 0
    partitions: Counter[bytes] = field(default_factory=Counter)
    schema_ids: set[int] = field(default_factory=set)
    buckets: set[int] = field(default_factory=set)
    total_buckets: set[int] = field(default_factory=set)
    levels: set[int] = field(default_factory=set)
    row_ids: tuple[int, int] | None = None
    has_row_ids: bool = True

    def add(self, record: dict[str, Any]) -> None:
        file = record["_FILE"]
        if record["_KIND"] == ADD:
            self.added += 1
        else:
            self.deleted += 1
        self.partitions[record["_PARTITION"]] += 1
        self.schema_ids.add(file["_SCHEMA_ID"])
        self.buckets.add(record["_BUCKET"])
        self.total_buckets.add(record["_TOTAL_BUCKETS"])
        self.levels.add(file["_LEVEL"])
        self._add_rows(file.get("_FIRST_ROW_ID"), file["_ROW_COUNT"])

    def _add_rows(self, first: int | None, rows: int) -> None:
        if first is None:
            self.has_row_ids, self.row_ids = False, None
        elif self.has_row_ids:
            low, high = self.row_ids or (first, first)
            self.row_ids = (min(low, first), max(high, first + rows - 1))

    def meta(self, name: str, size: int, types: Sequence[ColumnType]) -> ManifestFileMeta:
        """The manifest's entry in a list; the sets are not empty, because no manifest is empty."""
        (common,) = self.total_buckets if len(self.total_buckets) == 1 else (None,)
        stats = as_stats(partition_ranges(self.partitions, types), types)
        return ManifestFileMeta(
            file_name=name,
            file_size=size,
            num_added_files=self.added,
            num_deleted_files=self.deleted,
            partition_stats=to_pypaimon(stats),
            schema_id=max(self.schema_ids),
            min_row_id=self.row_ids and self.row_ids[0],
            max_row_id=self.row_ids and self.row_ids[1],
            min_bucket=min(self.buckets),
            max_bucket=max(self.buckets),
            min_level=min(self.levels),
            max_level=max(self.levels),
            total_buckets=common if common is not None and common > 0 else None,
        )


class ManifestWriter:
    """Writes `manifest-<prefix>-<n>`, counted from `first`.

    Args:
        flush: writes a file of a name; raises `StorageError`.
        prefix: distinguishes the files from those of other commits.
        types: types of the partition columns.
        options: codec and target size.
        first: the first number.
    """

    def __init__(
        self,
        flush: Callable[[str, bytes], None],
        prefix: str,
        types: Sequence[ColumnType],
        options: ManifestOptions,
        first: int = 0,
    ) -> None:
        self._flush = flush
        self._prefix = prefix
        self._types = types
        self._target_size = options.target_size
        self._codec = avro_codec(options.compression)
        self._number = first
        self._records = 0
        self._metas: list[ManifestFileMeta] = []
        self._open()

    def write(self, record: dict[str, Any]) -> None:
        """Adds an entry; may write a file."""
        self._writer.write(record)
        self._totals.add(record)
        self._records += 1
        if self._records % _CHECKED_EVERY == 0 and self._buffer.tell() >= self._target_size:
            self._roll()

    def roll(self) -> list[ManifestFileMeta]:
        """Writes the remaining entries as a file of their own; returns all files since the last call."""
        if self._totals.partitions:
            self._roll()
        written, self._metas, self._records = self._metas, [], 0
        return written

    def _open(self) -> None:
        self._buffer = BytesIO()
        self._totals = _Totals()
        self._writer = Writer(
            self._buffer, MANIFEST_ENTRY_SCHEMA, sync_interval=BLOCK_BYTES, codec=self._codec
        )

    def _roll(self) -> None:
        self._writer.flush()
        name = f"manifest-{self._prefix}-{self._number}"
        self._number += 1
        self._flush(name, self._buffer.getvalue())
        self._metas.append(self._totals.meta(name, self._buffer.tell(), self._types))
        self._open()


def to_pypaimon(stats: Stats) -> SimpleStats:
    """Statistics in the form of pypaimon's writer of manifest lists."""
    return SimpleStats(
        min_values=BinaryRow(stats.min_values, []),
        max_values=BinaryRow(stats.max_values, []),
        null_counts=list(stats.null_counts or ()),
    )
