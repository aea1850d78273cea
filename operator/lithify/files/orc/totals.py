"""Compares the rows of an ORC file with what its footer says of them: the format has no checksums.

Called by the reader beside this module. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.orc.columns import ColumnFooter
from lithify.files.orc.footers import OrcFooter

_WRAP = 1 << 64
"""Sums of 64 bits may overflow, in Arrow and in statistics."""


class Totals:
    """Rows, values that are not null, and totals of integers, texts and binaries, of the rows so far.

    Args:
        footer: the footer of the file.
        names: the columns that are read.
    """

    def __init__(self, footer: OrcFooter, names: list[str]) -> None:
        self._footer = footer
        self._told = [footer.columns.get(name) for name in names]
        self._names = names
        self._rows = 0
        self._values = [0] * len(names)
        self._totals = [0] * len(names)

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts more rows."""
        self._rows += batch.num_rows
        for position, (column, told) in enumerate(zip(batch.columns, self._told, strict=True)):
            self._values[position] += len(column) - column.null_count
            if told is not None and told.total is not None:
                self._totals[position] += _total(column)

    def check(self) -> None:
        """Compares them with the footer.

        Raises:
            EOFError: they differ, so either is damaged.
        """
        if self._rows != self._footer.rows:
            raise EOFError(f"it has {self._rows} rows, its footer says {self._footer.rows}")
        for name in self._wrong():
            raise EOFError(f"column {name} has other values than its footer says")

    def _wrong(self) -> Iterator[str]:
        """The columns whose values differ from their statistics."""
        for name, told, values, total in zip(
            self._names, self._told, self._values, self._totals, strict=True
        ):
            if told is not None and _differs(told, values, total):
                yield name


def _differs(told: ColumnFooter, values: int, total: int) -> bool:
    is_counted = told.rows is not None and told.rows != values
    return is_counted or (told.total is not None and (told.total - total) % _WRAP != 0)


def _total(column: pa.Array) -> int:
    """The sum of integers, or the bytes of texts and binaries."""
    if pa.types.is_integer(column.type):
        return int(pc.sum(column, min_count=0).as_py())
    # texts lie one after the other, and nulls have no bytes
    offsets = memoryview(column.buffers()[1]).cast("i")
    return int(offsets[column.offset + len(column)] - offsets[column.offset])
