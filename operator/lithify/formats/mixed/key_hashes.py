"""The nodes of rows, by their keys: the hash codes of Java for many rows at once.

Called by tasks, whose rows have to lie where later deletes look for them. Follows Amoro's `PrimaryKeyData`:
`Arrays.hashCode` over the values as Iceberg has them in memory, and its absolute value. Types are refused
whose hash codes depend on the engine that writes. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.column_groups import Numbers, is_null
from lithify.columns.octets import decimal_words, whole_numbers
from lithify.errors import UnsupportedTable
from lithify.files.types import Field
from lithify.formats.mixed.nodes import ids_of
from lithify.formats.mixed.text_hashes import FACTOR, MODULUS, Words, binary_hashes, text_hashes

_TRUE, _FALSE = 1231, 1237
_FLOAT_NAN, _DOUBLE_NAN = np.uint32(0x7FC0_0000), np.uint64(0x7FF8_0000_0000_0000)
_LARGEST = (1 << 31) - 1


def nodes_of(columns: Sequence[pa.Array], fields: Sequence[Field], mask: int) -> Numbers:
    """The ids of the nodes of rows at the level with a mask; arguments are those of `key_hashes`."""
    return ids_of(mask, key_hashes(columns, fields) & mask)


def key_hashes(columns: Sequence[pa.Array], fields: Sequence[Field]) -> Numbers:
    """The hashes of keys, none of which is negative.

    Args:
        columns: the columns of the key, in the order in which the key names them; dictionaries are allowed.
        fields: their names and types.

    Raises:
        UnsupportedTable: see `refused_keys`; or a text is not UTF-8, so that its units are not certain.
    """
    refused = refused_keys(fields)
    if refused:
        raise UnsupportedTable("a table", refused)
    hashes = np.ones(len(columns[0]), np.uint32)
    for column, field in zip(columns, fields, strict=True):
        hashes = hashes * np.uint32(FACTOR) + _hashes(column, field)
    signed = hashes.view(np.int32).astype(np.int64)
    return np.minimum(np.abs(signed), _LARGEST)


def refused_keys(fields: Sequence[Field]) -> tuple[str, ...]:
    """The columns by which no node can be found, and why: engines hash a UUID as such or as text."""
    return tuple(
        f"column {field.name}: keys of type {field.type.root.lower()}"
        for field in fields
        if field.type.root not in _OF_TYPES
    )


def _hashes(column: pa.Array, field: Field) -> Words:
    """The hash codes of values; 0 for null."""
    if pa.types.is_dictionary(column.type):
        places = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        distinct = _hashes(column.dictionary, field)
        found = distinct[places] if len(distinct) else np.zeros(len(column), np.uint32)
    else:
        found = _OF_TYPES[field.type.root](column, field)
    if column.null_count:
        found = np.where(is_null(column), np.uint32(0), found)
    return found


def _of_ints(column: pa.Array, _field: Field) -> Words:
    return _lower(whole_numbers(column).view(np.uint64))


def _of_longs(column: pa.Array, _field: Field) -> Words:
    return _halves(whole_numbers(column).view(np.uint64))


def _of_booleans(column: pa.Array, _field: Field) -> Words:
    values = column.fill_null(False).to_numpy(zero_copy_only=False)
    return np.where(values, np.uint32(_TRUE), np.uint32(_FALSE))


def _of_floats(column: pa.Array, _field: Field) -> Words:
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    return np.where(np.isnan(values), _FLOAT_NAN, values.view(np.uint32))


def _of_doubles(column: pa.Array, _field: Field) -> Words:
    values = column.fill_null(0).to_numpy(zero_copy_only=False)
    return _halves(np.where(np.isnan(values), _DOUBLE_NAN, values.view(np.uint64)))


def _of_decimals(column: pa.Array, field: Field) -> Words:
    """As `BigDecimal`: the words of the unscaled value's magnitude, its sign, and the scale."""
    low, high = decimal_words(column).view(np.uint64).T
    is_negative = high >> np.uint64(63) > 0
    lower = np.where(is_negative, ~low + np.uint64(1), low)
    upper = np.where(is_negative, ~high + (lower == 0).astype(np.uint64), high)
    hashes = np.zeros(len(column), np.uint32)
    for part in (upper, lower):
        for word in (_lower(part >> np.uint64(32)), _lower(part)):
            hashes = hashes * np.uint32(FACTOR) + word
    signed = np.where(is_negative, ~hashes + np.uint32(1), hashes)
    return signed * np.uint32(FACTOR) + np.uint32(field.type.scale)


def _of_texts(column: pa.Array, field: Field) -> Words:
    try:
        return text_hashes(column)
    except pa.ArrowInvalid as error:
        problem = f"column {field.name}: a text of the key is not UTF-8"
        raise UnsupportedTable("a table", (problem,)) from error


def _of_binaries(column: pa.Array, _field: Field) -> Words:
    return binary_hashes(column)


_OF_TYPES: Mapping[str, Callable[[pa.Array, Field], Words]] = {
    "BOOLEAN": _of_booleans,
    "INT": _of_ints,
    "DATE": _of_ints,
    "BIGINT": _of_longs,
    "TIME_MICROS": _of_longs,
    "TIMESTAMP": _of_longs,
    "TIMESTAMP_LTZ": _of_longs,
    "FLOAT": _of_floats,
    "DOUBLE": _of_doubles,
    "DECIMAL": _of_decimals,
    "VARCHAR": _of_texts,
    "VARBINARY": _of_binaries,
    "FIXED": _of_binaries,
}
"""Hash codes by the root of the type."""


def _halves(words: npt.NDArray[np.uint64]) -> Words:
    return _lower(words ^ (words >> np.uint64(32)))


def _lower(words: npt.NDArray[np.uint64]) -> Words:
    return (words & np.uint64(MODULUS - 1)).astype(np.uint32)
