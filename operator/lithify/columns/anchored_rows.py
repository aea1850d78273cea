"""Decodes Avro rows to columns where no row begins recognisably, but a field within each row does.

Called by adapters for manifests. The caller finds the *anchors*: offsets of a field whose encoding is
conspicuous, such as the name of a file format. Rows are read from their anchors to their ends, all in
parallel; the ends are where the next rows start, and the fields before the anchors are read from there. As
each of these must end exactly at an anchor, the rows are those that sequential reading finds; otherwise
`Unsure` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.avro_columns import Unsure, check_blocks, read_record, rows_among, struct_of
from lithify.columns.row_lanes import ByteBlock, Lanes, Numbers

Anchors = Callable[[ByteBlock, int], Numbers]
"""Finds where a certain field may be in a block: ascending offsets, as many as are enough, or all."""


def anchored_rows_as_columns(
    schema: Any,
    blocks: Sequence[tuple[int, bytes]],
    wanted: pa.StructType,
    path: Sequence[str],
    anchors: Anchors,
) -> pa.StructArray:
    """Decodes the rows of some blocks.

    Args:
        schema: a plain record.
        blocks: number of rows and bytes of each block.
        wanted: the fields to return, as for `avro_columns.rows_as_columns`.
        path: names of the nested records and of the field that `anchors` finds.
        anchors: finds that field in the rows. As many as there are rows are enough at first.

    Raises:
        Unsure: the rows have to be read one by one.
        ArrowInvalid: the same, or a value does not fit its requested type.
    """
    block = ByteBlock(b"".join(data for _, data in blocks))
    bounds = np.cumsum([0, *(len(data) for _, data in blocks)])
    counts = np.array([rows for rows, _ in blocks])
    halves = _halves(schema, path)
    try:
        rows, starts = _rows(block, halves, wanted, anchors(block, int(counts.sum())), counts)
    except Unsure:  # some of the anchors were none, and as many were not looked for
        rows, starts = _rows(block, halves, wanted, anchors(block, block.size), counts)
    check_blocks(starts, bounds, counts)
    return rows


def _rows(
    block: ByteBlock, halves: tuple[Any, Any], wanted: pa.StructType, marks: Numbers, counts: Numbers
) -> tuple[pa.StructArray, Numbers]:
    """The rows whose anchors are among some offsets, and where they start."""
    head, tail = halves
    if len(marks) != counts.sum():
        marks = _marks_among(block, marks, head, tail)
    if not len(marks):
        raise Unsure
    tails = Lanes(block, marks)
    after = read_record(tail, tails, wanted)
    starts = np.concatenate([[0], tails.at[:-1]])
    heads = Lanes(block, starts)
    before = read_record(head, heads, wanted)
    if not np.array_equal(heads.at, marks) or tails.at[-1] != block.size:
        raise Unsure
    return _joined(before, after, head, wanted), starts


def _halves(schema: Any, path: Sequence[str]) -> tuple[Any, Any]:
    """The record's fields before those of the path, and from them on."""
    if not isinstance(schema, Mapping) or schema["type"] != "record":
        raise Unsure
    fields = schema["fields"]
    place = next((number for number, field in enumerate(fields) if field["name"] == path[0]), None)
    if place is None:
        raise Unsure
    head, tail = list(fields[:place]), list(fields[place:])
    if len(path) > 1:
        inner = _halves(fields[place]["type"], path[1:])
        before, after = ({**fields[place], "type": half} for half in inner)
        head, tail = [*head, before], [after, *tail[1:]]
    return {**schema, "fields": head}, {**schema, "fields": tail}


def _marks_among(block: ByteBlock, marks: Numbers, head: Any, tail: Any) -> Numbers:
    """The anchors that are reached by going from the start of the bytes to one, and on to the next."""
    first = Lanes(block, np.zeros(1, dtype=np.int64))
    read_record(head, first, None)
    marks = marks[np.searchsorted(marks, first.at[0]) :]
    if not len(marks) or marks[0] != first.at[0]:
        raise Unsure
    lanes = Lanes(block, marks)
    read_record(tail, lanes, None)
    is_last = lanes.at == block.size
    rows = Lanes(block, lanes.at)
    read_record(head, rows, None)
    return rows_among(marks, np.where(is_last, block.size, rows.at), block.size)


def _joined(before: pa.Array, after: pa.Array, head: Any, wanted: pa.StructType) -> pa.StructArray:
    """The fields of both halves."""
    begun = {field["name"]: field["type"] for field in head["fields"]}
    last = head["fields"][-1]["name"] if head["fields"] else None
    columns = []
    for number, field in enumerate(wanted):
        parts = before.field(number), after.field(number)
        is_split = field.name == last and _is_record(begun[field.name]) and pa.types.is_struct(field.type)
        if is_split:
            columns.append(_joined(*parts, begun[field.name], field.type))
        else:
            columns.append(parts[0] if field.name in begun else parts[1])
    return struct_of(columns, wanted, len(before))


def _is_record(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema["type"] == "record"
