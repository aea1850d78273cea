"""Decodes Avro rows to columns, without an object for each row or a loop over rows.

Called by adapters for manifests, and by `anchored_rows`. The start of an Avro row is only known once the
previous row was read, so starts are guessed: decoding begins at every offset that looks like a start to the
adapter, all in parallel (`row_lanes`), and those reachable from the first row, each row ending where the next
starts, are the rows.
These are exactly the rows that sequential reading finds; otherwise `Unsure` is raised: they are not as
expected, or damaged, and have to be read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.row_lanes import ByteBlock, Lanes, Numbers

_MOST_ITEMS = 256
"""Maximum length of lists whose items are read one after the other, for all rows in parallel."""
_SIZES = {"boolean": 1, "float": 4, "double": 8}
_INTEGERS = ("int", "long")
_KEY_AND_VALUE = 2

ENCODED = pa.large_binary()
"""The type that requests a field of any type as the bytes of its values in Avro."""


Starts = Callable[[ByteBlock, bytes], Numbers]
"""Finds where rows may start in a block; the bytes begin every row."""


class Unsure(Exception):
    """The starts of rows are not known, or their content is not as usual."""


def rows_as_columns(
    schema: Any, blocks: Sequence[tuple[int, bytes]], wanted: pa.StructType, starts_of: Starts
) -> pa.StructArray:
    """Decodes the rows of some blocks.

    Args:
        schema: a plain record, or a union of null and one.
        blocks: number of rows and bytes of each block.
        wanted: the fields to return; fields that rows do not have are null. Of a map that is stored as an
            array of keys and values, a struct requests single keys: its fields are named by them.
            `ENCODED` requests the bytes of a field.
        starts_of: finds the offsets where a row may start, ascending, without missing any.

    Raises:
        Unsure: the rows have to be read one by one.
        ArrowInvalid: the same, or a value does not fit its requested type.
    """
    is_union = isinstance(schema, list)
    record = schema[1] if is_union else schema
    block = ByteBlock(b"".join(data for _, data in blocks))
    bounds = np.cumsum([0, *(len(data) for _, data in blocks)])
    counts = np.array([rows for rows, _ in blocks])
    starts = starts_of(block, b"\x02" if is_union else b"")
    if not len(starts) or starts[0]:
        raise Unsure
    if len(starts) != counts.sum():
        starts = rows_among(starts, _read(schema, Lanes(block, starts), None), block.size)
    check_blocks(starts, bounds, counts)
    lanes = Lanes(block, starts)
    if is_union and not lanes.branches().all():
        raise Unsure
    rows: pa.StructArray = read_record(record, lanes, wanted)
    if not np.array_equal(lanes.at, np.append(starts[1:], block.size)):
        raise Unsure
    return rows


def rows_among(starts: Numbers, ends: Numbers, size: int) -> Numbers:
    """The starts that are reached by going from the end of a row to the next, from the first one on."""
    last, nowhere = len(starts), len(starts) + 1
    step = np.searchsorted(starts, ends)
    is_start = starts[np.minimum(step, last - 1)] == ends
    step = np.where(ends == size, last, np.where(is_start, step, nowhere))
    step = np.concatenate([step, [last, nowhere]])
    met = np.zeros(len(step), dtype=bool)
    met[0] = True
    for _ in range(last.bit_length()):  # each pass doubles the number of steps
        met[step[met]] = True
        step = step[step]
    if met[nowhere] or not met[last]:
        raise Unsure
    return starts[met[:last]]


def check_blocks(starts: Numbers, bounds: Numbers, counts: Numbers) -> None:
    """Checks that each block starts with a row and has its declared number of rows."""
    firsts = np.searchsorted(starts, bounds)
    begun = firsts[:-1][counts > 0]
    if not np.array_equal(np.diff(firsts), counts) or (starts[begun] != bounds[:-1][counts > 0]).any():
        raise Unsure


def _read(schema: Any, lanes: Lanes, wanted: pa.DataType | None) -> Any:
    """Reads a field of all rows: a column of the requested type; if None, only the end offsets."""
    if wanted == ENCODED:
        starts = lanes.at
        return _texts(lanes.block, starts, _read(schema, lanes, None)).cast(ENCODED)
    if isinstance(schema, list):
        return _nullable(schema[1], lanes, wanted)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind == "record":
        return read_record(schema, lanes, wanted)
    if kind == "array":
        is_keyed = wanted is not None and pa.types.is_struct(wanted)
        return (_keyed if is_keyed else _array)(schema["items"], lanes, wanted)
    if kind in _INTEGERS:
        values = lanes.longs()
        return lanes.at if wanted is None else _numbers(values, wanted)
    if kind in ("bytes", "string"):
        starts, ends = lanes.bytes()
        return lanes.at if wanted is None else _texts(lanes.block, starts, ends).cast(wanted)
    return _fixed(schema["size"] if kind == "fixed" else _SIZES[kind], kind, lanes, wanted)


def _numbers(values: Numbers, wanted: pa.DataType) -> pa.Array:
    column = pa.array(values)
    return column if wanted == column.type else column.cast(wanted)


def _fixed(size: int, kind: str, lanes: Lanes, wanted: pa.DataType | None) -> Any:
    """Reads values of a fixed width."""
    starts = lanes.at
    lanes.move(starts + size)
    if wanted is None:
        return lanes.at
    if (lanes.at == lanes.nowhere).any():
        raise Unsure
    if kind == "fixed":
        return _texts(lanes.block, starts, lanes.at).cast(wanted)
    octets = lanes.block.octets[starts[:, None] + np.arange(size)]
    if kind == "boolean":
        return pa.array(octets.ravel().astype(np.bool_)).cast(wanted)
    return pa.array(octets.view("<f4" if kind == "float" else "<f8").ravel()).cast(wanted)


def read_record(schema: Mapping[str, Any], lanes: Lanes, wanted: pa.DataType | None) -> Any:
    """Reads a record: a struct of the requested fields; missing ones are null."""
    types = {} if wanted is None else {field.name: field.type for field in wanted}
    found = {}
    for field in schema["fields"]:
        found[field["name"]] = _read(field["type"], lanes, types.get(field["name"]))
    if wanted is None:
        return lanes.at
    rows = len(lanes.at)
    columns = [found[name] if name in found else pa.nulls(rows, kind) for name, kind in types.items()]
    return struct_of(columns, wanted, rows)


def struct_of(columns: Sequence[pa.Array], kind: pa.StructType, rows: int) -> pa.StructArray:
    """Columns as a struct, which may have no fields."""
    return pa.Array.from_buffers(kind, rows, [None], children=list(columns))


def _nullable(schema: Any, lanes: Lanes, wanted: pa.DataType | None) -> Any:
    """Reads a union of null and a type."""
    is_there = lanes.branches()
    if is_there.all():
        return _read(schema, lanes, wanted)
    if not is_there.any():
        return lanes.at if wanted is None else pa.nulls(len(is_there), wanted)
    rows = np.flatnonzero(is_there)
    some = lanes.some(rows)
    values = _read(schema, some, wanted)
    lanes.rejoin(rows, some)
    if wanted is None:
        return lanes.at
    places = np.cumsum(is_there) - 1
    return values.take(pa.array(places, mask=~is_there))


def _array(items: Any, lanes: Lanes, wanted: pa.DataType | None) -> Any:
    """Reads an array with a single block of items, as all libraries write it."""
    counts = _counts(lanes)
    rows = np.flatnonzero(counts)
    values: Any = None
    if len(rows):
        some = lanes.some(rows)
        values = _items(items, some, counts[rows], None if wanted is None else wanted.value_type)
        _end(some)
        lanes.rejoin(rows, some)
    if wanted is None:
        return lanes.at
    offsets = np.cumsum([0, *counts], dtype=np.int32)
    values = pa.nulls(0, wanted.value_type) if values is None else values
    return pa.ListArray.from_arrays(pa.array(offsets), values, type=wanted)


def _counts(lanes: Lanes) -> Numbers:
    """Reads the number of items of an array's block."""
    counts = lanes.longs()
    lanes.move(lanes.at, where=(counts >= 0) & (counts <= lanes.block.size - lanes.at))
    return np.where(lanes.at == lanes.nowhere, 0, counts)


def _end(lanes: Lanes) -> None:
    """Reads the zero after the only block of an array."""
    is_end = lanes.longs() == 0
    lanes.move(lanes.at, where=is_end)


def _keyed(items: Any, lanes: Lanes, wanted: pa.StructType) -> pa.StructArray:
    """Reads the values of single keys of a map that is stored as an array of keys and values."""
    value = _value_of_keyed(items)
    counts = _counts(lanes)
    places = {field.name: np.full(len(counts), -1) for field in wanted}
    rows = np.flatnonzero(counts)
    if len(rows):
        some = lanes.some(rows)
        some.move(some.at, where=counts[rows] <= _MOST_ITEMS)
        for number in range(int(counts[counts <= _MOST_ITEMS].max(initial=0))):
            still = np.flatnonzero((counts[rows] > number) & (some.at != some.nowhere))
            is_all = len(still) == len(rows)
            part = some if is_all else some.some(still)
            keys, values = _key_and_past(value, part)
            for name, place in places.items():
                hits = np.flatnonzero(keys == int(name))
                place[rows[still[hits]]] = values[hits]
            if not is_all:
                some.rejoin(still, part)
        _end(some)
        lanes.rejoin(rows, some)
    columns = [_at(value, lanes.block, places[field.name], field.type) for field in wanted]
    return struct_of(columns, wanted, len(counts))


def _key_and_past(value: Any, lanes: Lanes) -> tuple[Numbers, Numbers]:
    """Reads a key and moves past its value: the keys, and the offsets of the values."""
    start = lanes.at
    if value in ("bytes", "string") and (keys := lanes.short_entries()) is not None:
        return keys, start + 1
    keys, values = lanes.longs(), lanes.at
    _read(value, lanes, None)
    return keys, values


def _value_of_keyed(items: Any) -> Any:
    """The type of the values of a map that is stored as an array of keys and values."""
    fields = items["fields"] if isinstance(items, Mapping) and items["type"] == "record" else []
    if len(fields) != _KEY_AND_VALUE or fields[0]["type"] not in _INTEGERS:
        raise Unsure
    return fields[1]["type"]


def _at(schema: Any, block: ByteBlock, places: Numbers, wanted: pa.DataType) -> pa.Array:
    """Reads a value at each offset; null where it is -1."""
    is_there = places >= 0
    values = _read(schema, Lanes(block, places[is_there]), wanted)
    if is_there.all():
        return values
    return values.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))


def _items(schema: Any, lanes: Lanes, counts: Numbers, wanted: pa.DataType | None) -> Any:
    """Reads `counts` items in each row, at least one; returns the items in row order."""
    is_union = isinstance(schema, list)
    if wanted is None and (each := _integers_in(schema)) and _past_numbers(lanes, each * counts):
        return None
    if (schema[1] if is_union else schema) in _INTEGERS:
        places = _places_of_numbers(lanes, counts, is_union=is_union)
        if places is not None:
            return None if wanted is None else pa.array(Lanes(lanes.block, places).longs()).cast(wanted)
    lanes.move(lanes.at, where=counts <= _MOST_ITEMS)
    parts, order = [], []
    for number in range(int(counts[counts <= _MOST_ITEMS].max(initial=0))):
        rows = np.flatnonzero((counts > number) & (lanes.at != lanes.nowhere))
        some = lanes.some(rows)
        parts.append(_read(schema, some, wanted))
        order.append(rows)
        lanes.rejoin(rows, some)
    if wanted is None:
        return None
    by_row = np.argsort(np.concatenate(order), kind="stable") if order else np.empty(0, dtype=np.int64)
    if len(by_row) != counts.sum():
        raise Unsure
    return pa.concat_arrays(parts).take(pa.array(by_row))


def _integers_in(schema: Any) -> int:
    """The number of integers that an item consists of; 0 if there is anything else in it."""
    if not isinstance(schema, Mapping) or schema["type"] != "record":
        return 0
    kinds = [field["type"] for field in schema["fields"]]
    return len(kinds) if all(kind in _INTEGERS for kind in kinds) else 0


def _past_numbers(lanes: Lanes, counts: Numbers) -> bool:
    """Moves past `counts` numbers in each row, at least one; false if a block cannot have as many."""
    if (counts > lanes.block.size).any():
        return False
    lanes.move(lanes.block.past_numbers(lanes.at, counts))
    return True


def _places_of_numbers(lanes: Lanes, counts: Numbers, *, is_union: bool) -> Numbers | None:
    """The offsets of `counts` numbers in each row, and moves past them; None if one of them is null.

    Every number ends with the first byte below 128, so counting such bytes finds the end of the last.
    """
    ends, each = lanes.block.ends, 2 if is_union else 1
    total = int(counts.sum())
    firsts = np.searchsorted(ends, lanes.at)
    lasts = firsts + each * counts
    if total > lanes.block.size or (lasts > len(ends)).any() or (firsts == 0).any():
        return None
    items = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    items = np.repeat(firsts, counts) + each * items
    if is_union:
        branches = ends[items]
        if (lanes.block.octets[branches] != 2).any() or (branches - ends[items - 1] != 1).any():
            return None
    lanes.move(ends[lasts - 1] + 1)
    return ends[items + each - 2] + 1


def _texts(block: ByteBlock, starts: Numbers, ends: Numbers) -> pa.Array:
    """Byte ranges of the block as a column: ranges and gaps form one column, from which gaps are dropped."""
    bounds = np.empty(2 * len(starts), dtype=np.int32)
    bounds[::2], bounds[1::2] = starts, ends
    if len(bounds) == 0:
        return pa.array([], pa.binary())
    if (np.diff(bounds) < 0).any() or bounds[-1] > block.size:
        raise Unsure
    parts = pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), block.buffer])
    return parts.take(pa.array(np.arange(0, len(parts), 2)))
