"""Row groups of Parquet files that are copied into new data files as they are.

Made by the tasks of each kind of table, copied by `writer`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from lithify.tables.files.parquet.copying.source import RowGroupSource


@dataclass(frozen=True, slots=True)
class CopiedGroup:
    """A row group to be copied into a new file; an `EncodedRows` of `rewriting.rolling`.

    Attributes:
        source: the file that has it.
        number: its number in the file.
        rows: its keys, sequence numbers, row kinds and floats, and the `indexed` columns; others are null.
        indexed: names of the columns that were read for file indexes.
    """

    source: RowGroupSource
    number: int
    rows: pa.Table
    indexed: frozenset[str] = frozenset()

    @property
    def bytes(self) -> int:
        """Encoded bytes."""
        return self.source.footer.row_groups[self.number].bytes
