"""Shreds variants into the columns of a Parquet file.

Called by `columns`. Follows `VariantShreddingWriter.castShredded` of Paimon: a value goes into its typed
column if that holds it exactly, whatever number type it had; the rest stays encoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.files.variants.binary import (
    Ints,
    Mask,
    Spans,
    bits_of,
    either,
    slices,
    spans_of,
    validity,
)
from lithify.files.variants.encoding import (
    Malformed,
    ObjectMembers,
    VariantKind,
    elements_of,
    fields_of,
    kinds_of,
    objects_of,
    sizes_at,
)
from lithify.files.variants.keys import FieldNames
from lithify.files.variants.scalars import as_column
from lithify.files.variants.shape import (
    METADATA,
    TYPED,
    VALUE,
    fields_alike,
)


@dataclass(frozen=True, slots=True)
class Nodes:
    """Values at any path inside variants.

    Attributes:
        values: their bytes; some may be missing.
        rows: the row of each value.
        keys: the keys of the rows.
    """

    values: Spans
    rows: Ints
    keys: FieldNames


def nodes_of(column: pa.StructArray) -> Nodes:
    """The variants of an unshredded column without nulls.

    Raises:
        Malformed: a row has no valid variant.
    """
    values = spans_of(column.field(VALUE))
    if not values.are_there.all():
        raise Malformed("a row has no value")
    values = Spans(values.data, values.starts, sizes_at(values.data, values.starts, values.ends))
    return Nodes(values, np.arange(len(column)), FieldNames(column.field(METADATA)))


def shredded(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    """Shreds a column of variants into a type from `shape`.

    Raises:
        Malformed: a value is not a valid variant.
    """
    return pa.concat_arrays([_shredded(piece, kind) for piece in slices(column)])


def _shredded(column: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    there = validity(column)
    whole = column.filter(column.is_valid()) if column.null_count else column
    nodes = nodes_of(whole)
    spread = Nodes(nodes.values.spread(there), np.cumsum(there) - 1, nodes.keys)
    parts = _parts(spread, kind)
    nowhere = np.zeros(len(column), np.bool_)
    parts[METADATA] = spans_of(whole.field(METADATA)).spread(there).to_arrow(pa.binary(), nulls=nowhere)
    children = [parts[field.name] for field in kind]
    return pa.Array.from_buffers(kind, len(column), [bits_of(there)], children=children)


def _parts(nodes: Nodes, kind: pa.StructType) -> dict[str, pa.Array]:
    """The content of `value` and, if there is one, of `typed_value`."""
    number = kind.get_field_index(TYPED)
    if number < 0:
        return {VALUE: nodes.values.to_arrow(pa.binary(), _required(kind, nodes))}
    target, kinds = kind.field(number).type, kinds_of(nodes.values)
    if pa.types.is_struct(target):
        typed, rest = _objects(nodes, kinds == VariantKind.OBJECT, target)
    elif pa.types.is_list(target):
        typed = _arrays(nodes, kinds == VariantKind.ARRAY, target)
        rest = nodes.values.only(~validity(typed))
    else:
        typed = as_column(nodes.values, kinds, target)
        rest = nodes.values.only(~validity(typed))
    return {VALUE: rest.to_arrow(pa.binary()), TYPED: typed}


def _required(kind: pa.StructType, nodes: Nodes) -> Mask | None:
    """An empty null mask for columns that are NOT NULL even where values are missing."""
    return None if kind.field(VALUE).nullable else np.zeros(len(nodes.values), np.bool_)


def _column(nodes: Nodes, kind: pa.StructType) -> pa.StructArray:
    parts = _parts(nodes, kind)
    children = [parts[field.name] for field in kind]
    return pa.Array.from_buffers(kind, len(nodes.values), [None], children=children)


def _arrays(nodes: Nodes, which: Mask, kind: pa.ListType) -> pa.ListArray:
    at = np.flatnonzero(which)
    members = elements_of(nodes.values.of(at))
    elements = _column(Nodes(members.values, nodes.rows[at][members.owners], nodes.keys), kind.value_type)
    counts = np.zeros(len(which) + 1, np.int32)
    counts[1:][at] = members.counts
    offsets = pa.py_buffer(np.cumsum(counts, dtype=np.int32))
    return pa.Array.from_buffers(kind, len(which), [bits_of(which), offsets], children=[elements])


def _objects(nodes: Nodes, which: Mask, kind: pa.StructType) -> tuple[pa.StructArray, Spans]:
    """The shredded fields of objects, and the rest: other fields, or whole values that are not objects."""
    at = np.flatnonzero(which)
    members = fields_of(nodes.values.of(at))
    owners = at[members.owners]
    codes = nodes.keys.codes(nodes.rows[owners], members.ids)
    slots = _slots(codes, nodes.keys.codes_of(kind.names), len(nodes.keys))
    children: dict[int, pa.StructArray] = {}
    for alike in fields_alike(kind):
        columns = _fields(
            nodes, members, owners, _slots(slots, np.array(alike), kind.num_fields), alike, kind
        )
        children.update(zip(alike, columns, strict=True))
    parts = [children[number] for number in range(kind.num_fields)]
    typed = pa.Array.from_buffers(kind, len(which), [bits_of(which)], children=parts)
    rest = _rest(members, np.flatnonzero(slots < 0), len(at))
    return typed, either(rest.spread(which), nodes.values.only(~which))


def _fields(
    nodes: Nodes, members: ObjectMembers, owners: Ints, slots: Ints, alike: Sequence[int], kind: pa.StructType
) -> list[pa.StructArray]:
    """The columns of fields of one type, built together; `slots` has each member's column, -1 for none.

    Raises:
        Malformed: an object has a field twice.
    """
    count, chosen = len(nodes.values), np.flatnonzero(slots >= 0)
    places = slots[chosen] * count + owners[chosen]
    starts, sizes = np.zeros(len(alike) * count, np.int64), np.zeros(len(alike) * count, np.int64)
    starts[places], sizes[places] = members.values.starts[chosen], members.values.sizes[chosen]
    if np.count_nonzero(sizes) != len(places):
        raise Malformed("an object has a field twice")
    inner = Nodes(Spans(nodes.values.data, starts, sizes), np.tile(nodes.rows, len(alike)), nodes.keys)
    column = _column(inner, kind.field(alike[0]).type)
    return [column.slice(number * count, count) for number in range(len(alike))]


def _slots(codes: Ints, wanted: Ints, count: int) -> Ints:
    """The position of each code in `wanted`, -1 for none; all codes are below `count`."""
    slots = np.full(count + 1, -1)
    slots[wanted] = np.arange(len(wanted))
    slots[-1] = -1
    return slots[codes]


def _rest(members: ObjectMembers, chosen: Ints, count: int) -> Spans:
    """Objects of the fields that are not shredded; missing if there are none."""
    owners = members.owners[chosen]
    objects = objects_of(count, owners, members.ids[chosen], members.values.of(chosen))
    return objects.only(np.bincount(owners, minlength=count) > 0)
