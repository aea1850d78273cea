"""The encoding of variants: headers, sizes of values, content of objects and arrays.

Follows the encoding of Parquet's and Spark's variants, of which Paimon's `GenericVariantUtil` is a copy: a
header byte, of which two bits distinguish primitives, short strings, objects and arrays; numbers are
little-endian. Fields of an object refer to their keys by index in the metadata (see `keys`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa

from lithify.files.variants.binary import (
    Bytes,
    Ints,
    Spans,
    put,
    united,
    unsigned,
    within,
)


class VariantKind(IntEnum):
    """The kind of a value."""

    UNKNOWN = 0
    OBJECT = 1
    ARRAY = 2
    NULL = 3
    BOOLEAN = 4
    LONG = 5
    STRING = 6
    DOUBLE = 7
    DECIMAL = 8
    DATE = 9
    TIMESTAMP = 10
    TIMESTAMP_NTZ = 11
    FLOAT = 12
    BINARY = 13
    UUID = 14


_PRIMITIVES = {
    0: (VariantKind.NULL, 1),
    1: (VariantKind.BOOLEAN, 1),
    2: (VariantKind.BOOLEAN, 1),
    3: (VariantKind.LONG, 2),
    4: (VariantKind.LONG, 3),
    5: (VariantKind.LONG, 5),
    6: (VariantKind.LONG, 9),
    7: (VariantKind.DOUBLE, 9),
    8: (VariantKind.DECIMAL, 6),
    9: (VariantKind.DECIMAL, 10),
    10: (VariantKind.DECIMAL, 18),
    11: (VariantKind.DATE, 5),
    12: (VariantKind.TIMESTAMP, 9),
    13: (VariantKind.TIMESTAMP_NTZ, 9),
    14: (VariantKind.FLOAT, 5),
    15: (VariantKind.BINARY, 0),
    16: (VariantKind.STRING, 0),
    20: (VariantKind.UUID, 17),
}
"""By the upper six bits of the header: kind and number of bytes, 0 where the value states its length."""
_SHORT, _OBJECT, _ARRAY = 1, 2, 3
_SMALL = 255
"""Largest number of fields or elements whose count takes one byte."""
PREFIX = 5
"""Bytes before a long string or a binary: the header and the length."""


def _tables() -> tuple[Bytes, Ints]:
    kinds, sizes = np.zeros(256, np.uint8), np.zeros(256, np.int64)
    for info, (kind, size) in _PRIMITIVES.items():
        kinds[info << 2], sizes[info << 2] = kind, size
    shorts = np.arange(64) << 2 | _SHORT
    kinds[shorts], sizes[shorts] = VariantKind.STRING, 1 + np.arange(64)
    kinds[np.arange(64) << 2 | _OBJECT] = VariantKind.OBJECT
    kinds[np.arange(64) << 2 | _ARRAY] = VariantKind.ARRAY
    return kinds, sizes


_KINDS, _SIZES = _tables()


class Malformed(pa.ArrowInvalid):  # type: ignore[misc]  # PyArrow is untyped
    """A variant is not validly encoded."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"a VARIANT is malformed: {problem}")


def kinds_of(values: Spans) -> Bytes:
    """The kind of each value; UNKNOWN for missing ones.

    Raises:
        Malformed: this release does not know the kind of a value.
    """
    kinds = np.zeros(len(values), np.uint8)
    there = values.are_there
    kinds[there] = _KINDS[values.data[values.starts[there]]]
    if (kinds[there] == VariantKind.UNKNOWN).any():
        raise Malformed("a value is of no known type")
    return kinds


@dataclass(frozen=True, slots=True)
class ObjectMembers:
    """The fields of many objects or the elements of many arrays, concatenated.

    Attributes:
        counts: number of members of each object or array.
        owners: index of each member's object or array.
        ids: for fields, the index of their key in the metadata of their row.
        values: the values.
    """

    counts: Ints
    owners: Ints
    ids: Ints
    values: Spans


def fields_of(objects: Spans) -> ObjectMembers:
    """The fields of objects."""
    heads = objects.data[objects.starts].astype(np.int64) >> 2
    return _members(objects, heads >> 4 & 1, heads & 3, (heads >> 2 & 3) + 1)


def elements_of(arrays: Spans) -> ObjectMembers:
    """The elements of arrays."""
    heads = arrays.data[arrays.starts].astype(np.int64) >> 2
    return _members(arrays, heads >> 2 & 1, heads & 3, np.zeros(len(arrays), np.int64))


def _members(owners: Spans, is_large: Ints, width: Ints, id_width: Ints) -> ObjectMembers:
    """The members of objects (with ids) or arrays (without).

    Raises:
        Malformed: a member lies outside its owner.
    """
    data, count_width = owners.data, np.where(is_large == 1, 4, 1)
    counts = unsigned(data, _inside(owners.starts + 1, count_width, owners.ends), count_width)
    ids_at = owners.starts + 1 + count_width
    offsets_at = ids_at + counts * id_width
    width = width + 1
    values_at = offsets_at + (counts + 1) * width
    if (values_at > owners.ends).any():
        raise Malformed("what it holds lies outside")
    number, owner = within(counts), np.repeat(np.arange(len(owners)), counts)
    ids = unsigned(data, ids_at[owner] + number * id_width[owner], id_width[owner])
    offsets = unsigned(data, offsets_at[owner] + number * width[owner], width[owner])
    starts = values_at[owner] + offsets
    return ObjectMembers(counts, owner, ids, Spans(data, starts, sizes_at(data, starts, owners.ends[owner])))


def sizes_at(data: Bytes, starts: Ints, ends: Ints) -> Ints:
    """The sizes in bytes of the values at these offsets.

    Raises:
        Malformed: a value does not end before `ends`.
    """
    if (starts >= ends).any():
        raise Malformed("a value lies outside")
    heads = data[starts]
    sizes, kinds = _SIZES[heads], _KINDS[heads]
    longs = (sizes == 0) & ((kinds == VariantKind.STRING) | (kinds == VariantKind.BINARY))
    sizes[longs] = PREFIX + unsigned(data, _inside(starts[longs] + 1, 4, ends[longs]), 4)
    for kind, ids in ((VariantKind.OBJECT, 1), (VariantKind.ARRAY, 0)):
        which = kinds == kind
        sizes[which] = _nested_sizes(data, starts[which], ends[which], ids)
    if (starts + sizes > ends).any() or (kinds == VariantKind.UNKNOWN).any():
        raise Malformed("a value is longer than what it is in, or of no known type")
    return sizes


def _nested_sizes(data: Bytes, starts: Ints, ends: Ints, ids: int) -> Ints:
    """The sizes of objects (with ids) or arrays (without), from their last offset."""
    heads = data[starts].astype(np.int64) >> 2
    width = (heads & 3) + 1
    id_width = ((heads >> 2 & 3) + 1) * ids
    count_width = np.where(heads >> (4 if ids else 2) & 1 == 1, 4, 1)
    counts = unsigned(data, _inside(starts + 1, count_width, ends), count_width)
    last = starts + 1 + count_width + counts * (id_width + width)
    return last + width - starts + unsigned(data, _inside(last, width, ends), width)


def _inside(starts: Ints, widths: Ints | int, ends: Ints) -> Ints:
    if (starts + widths > ends).any():
        raise Malformed("a value lies outside")
    return starts


def objects_of(count: int, owners: Ints, ids: Ints, values: Spans) -> Spans:
    """Builds objects like `finishWritingObject` of Paimon's builder, from fields sorted by owner and key."""
    widest = np.zeros(count, np.int64)
    np.maximum.at(widest, owners, ids)
    return _built(count, owners, values, (ids, _widths(widest)))


def arrays_of(counts: Ints, elements: Spans) -> Spans:
    """Builds arrays with these numbers of elements."""
    return _built(len(counts), np.repeat(np.arange(len(counts)), counts), elements, None)


def _built(count: int, owners: Ints, values: Spans, ids: tuple[Ints, Ints] | None) -> Spans:
    """Heads, each followed by its values."""
    counts = np.bincount(owners, minlength=count).astype(np.int64)
    ends = np.cumsum(values.sizes)
    group_ends = np.append(0, ends)[np.cumsum(counts)]
    totals = np.diff(group_ends, prepend=0)
    offsets = (ends - values.sizes) - (group_ends - totals)[owners]
    heads = _heads(counts, owners, offsets, totals, ids)
    parts = united([heads, values])
    order = np.empty(len(parts), np.int64)
    at = np.arange(count) + np.cumsum(counts) - counts
    order[at] = np.arange(count)
    order[owners + 1 + np.arange(len(values))] = count + np.arange(len(values))
    data = parts.of(order).gathered()
    sizes = heads.sizes + totals
    return Spans(data, np.cumsum(sizes) - sizes, sizes)


def _heads(counts: Ints, owners: Ints, offsets: Ints, totals: Ints, ids: tuple[Ints, Ints] | None) -> Spans:
    """The header bytes, counts, ids and offsets of objects or arrays."""
    is_large = counts > _SMALL
    count_width, width = np.where(is_large, 4, 1), _widths(totals)
    id_width = ids[1] if ids else np.zeros(len(counts), np.int64)
    sizes = 1 + count_width + counts * id_width + (counts + 1) * width
    starts = np.cumsum(sizes) - sizes
    data = np.empty(int(sizes.sum()), np.uint8)
    if ids:
        data[starts] = is_large << 6 | (id_width - 1) << 4 | (width - 1) << 2 | _OBJECT
    else:
        data[starts] = is_large << 4 | (width - 1) << 2 | _ARRAY
    put(data, starts + 1, counts, count_width)
    ids_at, number = starts + 1 + count_width, within(counts)
    if ids:
        put(data, ids_at[owners] + number * id_width[owners], ids[0], id_width[owners])
    offsets_at = ids_at + counts * id_width
    put(data, offsets_at[owners] + number * width[owners], offsets, width[owners])
    put(data, offsets_at + counts * width, totals, width)
    return Spans(data, starts, sizes)


def _widths(numbers: Ints) -> Ints:
    """The number of bytes that holds each number."""
    return 1 + (numbers > 0xFF).astype(np.int64) + (numbers > 0xFFFF) + (numbers > 0xFFFFFF)
