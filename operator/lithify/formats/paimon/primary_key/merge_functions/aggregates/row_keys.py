"""Keys of rows within arrays: their fields, equality and Java hash codes.

Used by `nested` and `nested_partial`. Java hashes the binary form of a key, which is built for each
distinct key of a round separately; all other operations are columnar.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart, rank_rows
from lithify.errors import InvalidOption
from lithify.files.row_stats import raw_at
from lithify.files.types import ColumnType, Raw
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import codes_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import Hashes, byte_hashes
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import FieldOptions
from lithify.formats.paimon.rows.binary_row import encode_row

_ARITY_BYTES = 4


@dataclass(frozen=True, slots=True)
class RowKey:
    """The fields that identify a row: their indices and types."""

    numbers: tuple[int, ...]
    types: tuple[ColumnType, ...]

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


def rows_of(name: str, column: ColumnType, options: FieldOptions) -> ColumnType:
    """The type of the rows in an array.

    Raises:
        InvalidOption: it is no array of rows.
    """
    if column.root != "ARRAY" or column.fields[0].type.root != "ROW":
        raise InvalidOption(options.function_option, f"Paimon has {name} for arrays of ROWs only")
    return column.fields[0].type


def key_of(rows: ColumnType, options: FieldOptions) -> RowKey:
    """The key that `nested-key` names.

    Raises:
        InvalidOption: the rows have no such field, or its values cannot be compared.
    """
    said, names = f"fields.{options.column}.nested-key", [part.name for part in rows.fields]
    missing = [name for name in options.nested_key if name not in names]
    if missing:
        raise InvalidOption(said, f"the array's rows have no field {missing[0]}")
    numbers = tuple(names.index(name) for name in options.nested_key)
    types = tuple(rows.fields[number].type for number in numbers)
    if any(each.is_nested or each.is_float for each in types):
        raise InvalidOption(said, "this release does not compare nested values and floating point numbers")
    return RowKey(numbers, types)
