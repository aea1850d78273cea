"""Rows of metadata files (`metadata_files`) as columns, a portion at a time.

Called by adapters for manifests. A portion is decoded by columns where its caller can; what it cannot decode,
and very small portions, are decoded row by row with fastavro; the results are the same. Fields that a caller
only passes on may stay encoded: adjacent ones are put into records of their own, which changes no byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from fastavro import parse_schema, schemaless_writer

from lithify.columns.avro_columns import ENCODED, Unsure
from lithify.files.avro.metadata_files import Record, Unpacked

_AT_A_TIME = 2 << 20
"""Bytes of uncompressed rows that are decoded at a time: as columns they take many times as much memory."""
_MOST_AT_ONCE = 8 << 20
"""Maximum bytes of rows that are decoded by columns; this takes about 30 times as much memory."""
_OBJECTS = 1 << 10
"""Maximum number of rows that exist as objects at a time."""

Decode = Callable[[list[tuple[int, bytes]]], pa.StructArray]
"""Decodes some blocks by columns; raises `Unsure` or `ArrowInvalid` if they have to be read row by row."""


def decoded_rows(
    unpacked: Unpacked,
    wanted: pa.StructType,
    decode: Decode,
    few: int,
    as_wanted: Callable[[Record], Record] | None = None,
) -> Iterator[pa.StructArray]:
    """The rows of a file in portions, with the requested fields.

    Args:
        unpacked: the file.
        wanted: the requested fields.
        decode: decodes blocks by columns.
        few: number of rows up to which decoding them one by one is faster.
        as_wanted: makes a row with the requested fields of one that was decoded as an object; None if it has
            them already.
    """
    for blocks in unpacked.portions(_AT_A_TIME):
        if sum(rows for rows, _ in blocks) > few and sum(len(data) for _, data in blocks) <= _MOST_AT_ONCE:
            with suppress(Unsure, pa.ArrowInvalid):
                yield decode(blocks)
                continue
        records = unpacked.records(blocks)
        while part := list(islice(records, _OBJECTS)):
            yield pa.array(part if as_wanted is None else map(as_wanted, part), wanted)


def fields_of(record: pa.StructArray) -> dict[str, pa.Array]:
    """The fields of a record by name; null where the record is null."""
    return dict(zip((field.name for field in record.type), record.flatten(), strict=True))


def check_ranges(rows: pa.Table, ranges: Mapping[str, tuple[int, int]], what: str) -> None:
    """Checks that numbers are in the ranges of real files; columns that the rows lack are passed over.

    Raises:
        ValueError: one is not.
    """
    for name, (low, high) in ranges.items():
        if name not in rows.column_names:
            continue
        found = pc.min_max(rows[name]).as_py()
        if found["min"] is not None and not low <= found["min"] <= found["max"] <= high:
            raise ValueError(f"{name} of {what} is out of range")


def group_name(names: Sequence[str]) -> str:
    """The field of a group of fields that stays encoded."""
    return f"encoded_{names[0]}"


def grouped(record: Mapping[str, Any], groups: Sequence[tuple[str, ...]]) -> Mapping[str, Any]:
    """A plain record in which groups of adjacent fields are records of their own; see `group_name`."""
    first = {names[0]: names for names in groups}
    inner = {name for names in groups for name in names}
    kinds = {each["name"]: each for each in record["fields"]}
    fields = []
    for each in record["fields"]:
        if names := first.get(each["name"]):
            name = group_name(names)
            kind = {"type": "record", "name": name, "fields": [kinds[each] for each in names]}
            fields.append({"name": name, "type": kind})
        elif each["name"] not in inner:
            fields.append(each)
    return {**record, "fields": fields}


def group_encoder(record: Mapping[str, Any], wanted: pa.StructType) -> Callable[[Record], Record]:
    """Encodes the groups of a record that was decoded as an object.

    Args:
        record: the record with its groups.
        wanted: the requested fields; groups are of type `ENCODED`.
    """
    kinds = {each["name"]: each["type"] for each in record["fields"]}
    schemas = {each.name: parse_schema(kinds[each.name]) for each in wanted if each.type == ENCODED}

    def encode(decoded: Record) -> Record:
        return {**decoded, **{name: _encoded(schema, decoded[name]) for name, schema in schemas.items()}}

    return encode


def _encoded(schema: Any, value: Any) -> bytes:
    stream = BytesIO()
    schemaless_writer(stream, schema, value)
    return stream.getvalue()
