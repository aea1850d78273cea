"""A manifest's entries as columns, decoded field by field instead of entry by entry.

Called by `view` and by `carrying`. `metadata_files` unpacks the container, with bounds on everything that a
damaged or hostile file could inflate; `record_columns` decodes a few blocks at a time, and `anchored_rows`
finds entries in them by the name of their file's format. Fields are looked up by their ids, so manifests of
all versions look alike: a field that a version lacks is null. Statistics of columns are decoded only for the
columns that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.anchored_rows import anchored_rows_as_columns
from lithify.columns.avro_columns import ENCODED
from lithify.columns.column_groups import Numbers
from lithify.columns.row_lanes import ByteBlock
from lithify.files.avro.metadata_files import Record, Unpacked, unpack
from lithify.files.avro.record_columns import (
    check_ranges,
    decoded_rows,
    fields_of,
    group_encoder,
    group_name,
    grouped,
)
from lithify.formats.iceberg.manifests.partition_types import PartitionType, declared_fields, physical_type
from lithify.formats.iceberg.manifests.schemas import DATA_FILE, KNOWN_ENTRY, PARTITION, canonical_name

_FEW = 16
"""Number of entries up to which decoding them one by one is faster."""
_ANCHOR = (DATA_FILE, "file_format")
_FORMATS = {b"parquet": ord("q"), b"puffin": ord("u"), b"avro": ord("v"), b"orc": ord("o")}
"""The names of file formats, each with a letter that is rare in manifests."""
_LOWER = np.uint8(0x20)

ENTRY_TYPES: Mapping[str, pa.DataType] = {
    "status": pa.int32(),
    "snapshot_id": pa.int64(),
    "sequence_number": pa.int64(),
    "file_sequence_number": pa.int64(),
}
FILE_TYPES: Mapping[str, pa.DataType] = {
    "content": pa.int32(),
    "file_path": pa.string(),
    "file_format": pa.string(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    "sort_order_id": pa.int32(),
    "first_row_id": pa.int64(),
}
DELETE_TYPES: Mapping[str, pa.DataType] = {
    "equality_ids": pa.list_(pa.int32()),
    "referenced_data_file": pa.string(),
    "content_offset": pa.int64(),
    "content_size_in_bytes": pa.int64(),
}
"""The fields of entries, of their files, and of delete files that are decoded into columns."""
_REQUIRED = ("status", "file_path", "file_format", "record_count", "file_size_in_bytes")
_RANGES = {
    "status": (0, 2),
    "content": (0, 2),
    "record_count": (0, 1 << 48),
    "file_size_in_bytes": (0, 1 << 48),
    "sequence_number": (0, 1 << 62),
    "file_sequence_number": (0, 1 << 62),
    "first_row_id": (0, 1 << 62),
    "content_offset": (0, 1 << 48),
    "content_size_in_bytes": (0, 1 << 31),
}
_MOST_PATH = 1 << 13

COUNTS = ("value_counts", "null_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")


@dataclass(frozen=True, slots=True)
class EntryRequest:
    """Which columns to decode besides the usual ones.

    Attributes:
        is_delete: whether to decode what only delete files have.
        bounds: field ids whose bounds to return, as `lower_bounds.<id>` and `upper_bounds.<id>`.
        counts: field ids whose counts to return, as `value_counts.<id>` and `null_value_counts.<id>`.
        carried: groups of adjacent fields of the file to return as they are encoded; see `group_name`.
    """

    is_delete: bool = False
    bounds: frozenset[int] = frozenset()
    counts: frozenset[int] = frozenset()
    carried: tuple[tuple[str, ...], ...] = ()

    @property
    def statistics(self) -> dict[str, list[int]]:
        """The field ids to return of each map of statistics."""
        of_bounds = {name: sorted(self.bounds) for name in BOUNDS if self.bounds}
        return {**of_bounds, **{name: sorted(self.counts) for name in COUNTS if self.counts}}


@dataclass(frozen=True, slots=True)
class DecodedManifest:
    """The entries of a manifest.

    Attributes:
        rows: a row per entry, in its order, under the names of `schemas`; `partition` is a struct of physical
            values whose fields are named by their ids.
        partition_type: the partition fields that it declares.
        file_fields: the fields of files as its schema declares them, by canonical name.
        properties: the entries of its header.
    """

    rows: pa.Table
    partition_type: PartitionType
    file_fields: Mapping[str, Mapping[str, Any]]
    properties: Mapping[str, bytes] = field(default_factory=dict)


USUAL = EntryRequest()


def unpack_manifest(content: bytes) -> Unpacked:
    """Opens a manifest.

    Raises:
        ValueError, LookupError, EOFError: it is no manifest, or a damaged one.
    """
    return unpack(content, KNOWN_ENTRY, canonical_name)


def plain_file_fields(unpacked: Unpacked) -> list[str]:
    """The names of the fields of files, in their order."""
    return [each["name"] for each in _plain_file(unpacked.schema)["fields"]]


def decode_entries(unpacked: Unpacked, request: EntryRequest = USUAL) -> DecodedManifest:
    """Decodes the entries of a manifest.

    Raises:
        ValueError, LookupError, EOFError: it is no manifest, or a damaged one.
    """
    declared, plain = _file_record(unpacked.header.schema), _plain_file(unpacked.schema)
    partition = _partition_type(declared)
    wanted, file = _wanted(plain, partition, request), grouped(plain, request.carried)
    entries = replace(unpacked, schema=_with_file(unpacked.schema, file))

    def decode(blocks: list[tuple[int, bytes]]) -> pa.StructArray:
        return anchored_rows_as_columns(entries.schema, blocks, wanted, _ANCHOR, format_anchors)

    as_wanted = partial(_as_wanted, group_encoder(file, wanted.field(DATA_FILE).type))
    try:
        parts = [_flat(rows, request) for rows in decoded_rows(entries, wanted, decode, _FEW, as_wanted)]
        table = pa.concat_tables([_flat(pa.array([], wanted), request), *parts]).combine_chunks()
    except (pa.ArrowException, OverflowError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error
    _check(table)
    fields = {canonical_name(each): each for each in declared["fields"]}
    return DecodedManifest(table, partition, fields, unpacked.header.properties)


def _file_record(schema: Any) -> Mapping[str, Any]:
    """The record of files in the schema of the file."""
    found = next(each for each in schema["fields"] if canonical_name(each) == DATA_FILE)
    return cast(Mapping[str, Any], found["type"])


def _plain_file(schema: Any) -> Mapping[str, Any]:
    kinds = [each["type"] for each in schema["fields"] if each["name"] == DATA_FILE]
    if not kinds or not isinstance(kinds[0], Mapping):
        raise ValueError("its entries have no file")
    return kinds[0]


def _with_file(schema: Any, file: Mapping[str, Any]) -> Any:
    """The schema of entries whose files have another record."""
    fields = [{**each, "type": file} if each["name"] == DATA_FILE else each for each in schema["fields"]]
    return {**schema, "fields": fields}


def _partition_type(declared: Mapping[str, Any]) -> PartitionType:
    record = next(each["type"] for each in declared["fields"] if canonical_name(each) == PARTITION)
    return declared_fields(record, _named_types(record))


def _named_types(record: Mapping[str, Any]) -> dict[str, Any]:
    """The named types that a record's fields define."""
    kinds = [each["type"] for each in record["fields"]]
    kinds = [part for kind in kinds for part in (kind if isinstance(kind, list) else [kind])]
    return {kind["name"]: kind for kind in kinds if isinstance(kind, Mapping) and "name" in kind}


def _wanted(plain: Mapping[str, Any], partition: PartitionType, request: EntryRequest) -> pa.StructType:
    """The fields to decode, as they are nested in an entry."""
    stored = next(each["type"] for each in plain["fields"] if each["name"] == PARTITION)
    parts = [
        pa.field(each["name"], physical_type(kind.type))
        for each, kind in zip(stored["fields"], partition, strict=True)
    ]
    file: list[Any] = [*FILE_TYPES.items(), *(DELETE_TYPES.items() if request.is_delete else ())]
    file.append((PARTITION, pa.struct(parts)))
    for name, ids in request.statistics.items():
        kind = pa.binary() if name in BOUNDS else pa.int64()
        file.append((name, pa.struct([(str(number), kind) for number in ids])))
    file += [(group_name(names), ENCODED) for names in request.carried]
    return pa.struct([*ENTRY_TYPES.items(), (DATA_FILE, pa.struct(file))])


def format_anchors(block: ByteBlock, enough: int) -> Numbers:
    """The offsets where the name of a file format may be encoded, in capitals or not.

    Args:
        block: encoded entries.
        enough: once as many offsets are known, rarer formats are not looked for.
    """
    lowered = block.octets[: block.size] | _LOWER
    found: Numbers = np.empty(0, dtype=np.int64)
    for name, rare in _FORMATS.items():
        places = np.flatnonzero(lowered == rare) - name.index(rare) - 1
        places = places[(places >= 0) & (places < block.size - len(name))]
        places = places[block.octets[places] == 2 * len(name)]
        for number, letter in enumerate(name, 1):
            places = places[lowered[places + number] == letter]
        found = np.sort(np.concatenate([found, places]))
        if len(found) >= enough:
            break
    return found


def _as_wanted(encode: Callable[[Record], Record], record: Record) -> Record:
    """An entry that was decoded as an object, with single keys of maps and encoded groups."""
    file = encode(record[DATA_FILE])
    for name in (*BOUNDS, *COUNTS):
        if isinstance(file.get(name), list):
            file[name] = {str(pair["key"]): pair["value"] for pair in file[name]}
    return {**{name: record.get(name) for name in ENTRY_TYPES}, DATA_FILE: file}


def _flat(rows: pa.StructArray, request: EntryRequest) -> pa.Table:
    """The records of a manifest as a table without nested records but the partition."""
    entry = fields_of(rows)
    columns = {**{name: entry[name] for name in ENTRY_TYPES}, **fields_of(entry[DATA_FILE])}
    for name in request.statistics:
        columns.update(
            {f"{name}.{number}": values for number, values in fields_of(columns.pop(name)).items()}
        )
    if not request.carried:
        columns["file_format"] = pc.utf8_lower(columns["file_format"])
    columns["content"] = columns["content"].fill_null(0)
    return pa.table(columns)


def _check(rows: pa.Table) -> None:
    """Checks that what is required is there, and that numbers are in the ranges of real files."""
    for name in _REQUIRED:
        if rows[name].null_count:
            raise ValueError(f"{name} is missing in an entry")
    check_ranges(rows, _RANGES, "an entry")
    lengths = pc.min_max(pc.binary_length(rows["file_path"])).as_py()
    if lengths["max"] is not None and not 0 < lengths["min"] <= lengths["max"] <= _MOST_PATH:
        raise ValueError("an entry has no path, or too long a one")
