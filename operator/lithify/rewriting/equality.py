"""Equality of two columns, value by value, nested ones too.

Called by `changelog`. NaN equals nothing, not even itself, and zeros of both signs are equal, as with Java's
operators. Lists are equal if their elements are, structs if their fields are. Null equals null, but not as an
element of a list, as in the changelogs that this is for. Maps are not supported: adapters must not ask.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.rewriting.records import Mask


def equal_values(one: pa.Array, other: pa.Array, *, equal_nulls: bool = True) -> Mask:
    """Mask of the positions at which two columns of the same length have equal values.

    Args:
        one: a column.
        other: a column of the same type, or of a type with other offsets.
        equal_nulls: whether null equals null.

    Raises:
        NotImplementedError: they have a type that cannot be compared.
    """
    one, other = _plain(one), _plain(other)
    if pa.types.is_struct(one.type):
        return _equal(one, other, _equal_fields, equal_nulls=equal_nulls)
    if _is_list(one.type):
        return _equal(one, other, _equal_lists, equal_nulls=equal_nulls)
    if pa.types.is_nested(one.type):
        raise NotImplementedError(f"values of type {one.type} cannot be compared")
    if one.type != other.type:
        other = other.cast(one.type)
    return _equal(one, other, lambda a, b: _flags(pc.equal(a, b)), equal_nulls=equal_nulls)


def _equal(
    one: pa.Array, other: pa.Array, compare: Callable[[pa.Array, pa.Array], Mask], *, equal_nulls: bool
) -> Mask:
    """Compares the values that are not null in both columns."""
    first, second = _flags(one.is_valid()), _flags(other.is_valid())
    equal = ~(first | second) & equal_nulls
    both = np.flatnonzero(first & second)
    if len(both):
        places = pa.array(both)
        equal[both] = compare(one.take(places), other.take(places))
    return equal


def _equal_fields(one: pa.StructArray, other: pa.StructArray) -> Mask:
    pairs = zip(one.flatten(), other.flatten(), strict=True)
    equal: Mask = np.all([equal_values(*pair) for pair in pairs], axis=0)
    return equal


def _equal_lists(one: pa.Array, other: pa.Array) -> Mask:
    lengths, others = (pc.list_value_length(each).to_numpy(zero_copy_only=False) for each in (one, other))
    equal = np.asarray(lengths == others)
    alike = np.flatnonzero(equal & (lengths > 0))
    if len(alike):
        places = pa.array(alike)
        elements = equal_values(one.take(places).flatten(), other.take(places).flatten(), equal_nulls=False)
        sizes = lengths[alike].astype(np.int64)
        equal[alike] = np.logical_and.reduceat(elements, np.cumsum(sizes) - sizes)
    return equal


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _flags(values: pa.Array) -> Mask:
    flags: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return flags
