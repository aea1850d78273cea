"""Equality of two columns, value by value, nested ones too.

Called by `changelog`. NaN equals nothing, not even itself, and zeros of both signs are equal, as with Java's
operators. Lists are equal if their elements are, structs if their fields are. Null equals null, but not as an
element of a list, as in the changelogs that this is for; lists that are known to be one and the same compare
like bytes. Maps are not supported: adapters must not ask.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.engine.rewrite.records import Mask


def equal_values(one: pa.Array, other: pa.Array, same: Mask | None = None) -> Mask:
    """Mask of the positions at which two columns of the same length have equal values.

    Args:
        one: a column.
        other: a column of the same type, or of a type with other offsets.
        same: mask of the positions at which lists are compared like bytes: null elements are equal there, and
            so are NaNs. None if there are no such positions.

    Raises:
        NotImplementedError: they have a type that cannot be compared.
    """
    none = np.zeros(len(one), dtype=bool)
    return _compared(one, other, none if same is None else same, nulls=~none, nans=none)


def _compared(one: pa.Array, other: pa.Array, same: Mask, *, nulls: Mask, nans: Mask) -> Mask:
    """As `equal_values`; `nulls` and `nans` are masks of the positions at which these equal each other."""
    one, other = _plain(one), _plain(other)
    if pa.types.is_nested(one.type) and not (pa.types.is_struct(one.type) or _is_list(one.type)):
        raise NotImplementedError(f"values of type {one.type} cannot be compared")
    first, second = _flags(one.is_valid()), _flags(other.is_valid())
    equal: Mask = ~(first | second) & nulls
    both = np.flatnonzero(first & second)
    if len(both):
        places = pa.array(both)
        equal[both] = _equal(one.take(places), other.take(places), same[both], nans[both])
    return equal


def _equal(one: pa.Array, other: pa.Array, same: Mask, nans: Mask) -> Mask:
    """Compares values without nulls."""
    if pa.types.is_struct(one.type):
        return _equal_fields(one, other, same, nans)
    if _is_list(one.type):
        return _equal_lists(one, other, same)
    equal = _flags(pc.equal(one, other if one.type == other.type else other.cast(one.type)))
    if pa.types.is_floating(one.type) and nans.any():
        equal |= nans & _flags(pc.is_nan(one)) & _flags(pc.is_nan(other))
    return equal


def _equal_fields(one: pa.StructArray, other: pa.StructArray, same: Mask, nans: Mask) -> Mask:
    pairs = zip(one.flatten(), other.flatten(), strict=True)
    nulls = np.ones(len(one), dtype=bool)
    equal: Mask = np.all([_compared(*pair, same, nulls=nulls, nans=nans) for pair in pairs], axis=0)
    return equal


def _equal_lists(one: pa.Array, other: pa.Array, same: Mask) -> Mask:
    lengths, others = (pc.list_value_length(each).to_numpy(zero_copy_only=False) for each in (one, other))
    equal = np.asarray(lengths == others)
    alike = np.flatnonzero(equal & (lengths > 0))
    if len(alike):
        places = pa.array(alike)
        sizes = lengths[alike].astype(np.int64)
        of_elements = np.repeat(same[alike], sizes)
        elements = _compared(
            one.take(places).flatten(),
            other.take(places).flatten(),
            of_elements,
            nulls=of_elements,
            nans=of_elements,
        )
        equal[alike] = np.logical_and.reduceat(elements, np.cumsum(sizes) - sizes)
    return equal


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _plain(values: pa.Array) -> pa.Array:
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values


def _flags(values: pa.Array) -> Mask:
    flags: Mask = values.to_numpy(zero_copy_only=False).astype(bool)
    return flags
