"""Parses the text of a snapshot file, as written by every Paimon release.

Called by `snapshots`. Pure. Fields were added over time (record counts in 0.4, `uuid` in 2.0): fields that a
snapshot lacks are None, or 0 if Java 1.4 reads them as 0. Unknown fields are ignored, as in Java.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pypaimon.snapshot.snapshot import Snapshot

from lithify.columns.json_texts import parse_object
from lithify.formats.paimon.model import LATEST_MILLIS
from lithify.io.file_names import check_file_name

_TEXTS = ("base_manifest_list", "delta_manifest_list", "commit_user", "commit_kind")
_NUMBERS = ("id", "schema_id", "commit_identifier", "time_millis")
_ZEROS = ("version", "total_record_count", "delta_record_count")
"""Numbers that the first releases did not write."""
_NULLABLE_NUMBERS = (
    "base_manifest_list_size",
    "delta_manifest_list_size",
    "changelog_manifest_list_size",
    "changelog_record_count",
    "watermark",
    "next_row_id",
)
_NULLABLE_TEXTS = ("changelog_manifest_list", "index_manifest", "statistics", "uuid", "writer_version")
_FILES = (
    "base_manifest_list",
    "delta_manifest_list",
    "changelog_manifest_list",
    "index_manifest",
    "statistics",
)
_KEYS = {field.name: str(field.metadata["json_name"]) for field in fields(Snapshot)}
_LONG = 1 << 63
_MOST = {"id": 1 << 62, "schema_id": 1 << 31, "time_millis": LATEST_MILLIS}


def parse_snapshot(text: str) -> Snapshot:
    """Parses a snapshot.

    Raises:
        ValueError: it is not a snapshot.
    """
    found = parse_object(text)
    values: dict[str, Any] = {name: _number(found, name) or 0 for name in _ZEROS}
    values |= {name: _required(_number(found, name), name) for name in _NUMBERS}
    values |= {name: _required(_text(found, name), name) for name in _TEXTS}
    values |= {name: _number(found, name) for name in _NULLABLE_NUMBERS}
    values |= {name: _text(found, name) for name in _NULLABLE_TEXTS}
    for name in _FILES:
        if values[name] is not None:
            check_file_name(values[name])
    for name, most in _MOST.items():
        if not 0 <= values[name] <= most:
            raise ValueError(f"{_KEYS[name]} is out of range")
    return Snapshot(**values, properties=_properties(found))


def _required(value: Any, name: str) -> Any:
    if value is None:
        raise ValueError(f"{_KEYS[name]} is missing")
    return value


def _number(found: Mapping[str, Any], name: str) -> int | None:
    """A number; the first releases wrote some of them as texts."""
    value = found.get(_KEYS[name])
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"{_KEYS[name]} is no whole number")  # noqa: TRY004  # as above
    number = int(value)
    if not -_LONG <= number < _LONG:
        raise ValueError(f"{_KEYS[name]} is out of range")
    return number


def _text(found: Mapping[str, Any], name: str) -> str | None:
    value = found.get(_KEYS[name])
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{_KEYS[name]} is no text")
    return value


def _properties(found: Mapping[str, Any]) -> dict[str, str] | None:
    value = found.get(_KEYS["properties"])
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise ValueError("properties are no texts")
    return value
