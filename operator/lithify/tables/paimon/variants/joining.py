"""Shredded VARIANT columns put together again, as any reader of Parquet files has to.

Called by `formats.parquet`. Follows the reconstruction of Parquet's VariantShredding.md and Paimon's
`ShreddingUtils.rebuild`. The metadata stay what they are in the file: they have all keys.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.tables.paimon.variants.binary import (
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
from lithify.tables.paimon.variants.encoding import (
    Kind,
    Malformed,
    arrays_of,
    fields_of,
    kinds_of,
    objects_of,
)
from lithify.tables.paimon.variants.keys import Keys
from lithify.tables.paimon.variants.scalars import as_variants
from lithify.tables.paimon.variants.shape import METADATA, TYPED, VALUE


def is_shredded(stored: pa.DataType) -> bool:
    """Whether a column of a file is a VARIANT that is stored in several columns."""
    return pa.types.is_struct(stored) and {METADATA, TYPED} <= {field.name for field in stored}


def joined(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    """A shredded column as one of whole values, a struct of value and metadata.

    Raises:
        Malformed: the parts do not make variants.
    """
    return pa.concat_arrays([_joined(piece, kind) for piece in slices(column)])


def _joined(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    there = validity(column)
    parts = column.filter(column.is_valid()) if column.null_count else column
    values = _values(parts, np.arange(len(parts)), Keys(parts.field(METADATA)))
    if not values.are_there.all():
        raise Malformed("a row has neither a value nor a typed one")
    spans = {VALUE: values, METADATA: spans_of(parts.field(METADATA))}
    nowhere = np.zeros(len(column), np.bool_)
    children = [spans[field.name].spread(there).to_arrow(field.type, nulls=nowhere) for field in kind]
    return pa.Array.from_buffers(kind, len(column), [bits_of(there)], children=children)


def _values(column: pa.StructArray, rows: Ints, keys: Keys) -> Spans:
    """The values of a column of `value`, of `typed_value`, or of both.

    Args:
        column: the parts.
        rows: the rows that the values belong to.
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


def _arrays(lists: pa.ListArray, rows: Ints, keys: Keys) -> Spans:
    there = validity(lists)
    counts = np.where(there, np.diff(lists.offsets.to_numpy()), 0).astype(np.int64)
    elements = _values(lists.flatten(), np.repeat(rows, counts), keys)
    if not elements.are_there.all():
        raise Malformed("an element of an array is missing")
    return arrays_of(counts[there], elements).spread(there)


def _objects(typed: pa.StructArray, whole: Spans, rows: Ints, keys: Keys) -> Spans:
    """Objects of the fields that are shredded and of those that are not, which `whole` has."""
    there = validity(typed)
    codes = keys.codes_of(typed.type.names)
    fields = [_shredded_field(part, there, rows, keys) for part in typed.flatten()]
    found = [np.flatnonzero(field.are_there) for field in fields]
    rest = whole.only(there)
    others = np.flatnonzero(rest.are_there)
    objects = rest.of(others)
    if (kinds_of(objects) != Kind.OBJECT).any():
        raise Malformed("what is left of a shredded object is none")
    left = fields_of(objects)
    left_codes = keys.codes(rows[others[left.owners]], left.ids)
    if np.isin(left_codes, codes).any():
        raise Malformed("a field is shredded and is not")
    owners = np.concatenate([*found, others[left.owners]])
    shredded = [np.full(len(at), code) for at, code in zip(found, codes, strict=True)]
    all_codes = np.concatenate([*shredded, left_codes])
    values = united([*(field.of(at) for field, at in zip(fields, found, strict=True)), left.values])
    order = np.lexsort((all_codes, owners))
    owners, all_codes = owners[order], all_codes[order]
    numbers = np.cumsum(there) - 1
    ids = keys.ids(rows[owners], all_codes)
    return objects_of(int(there.sum()), numbers[owners], ids, values.of(order)).spread(there)


def _shredded_field(part: pa.StructArray, there: Mask, rows: Ints, keys: Keys) -> Spans:
    if (there & ~validity(part)).any():
        raise Malformed("a shredded field is null")
    return _values(part, rows, keys).only(there)
