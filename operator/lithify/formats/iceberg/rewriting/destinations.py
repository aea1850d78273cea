"""Where the rows of a task are written, and what divides rows between several places.

Used by tasks. A format that stands on Iceberg's tables may divide partitions further, and name files by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from lithify.columns.order import Part
from lithify.formats.iceberg.model import DataFile, DeleteFile, Partition


@dataclass(frozen=True, slots=True)
class Destination:
    """A place for rows.

    Attributes:
        partition: the partition of the files.
        name_start: what their names begin with, before the part that is unique.
    """

    partition: Partition
    name_start: str = ""


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A data file that stays while rows of it are deleted.

    Attributes:
        file: the file, with the deletes that apply to it already.
        destination: where its new position delete file goes.
        older: those deletes that are about this file alone; the new file takes their positions over.
    """

    file: DataFile
    destination: Destination
    older: tuple[DeleteFile, ...] = ()


class RowDivider(Protocol):
    """Divides rows between destinations; a `RowKey` that puts those of one destination together."""

    def parts(self, rows: pa.RecordBatch) -> list[Part]:
        """Comparable parts of the rows' destinations."""
        ...

    def split(self, rows: pa.RecordBatch) -> Iterator[tuple[Destination, pa.RecordBatch]]:
        """Rows in the order of `parts`, divided where the destination changes."""
        ...
