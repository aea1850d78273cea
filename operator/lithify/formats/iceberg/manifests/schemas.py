"""The Avro schemas of manifests and of their lists, for versions 1 to 3.

Used by readers and writers beside this module. Fields have the ids, names and order of Iceberg's own writer.
Readers find fields by these ids, as the specification demands: writers have used several names. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lithify.formats.iceberg.manifests.partition_types import PartitionType, avro_type

DATA_FILE = "data_file"
PARTITION = "partition"
BLOCK_SIZE = "block_size_in_bytes"
"""A field of version 1 that is required, and means nothing."""

PATH_FIELD = 2147483546
"""Field id of the column `file_path` in position delete files."""

Type = Any
"""A type of Avro's, as in JSON."""


def _map(key: int, value: int, kind: str) -> Type:
    fields = [
        {"name": "key", "type": "int", "field-id": key},
        {"name": "value", "type": kind, "field-id": value},
    ]
    items = {"type": "record", "name": f"k{key}_v{value}", "fields": fields}
    return {"type": "array", "items": items, "logicalType": "map"}


def _list(element: int, items: Type) -> Type:
    return {"type": "array", "items": items, "element-id": element}


def _required(number: int, name: str, kind: Type) -> dict[str, Any]:
    return {"name": name, "type": kind, "field-id": number}


def _optional(number: int, name: str, kind: Type) -> dict[str, Any]:
    return {"name": name, "type": ["null", kind], "default": None, "field-id": number}


_STATUS = _required(0, "status", "int")
_SNAPSHOT = _optional(1, "snapshot_id", "long")
_SEQUENCES = [_optional(3, "sequence_number", "long"), _optional(4, "file_sequence_number", "long")]
_CONTENT = _required(134, "content", "int")
_LOCATION = [_required(100, "file_path", "string"), _required(101, "file_format", "string")]
_SIZES = [_required(103, "record_count", "long"), _required(104, "file_size_in_bytes", "long")]
_METRICS = [
    _optional(108, "column_sizes", _map(117, 118, "long")),
    _optional(109, "value_counts", _map(119, 120, "long")),
    _optional(110, "null_value_counts", _map(121, 122, "long")),
    _optional(137, "nan_value_counts", _map(138, 139, "long")),
    _optional(125, "lower_bounds", _map(126, 127, "bytes")),
    _optional(128, "upper_bounds", _map(129, 130, "bytes")),
    _optional(131, "key_metadata", "bytes"),
    _optional(132, "split_offsets", _list(133, "long")),
]
_EQUALITY_IDS = _optional(135, "equality_ids", _list(136, "int"))
_SORT_ORDER = _optional(140, "sort_order_id", "int")
_FIRST_ROW_ID = _optional(142, "first_row_id", "long")
_REFERENCED = _optional(143, "referenced_data_file", "string")
_OF_BLOB = [_optional(144, "content_offset", "long"), _optional(145, "content_size_in_bytes", "long")]
_BEFORE_PARTITION = {1: _LOCATION, 2: [_CONTENT, *_LOCATION], 3: [_CONTENT, *_LOCATION]}
_AFTER_PARTITION = {
    1: [*_SIZES, _required(105, BLOCK_SIZE, "long"), *_METRICS, _SORT_ORDER],
    2: [*_SIZES, *_METRICS, _EQUALITY_IDS, _SORT_ORDER, _REFERENCED],
    3: [*_SIZES, *_METRICS, _EQUALITY_IDS, _SORT_ORDER, _FIRST_ROW_ID, _REFERENCED, *_OF_BLOB],
}

_SUMMARY_FIELDS = [
    _required(509, "contains_null", "boolean"),
    _optional(518, "contains_nan", "boolean"),
    _optional(510, "lower_bound", "bytes"),
    _optional(511, "upper_bound", "bytes"),
]
_SUMMARY = {"type": "record", "name": "r508", "fields": _SUMMARY_FIELDS}
_SUMMARIES = _optional(507, "partitions", _list(508, _SUMMARY))
_MANIFEST = [
    _required(500, "manifest_path", "string"),
    _required(501, "manifest_length", "long"),
    _required(502, "partition_spec_id", "int"),
]
_SNAPSHOT_ADDED = _required(503, "added_snapshot_id", "long")
_FILES = {504: "added_files_count", 505: "existing_files_count", 506: "deleted_files_count"}
_ROWS = {512: "added_rows_count", 513: "existing_rows_count", 514: "deleted_rows_count"}
_KEY_METADATA = _optional(519, "key_metadata", "bytes")
_SINCE_2 = [
    *_MANIFEST,
    _required(517, "content", "int"),
    _required(515, "sequence_number", "long"),
    _required(516, "min_sequence_number", "long"),
    _SNAPSHOT_ADDED,
    *(_required(number, name, "int") for number, name in _FILES.items()),
    *(_required(number, name, "long") for number, name in _ROWS.items()),
    _SUMMARIES,
    _KEY_METADATA,
]
_LISTS = {
    1: [
        *_MANIFEST,
        _SNAPSHOT_ADDED,
        *(_optional(number, name, "int") for number, name in _FILES.items()),
        _SUMMARIES,
        *(_optional(number, name, "long") for number, name in _ROWS.items()),
        _KEY_METADATA,
    ],
    2: _SINCE_2,
    3: [*_SINCE_2, _optional(520, "first_row_id", "long")],
}


def list_schema(version: int) -> dict[str, Any]:
    """The schema of a manifest list."""
    return {"type": "record", "name": "manifest_file", "fields": _LISTS[version]}


def file_fields(version: int, partition: PartitionType) -> list[dict[str, Any]]:
    """The fields of an entry's file."""
    kinds: set[str] = set()
    fields = [_optional(field.id, field.name, _once(avro_type(field.type), kinds)) for field in partition]
    record = {"type": "record", "name": "r102", "fields": fields}
    return [*_BEFORE_PARTITION[version], _required(102, PARTITION, record), *_AFTER_PARTITION[version]]


def _once(kind: Type, defined: set[str]) -> Type:
    """A type, or its name if it was defined before: Avro allows one definition of a named type."""
    if not isinstance(kind, Mapping) or "name" not in kind:
        return kind
    if kind["name"] in defined:
        return kind["name"]
    defined.add(kind["name"])
    return kind


def entry_fields(version: int) -> list[dict[str, Any]]:
    """The fields of an entry but its file."""
    return [_STATUS, _SNAPSHOT, *(_SEQUENCES if version > 1 else [])]


def entry_schema(
    version: int, partition: PartitionType, others: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """The schema of a manifest.

    Args:
        version: the format's version.
        partition: the fields of its spec.
        others: further fields of files, which this release does not know.
    """
    record = {"type": "record", "name": "r2", "fields": [*file_fields(version, partition), *others]}
    fields = [*entry_fields(version), _required(2, DATA_FILE, record)]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def _ids(fields: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    return {field["field-id"]: field["name"] for field in fields}


_KNOWN_FILE = [*file_fields(3, ()), _required(105, BLOCK_SIZE, "long")]
_KNOWN_RECORD = {"type": "record", "name": "r2", "fields": _KNOWN_FILE}
KNOWN_ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [*entry_fields(3), _required(2, DATA_FILE, _KNOWN_RECORD)],
}
"""The entry of the newest version, with what older ones have, to check the types of what is read."""
KNOWN_LIST = list_schema(3)
_NAMES = {
    **_ids(entry_fields(3)),
    2: DATA_FILE,
    **_ids(_KNOWN_FILE),
    **_ids(_LISTS[3]),
    **_ids(_SUMMARY_FIELDS),
}
_FIRST_PARTITION_FIELD = 1000


def canonical_name(field: Mapping[str, Any]) -> str:
    """The name of a field by its id, as in the schemas here; partition fields are `p` and their id."""
    number = field.get("field-id")
    if isinstance(number, int):
        if number in _NAMES:
            return _NAMES[number]
        if number >= _FIRST_PARTITION_FIELD:
            return f"p{number}"
    return str(field["name"])
