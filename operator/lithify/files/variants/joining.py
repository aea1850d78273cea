"""Reassembles shredded VARIANT columns, as every reader of Parquet files has to.

Called by `columns`. Follows the reconstruction in Parquet's VariantShredding.md and Paimon's
`ShreddingUtils.rebuild`. The metadata is kept as it is in the file: it has all keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lithify.files.variants.binary import (
    Ints,
    Mask,
    Spans,
    bits_of,
    either,
    missing,
    slices,
    spans_of,
    united,
    validity,
)
from lithify.files.variants.encoding import (
    Malformed,
    VariantKind,
    arrays_of,
    fields_of,
    kinds_of,
    objects_of,
)
from lithify.files.variants.keys import FieldNames
from lithify.files.variants.scalars import as_variants
from lithify.files.variants.shape import (
    METADATA,
    TYPED,
    VALUE,
    fields_alike,
)


def is_shredded(stored: pa.DataType) -> bool:
    """Whether a column of a file is a shredded VARIANT."""
    return pa.types.is_struct(stored) and {METADATA, TYPED} <= {field.name for field in stored}


Fields: TypeAlias = tuple[Ints, Ints, Spans]
"""Fields of objects: index of the object, code of the key, and value."""


def joined(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    """A shredded column as unshredded values, a struct of value and metadata.

    Raises:
        Malformed: the parts do not form variants.
    """
    return pa.concat_arrays([_joined(piece, kind) for piece in slices(column)])


def _joined(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    there = validity(column)
    parts = column.filter(column.is_valid()) if column.null_count else column
    values = _values(parts, np.arange(len(parts)), FieldNames(parts.field(METADATA)))
    if not values.are_there.all():
        raise Malformed("a row has neither a value nor a typed one")
    spans = {VALUE: values, METADATA: spans_of(parts.field(METADATA))}
    nowhere = np.zeros(len(column), np.bool_)
    children = [spans[field.name].spread(there).to_arrow(field.type, nulls=nowhere) for field in kind]
    return pa.Array.from_buffers(kind, len(column), [bits_of(there)], children=children)


def _values(column: pa.StructArray, rows: Ints, keys: FieldNames) -> Spans:
    """The values of a column of `value`, of `typed_value`, or of both.

    Args:
        column: the parts.
        rows: the row of each value.
        keys: the keys of the rows.
    """
    if not pa.types.is_struct(column.type):
        raise Malformed(f"a part is stored as {column.type}")
    parts = dict(zip(column.type.names, column.flatten(), strict=True))
    whole = spans_of(parts[VALUE]) if VALUE in parts else missing(len(column))
    if TYPED not in parts:
        return whole
    typed = parts[TYPED]
    if pa.types.is_struct(typed.type):
        return either(_objects(typed, whole, rows, keys), whole)
    return either(_arrays(typed, rows, keys) if pa.types.is_list(typed.type) else as_variants(typed), whole)


def _arrays(lists: pa.ListArray, rows: Ints, keys: FieldNames) -> Spans:
    there = validity(lists)
    counts = np.where(there, np.diff(lists.offsets.to_numpy()), 0).astype(np.int64)
    elements = _values(lists.flatten(), np.repeat(rows, counts), keys)
    if not elements.are_there.all():
        raise Malformed("an element of an array is missing")
    return arrays_of(counts[there], elements).spread(there)


def _objects(typed: pa.StructArray, whole: Spans, rows: Ints, keys: FieldNames) -> Spans:
    """Objects of the shredded fields and the remaining fields, which `whole` has."""
    there = validity(typed)
    codes = keys.codes_of(typed.type.names)
    parts = typed.flatten()
    shredded = [
        _shredded_fields([parts[number] for number in alike], codes[alike], there, rows, keys)
        for alike in fields_alike(typed.type)
    ]
    rest = _rest(whole.only(there), codes, rows, keys)
    owners, all_codes, values = zip(*shredded, rest, strict=True)
    owner, code = np.concatenate(owners), np.concatenate(all_codes)
    order = np.lexsort((code, owner))
    owner, code = owner[order], code[order]
    numbers = np.cumsum(there) - 1
    ids = keys.ids(rows[owner], code)
    return objects_of(int(there.sum()), numbers[owner], ids, united(values).of(order)).spread(there)


def _shredded_fields(
    parts: Sequence[pa.StructArray], codes: Ints, there: Mask, rows: Ints, keys: FieldNames
) -> Fields:
    """The shredded fields of one type, reassembled together."""
    column = pa.concat_arrays(parts)
    owners = np.tile(np.arange(len(there)), len(parts))
    if (there[owners] & ~validity(column)).any():
        raise Malformed("a shredded field is null")
    values = _values(column, rows[owners], keys).only(there[owners])
    at = np.flatnonzero(values.are_there)
    return owners[at], np.repeat(codes, len(there))[at], values.of(at)


def _rest(whole: Spans, codes: Ints, rows: Ints, keys: FieldNames) -> Fields:
    """The fields that are not shredded."""
    at = np.flatnonzero(whole.are_there)
    objects = whole.of(at)
    if (kinds_of(objects) != VariantKind.OBJECT).any():
        raise Malformed("what is left of a shredded object is none")
    members = fields_of(objects)
    owners = at[members.owners]
    found = keys.codes(rows[owners], members.ids)
    if np.isin(found, codes).any():
        raise Malformed("a field is shredded and is not")
    return owners, found, members.values
