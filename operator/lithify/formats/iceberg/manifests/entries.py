"""Entries of a manifest to be written: what changes as columns, everything else as the bytes that it was.

Made by `carrying` and `new_entries`, encoded by `manifest_writer`. Holds no file's content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lithify.files.avro.encoding import Cells
from lithify.formats.iceberg.manifests.partition_types import PartitionType

EXISTING, ADDED, DELETED = 0, 1, 2
"""Status of entries."""

ENTRY_COLUMNS = ("status", "snapshot_id", "sequence_number", "file_sequence_number")
FILE_COLUMNS = (
    "content",
    "file_path",
    "file_format",
    "record_count",
    "file_size_in_bytes",
    "first_row_id",
)
"""The fields that are columns when a manifest is written again."""


@dataclass(frozen=True, slots=True)
class Entries:
    """Some entries.

    Attributes:
        rows: a row per entry with `ENTRY_COLUMNS` and `FILE_COLUMNS`, of which `snapshot_id`, the sequence
            numbers and `first_row_id` may be null.
        partitions: the physical values of their partitions.
        partition_type: the fields of their partitions.
        encoded: values of further fields of files in Avro, with the branches of their unions, by the names of
            adjacent fields. Fields that are missing are null.
        unknown: the fields among these that this release does not know, as their writer declared them.
    """

    rows: pa.Table
    partitions: pa.StructArray
    partition_type: PartitionType
    encoded: Mapping[tuple[str, ...], Cells]
    unknown: Sequence[Mapping[str, Any]] = ()

    def __len__(self) -> int:
        return len(self.rows)
