"""Rows of one snapshot as pypaimon plans and reads them: made by `table_copies`, read by tasks.

Nothing here uses our own planning, reading or merging. pypaimon merges row by row, which is slow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pypaimon.read.split import DataSplit
from pypaimon.snapshot.time_travel_util import SCAN_KEYS
from pypaimon.table.file_store_table import FileStoreTable

from lithify.engine.tasks.foreign_rows import foreign_reading
from lithify.errors import MissingFile
from lithify.formats.paimon.canary.data_files import readable

_PLAIN = {"read.native.enabled": "false", "scan.native-plan.enabled": "false"}


@dataclass(frozen=True, slots=True)
class SplitRows:
    """The rows of one split; implements `RowsPart`.

    Attributes:
        table: pypaimon's table, with the schema that rows are read with.
        name: the table's name.
        split: the files, which hold all records of their keys.
    """

    table: FileStoreTable
    name: str
    split: DataSplit

    @property
    def group(self) -> str:
        """The bucket."""
        values = self.split.partition.to_dict().items()
        return "/".join([*(f"{name}={value}" for name, value in values), f"bucket-{self.split.bucket}"])

    @property
    def files(self) -> Hashable:
        """The files and their deletion vectors."""
        vectors = self.split.data_deletion_files or [None] * len(self.split.files)
        return tuple(
            (file.file_name, file.level, vector and (vector.dv_index_path, vector.offset, vector.length))
            for file, vector in zip(self.split.files, vectors, strict=True)
        )

    @property
    def path(self) -> str:
        """The first file."""
        return str(self.split.files[0].file_path or self.split.files[0].file_name)

    @property
    def size(self) -> int:
        """Bytes of the files."""
        return sum(file.file_size for file in self.split.files)

    def read(self) -> Iterator[pa.RecordBatch]:
        """See the Protocol.

        Raises:
            UnsupportedTable: pypaimon cannot read the files.
        """
        with foreign_reading(self.name, "pypaimon", self.group, self.path):
            yield from self.table.new_read_builder().new_read().to_arrow_batch_reader([self.split])


def rows_of(table: FileStoreTable, name: str, snapshot: int) -> Iterator[SplitRows]:
    """The rows of one snapshot of a branch.

    Args:
        table: the branch.
        name: its name.
        snapshot: the number of the snapshot.

    Raises:
        MissingFile: a manifest of it is gone.
    """
    plain = FileStoreTable(readable(table.file_io), table.identifier, table.table_path, table.table_schema)
    plain = plain.copy_without_time_travel({**dict.fromkeys(SCAN_KEYS), "scan.mode": None, **_PLAIN})
    pinned = plain.copy_without_time_travel({"scan.snapshot-id": str(snapshot)})
    try:
        splits = pinned.new_read_builder().new_scan().plan().splits()
    except FileNotFoundError as error:
        raise MissingFile(str(error)) from error
    for split in splits:
        yield SplitRows(plain, name, split)
