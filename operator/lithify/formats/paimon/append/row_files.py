"""Data files of tables without a primary key: what their metadata says of the rows.

Used by `new_files`. The files have the value columns only; `data_files.writer` writes them.
"""

from __future__ import annotations

import pyarrow as pa

from lithify.formats.paimon.append.row_numbers import RowNumbers
from lithify.formats.paimon.data_files.summaries import float_stats
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.schema import Schema


class RowSummary:
    """Summary of the rows written to one file; a `FileSummary`.

    Attributes:
        delete_rows: always 0, since no row retracts another.
        rows: number of rows.
        floats: statistics of the columns of floating-point numbers.

    Args:
        schema: the newest schema.
        numbers: the sequence numbers of the task.
        start: rows of the task that are in files before this one.
    """

    delete_rows = 0

    def __init__(self, schema: Schema, numbers: RowNumbers, start: int) -> None:
        self._numbers = numbers
        self._start = start
        self.rows = 0
        self.floats = float_stats(schema)

    @property
    def min_sequence(self) -> int:
        """Smallest sequence number."""
        return self._numbers.of(self._start, self._start + self.rows)[0]

    @property
    def max_sequence(self) -> int:
        """Largest sequence number."""
        return self._numbers.of(self._start, self._start + self.rows)[1]

    def add(self, rows: pa.Table) -> None:
        """Adds rows to the summary."""
        self.rows += rows.num_rows
        for name, stats in self.floats.items():
            stats.add(rows.column(name))

    def min_key(self) -> bytes:
        """The empty key."""
        return encode_row((), ())

    def max_key(self) -> bytes:
        """The empty key."""
        return encode_row((), ())
