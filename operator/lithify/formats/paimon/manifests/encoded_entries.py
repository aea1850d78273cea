"""Manifest entries as columns together with their own bytes, to be written again in another order.

Called by `manifest_sorting`. Everything about a file that a merge does not ask stays encoded, so nothing of
it is interpreted or lost. Manifests of earlier releases lack the last fields: these are added as nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any, cast

import numpy as np
import pyarrow as pa
from fastavro import parse_schema, schemaless_writer
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.columns.avro_columns import ENCODED, rows_as_columns
from lithify.columns.column_groups import whole
from lithify.files.avro.encoding import Cells, as_column, encode_rows, encoded
from lithify.files.avro.metadata_files import (
    Record,
    Unpacked,
    field_names,
    has_same_encoding,
    plain_schema,
    unpack,
)
from lithify.files.avro.record_columns import decoded_rows
from lithify.formats.paimon.manifests.entries import ENTRY_VERSION
from lithify.formats.paimon.manifests.entry_columns import decode_entries, row_starts

ENTRY = "entry"
"""The column with the bytes of an entry, as this release writes it."""

_FILE = "_FILE"
_HEAD = ("kind", "partition", "bucket", "total_buckets")
"""The fields of an entry after its version and before its file."""
_OF_TOTALS = ("rows", "schema_id", "level", "first_row_id")
_COLUMNS = (*_HEAD, *_OF_TOTALS)
_FEW = 64
_WANTED = pa.struct([(_FILE, ENCODED)])
_NULL = 0
"""The byte of a union's branch for null."""


class UnknownFields(Exception):
    """A manifest is of a later format: it can be read, but not written again."""


def encoded_entries(content: bytes) -> pa.Table:
    """The entries of a manifest, in its order: place and figures of their files, and `ENTRY`.

    Raises:
        ValueError, LookupError, EOFError: it is not a manifest, or a damaged one.
        UnknownFields: entries have fields that this release does not know.
    """
    frame = decode_entries(content).select(_COLUMNS)
    unpacked = unpack(content, MANIFEST_ENTRY_SCHEMA)
    if not field_names(unpacked.schema) <= _KNOWN_FIELDS:
        raise UnknownFields
    version = pa.array(np.full(len(frame), ENTRY_VERSION, dtype=np.int32))
    columns = [version, *(whole(frame[name]) for name in _HEAD), *_files(unpacked, len(frame))]
    data, lengths = encode_rows(columns, [False] * len(columns))
    return frame.append_column(ENTRY, as_column(Cells(data, lengths)))


def _files(unpacked: Unpacked, count: int) -> list[Cells]:
    """The bytes of the files as this release writes them."""
    missing = _missing(_record(unpacked.schema))
    rows = [*_encoded_files(unpacked, is_copied=missing is not None)]
    cells = encoded(pa.concat_arrays([each.field(_FILE) for each in rows]))
    if not missing:
        return [cells]
    nulls = Cells(np.full(count * missing, _NULL, dtype=np.uint8), np.full(count, missing, dtype=np.int64))
    return [cells, nulls]


def _encoded_files(unpacked: Unpacked, *, is_copied: bool) -> Any:
    """The files of portions of a manifest; copied if their fields are the first ones of this release."""
    kind = parse_schema(_file_type(_record(unpacked.schema)) if is_copied else _file_type(_KNOWN))

    def as_wanted(record: Record) -> Record:
        stream = BytesIO()
        schemaless_writer(stream, kind, record[_FILE])
        return {_FILE: stream.getvalue()}

    def decode(blocks: list[tuple[int, bytes]]) -> pa.StructArray:
        return rows_as_columns(unpacked.schema, blocks, _WANTED, row_starts)

    if is_copied:
        return decoded_rows(unpacked, _WANTED, decode, _FEW, as_wanted)
    return iter([pa.array(map(as_wanted, unpacked.records()), _WANTED)])


def _missing(record: Mapping[str, Any]) -> int | None:
    """How many fields of a file a manifest lacks at its end; None if it differs from ours in another way."""
    stored, known = _file_type(record)["fields"], _file_type(_KNOWN)["fields"]
    is_start = len(stored) <= len(known) and all(
        mine["name"] == theirs["name"] and has_same_encoding(mine["type"], theirs["type"])
        for mine, theirs in zip(stored, known, strict=False)
    )
    is_nullable = all(isinstance(field["type"], list) for field in known[len(stored) :])
    return len(known) - len(stored) if is_start and is_nullable else None


def _record(schema: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], schema[1] if isinstance(schema, list) else schema)


def _file_type(record: Mapping[str, Any]) -> dict[str, Any]:
    kind = next(field["type"] for field in record["fields"] if field["name"] == _FILE)
    return dict(_record(kind))


_KNOWN = plain_schema(MANIFEST_ENTRY_SCHEMA)
_KNOWN_FIELDS = field_names(MANIFEST_ENTRY_SCHEMA)
