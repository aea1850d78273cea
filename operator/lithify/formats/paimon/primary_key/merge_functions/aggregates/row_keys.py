"""Keys of rows within arrays: their fields, equality and Java hash codes.

Used by `nested` and `nested_partial`. Java hashes the binary form of a key, which is built for each
distinct key of a round separately; all other operations are columnar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart, rank_rows
from lithify.files.row_stats import raw_at
from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import codes_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import Hashes, byte_hashes
from lithify.formats.paimon.rows.binary_row import encode_row

_ARITY_BYTES = 4


@dataclass(frozen=True, slots=True)
class RowKey:
    """The fields that identify a row: their indices and types."""

    numbers: tuple[int, ...]
    types: tuple[ColumnType, ...]

    @staticmethod
    def of(rows: ColumnType, key: Sequence[str]) -> RowKey:
        """The key of these fields, which the rows have."""
        names = [part.name for part in rows.fields]
        numbers = tuple(names.index(name) for name in key)
        return RowKey(numbers, tuple(rows.fields[number].type for number in numbers))

    def codes(self, rows: pa.StructArray) -> IntPart:
        """A code per row, the same for rows with equal keys."""
        return codes_of_fields([rows.field(number) for number in self.numbers])

    def hashes(self, rows: pa.StructArray, codes: IntPart, places: IntPart) -> Hashes:
        """Java's hash codes of the keys of some rows.

        Args:
            rows: all rows.
            codes: codes of all rows.
            places: indices of the rows to hash.
        """
        _, first, numbers = np.unique(codes[places], return_index=True, return_inverse=True)
        parts = [rows.field(number).take(pa.array(places[first])) for number in self.numbers]
        keys = [
            [_raw(*each, row) for each in zip(self.types, parts, strict=True)] for row in range(len(first))
        ]
        encoded = [encode_row(key, self.types, is_projected=True) for key in keys]
        hashes = byte_hashes(pa.array([each[_ARITY_BYTES:] for each in encoded], pa.large_binary()))
        return hashes[numbers]


def _raw(column: ColumnType, values: pa.Array, row: int) -> Raw:
    return raw_at(column, values, row) if values[row].is_valid else None


def codes_of_fields(fields: list[pa.Array]) -> IntPart:
    """A code per row, the same for rows that are equal in all of these fields."""
    if not len(fields[0]):
        return np.zeros(0, dtype=np.int64)
    ranks = rank_rows([codes_of(field) for field in fields])
    return np.unique(ranks, return_inverse=True)[1].astype(np.int64)
