"""Footers in which Parquet's INT96 columns are labelled as 12 fixed bytes, and back.

PyArrow converts INT96 to int64 nanoseconds, which overflow after the year 2262, and writes INT96 for all
timestamps of a file or for none. The bytes of both types are the same in data and dictionary pages; only the
footer differs. So the reader gives PyArrow a footer with fixed bytes, and the writer lets PyArrow write those
and finally relabels the columns that Java stores as INT96.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.files.parquet.thrift import (
    I32,
    ROW_GROUPS,
    Thrift,
    column_chunks,
    with_footer,
)

_INT96, _FIXED = 3, 7
"""Values of `Type` in `parquet.thrift`."""
_WIDTH = 12

_SCHEMA = 2
_TYPE, _TYPE_LENGTH, _CHILDREN, _CONVERTED, _LOGICAL = 1, 2, 5, 6, 10


def has_int96(footer: pq.FileMetaData) -> bool:
    """Whether any column of a file is INT96."""
    columns = (footer.schema.column(index) for index in range(footer.num_columns))
    return any(column.physical_type == "INT96" for column in columns)


def with_fixed_bytes(footer: pq.FileMetaData) -> pq.FileMetaData:
    """The footer of a file with its INT96 columns labelled as 12 fixed bytes; unchanged if there are none."""
    if not has_int96(footer):
        return footer
    whole = io.BytesIO()
    footer.write_metadata_file(whole)
    relabelled = with_footer(whole.getvalue(), partial(_relabelled, to_int96=False))
    return pq.read_metadata(pa.BufferReader(relabelled))


def with_int96(footer: bytes) -> bytes:
    """The footer of a file with its columns of 12 fixed bytes and no logical type labelled as INT96."""
    return _relabelled(footer, to_int96=True)


@dataclass(slots=True)
class _Leaf:
    """Where a column's label is in the footer: positions of the values of `type` and `type_length`."""

    type: int = 0
    type_at: int = 0
    length: int = 0
    length_from: int = 0
    length_to: int = 0
    next_header_at: int = 0
    children: int = 0
    has_meaning: bool = False

    def is_wanted(self, *, to_int96: bool) -> bool:
        if to_int96:
            return self.type == _FIXED and self.length == _WIDTH and not self.has_meaning
        return self.type == _INT96


def _relabelled(footer: bytes, *, to_int96: bool) -> bytes:
    thrift = Thrift(footer)
    wanted: list[bool] = []
    for number, kind, _ in thrift.fields():
        if number == _SCHEMA:
            leaves = [leaf for leaf in thrift.each(_leaf) if not leaf.children]
            wanted = [leaf.is_wanted(to_int96=to_int96) for leaf in leaves]
            for leaf in (leaf for leaf, is_wanted in zip(leaves, wanted, strict=True) if is_wanted):
                _relabel(thrift, leaf, to_int96=to_int96)
        elif number == ROW_GROUPS:
            for types_at in thrift.each(lambda group: column_chunks(group, _type_of_chunk)):
                _relabel_chunks(thrift, types_at, wanted, to_int96=to_int96)
        else:
            thrift.skip(kind)
    return thrift.changed()


def _leaf(thrift: Thrift) -> _Leaf:
    leaf = _Leaf()
    previous = 0
    for number, kind, header_at in thrift.fields():
        if previous in (_TYPE, _TYPE_LENGTH):
            leaf.next_header_at = header_at
        previous = number
        if number == _TYPE:
            leaf.type_at = thrift.at
            leaf.type = thrift.integer()
        elif number == _TYPE_LENGTH:
            leaf.length_from = header_at
            leaf.length = thrift.integer()
            leaf.length_to = thrift.at
        elif number == _CHILDREN:
            leaf.children = thrift.integer()
        else:
            leaf.has_meaning = leaf.has_meaning or number in (_CONVERTED, _LOGICAL)
            thrift.skip(kind)
    return leaf


def _relabel(thrift: Thrift, leaf: _Leaf, *, to_int96: bool) -> None:
    """Changes a schema element: its type, and its length, on which the next field header depends."""
    label = _label(to_int96=to_int96)
    length = b"" if to_int96 else bytes([0x10 | I32, _WIDTH << 1])
    if leaf.length_from:
        thrift.changes += [
            (leaf.type_at, leaf.type_at + 1, label),
            (leaf.length_from, leaf.length_to, length),
        ]
    else:
        thrift.changes.append((leaf.type_at, leaf.type_at + 1, label + length))
    header = thrift.data[leaf.next_header_at]
    step = int(to_int96) - int(not leaf.length_from)
    thrift.changes.append((leaf.next_header_at, leaf.next_header_at + 1, bytes([header + (step << 4)])))


def _label(*, to_int96: bool) -> bytes:
    return bytes([(_INT96 if to_int96 else _FIXED) << 1])


def _type_of_chunk(thrift: Thrift) -> int:
    """Position of the type in a column chunk's metadata."""
    found = 0
    for number, kind, _ in thrift.fields():
        if number == _TYPE:
            found = thrift.at
        thrift.skip(kind)
    return found


def _relabel_chunks(thrift: Thrift, types_at: list[int], wanted: list[bool], *, to_int96: bool) -> None:
    for at in (at for at, is_wanted in zip(types_at, wanted, strict=True) if is_wanted):
        thrift.changes.append((at, at + 1, _label(to_int96=to_int96)))
