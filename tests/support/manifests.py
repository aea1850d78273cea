"""Manifest entries with little to say of each: a name, a level, the bounds of its one INT key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lithify.formats.paimon.manifests.entries import (
    ADD,
    APPEND_SOURCE,
    FileMeta,
    ManifestEntry,
    Stats,
)
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.schema import Column, Schema
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.formats.paimon.table import PaimonTable

INT = parse_type("INT NOT NULL")
NO_STATS = Stats(encode_row([], []), encode_row([], []), ())


def file_meta(name: str, level: int = 0, low: int = 0, high: int = 9, **changes: Any) -> FileMeta:
    fields: dict[str, Any] = {
        "name": name,
        "size": 100,
        "rows": 10,
        "min_key": encode_row([low], [INT]),
        "max_key": encode_row([high], [INT]),
        "key_stats": NO_STATS,
        "value_stats": NO_STATS,
        "min_sequence": 1,
        "max_sequence": 2,
        "schema_id": 0,
        "level": level,
        "extra_files": (),
        "created_millis": 0,
        "delete_rows": 0,
        "embedded_index": None,
        "source": APPEND_SOURCE,
        "value_stats_columns": None,
        "external_path": None,
        "first_row_id": None,
        "write_columns": None,
        "write_columns_sequences": None,
    }
    return FileMeta(**{**fields, **changes})


def entry(
    name: str, level: int = 0, low: int = 0, high: int = 9, buckets: int = 1, **changes: Any
) -> ManifestEntry:
    return ManifestEntry(ADD, b"", 0, buckets, file_meta(name, level, low, high, **changes))


def schema(
    columns: Sequence[tuple[str, Any]] | dict[int, tuple[str, Any]],
    primary_key: Sequence[str],
    *,
    number: int = 0,
    **options: str,
) -> Schema:
    """A schema out of names and types of columns, whose ids are counted from 0 unless given."""
    listed = columns if isinstance(columns, dict) else dict(enumerate(columns))
    return Schema(
        id=number,
        columns=tuple(Column(each, name, parse_type(text)) for each, (name, text) in listed.items()),
        primary_key=tuple(primary_key),
        partition_keys=(),
        options=options,
    )


def manifest_files(table: PaimonTable) -> ManifestFiles:
    """Writes manifests of a table, as commits do."""
    return ManifestFiles(table.native, table.manifests, table.storage, table.options.manifests)
