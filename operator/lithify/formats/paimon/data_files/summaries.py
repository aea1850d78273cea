"""Summaries of the rows of a data file for its metadata, besides the statistics of the file's format.

Filled by `writer` while rows are written. Tables without a primary key have a summary of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import key_at, parts_of_column
from lithify.files.statistics import FloatStats
from lithify.files.types import ColumnType, Raw, raw_of_parts
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.schema import (
    RETRACTING_KINDS,
    SEQUENCE_NUMBER,
    VALUE_KIND,
    Schema,
)


class FileSummary(Protocol):
    """Summary of the rows written so far: everything except the statistics of the file's format."""

    @property
    def min_sequence(self) -> int:
        """Smallest sequence number."""
        ...

    @property
    def max_sequence(self) -> int:
        """Largest sequence number."""
        ...

    @property
    def delete_rows(self) -> int:
        """Number of rows that retract their key."""
        ...

    @property
    def floats(self) -> Mapping[str, FloatStats]:
        """Statistics of the columns of floating-point numbers."""
        ...

    def add(self, rows: pa.Table) -> None:
        """Adds rows to the summary."""
        ...

    def min_key(self) -> bytes:
        """Smallest key as BinaryRow bytes."""
        ...

    def max_key(self) -> bytes:
        """Largest key as BinaryRow bytes."""
        ...


def float_stats(schema: Schema) -> dict[str, FloatStats]:
    """Empty statistics for each column of floating-point numbers."""
    return {column.name: FloatStats() for column in schema.columns if column.type.is_float}


class KeyValueSummary:
    """Key bounds, sequence range, delete count and floats of rows with system columns; a `FileSummary`.

    Args:
        schema: the newest schema.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._first: Sequence[Raw] | None = None
        self._last: Sequence[Raw] = ()
        self.min_sequence = 2**63 - 1
        self.max_sequence = -(2**63)
        self.delete_rows = 0
        self.floats = float_stats(schema)

    def add(self, rows: pa.Table) -> None:
        """Adds rows to the summary."""
        self._first = self._first or self._key(rows, 0)
        self._last = self._key(rows, rows.num_rows - 1)
        bounds = pc.min_max(rows.column(SEQUENCE_NUMBER))
        self.min_sequence = min(self.min_sequence, bounds["min"].as_py())
        self.max_sequence = max(self.max_sequence, bounds["max"].as_py())
        kinds = rows.column(VALUE_KIND).to_numpy()
        self.delete_rows += int(np.isin(kinds, RETRACTING_KINDS).sum())
        for name, stats in self.floats.items():
            stats.add(rows.column(name))

    def min_key(self) -> bytes:
        """Smallest key as BinaryRow bytes."""
        return encode_row(self._first or (), self._schema.key_types)

    def max_key(self) -> bytes:
        """Largest key as BinaryRow bytes."""
        return encode_row(self._last, self._schema.key_types)

    def _key(self, rows: pa.Table, row: int) -> list[Raw]:
        values = []
        for name, column in zip(self._schema.primary_key, self._schema.key_types, strict=True):
            one_row = rows.column(name).slice(row, 1).combine_chunks()
            values.append(_raw(one_row, column))
        return values


def _raw(one_row: pa.Array, column: ColumnType) -> Raw:
    """The raw value of a one-row column. Floats bypass `parts`, which do not distinguish -0.0 from 0.0."""
    if column.is_float:
        return float(one_row[0].as_py())
    return raw_of_parts(column, key_at(parts_of_column(one_row), 0))
