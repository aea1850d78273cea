"""Manifests of files that do not exist, with figures as varied as those of real ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Numbers
from lithify.files.avro.encoding import Cells, encode_rows
from lithify.formats.iceberg.manifests.entries import ADDED, Entries
from lithify.formats.iceberg.manifests.manifest_lists import (
    ListOwner,
    ManifestContent,
    ManifestFile,
    write_list,
)
from lithify.formats.iceberg.manifests.manifest_writer import ManifestOwner, encode_manifest
from lithify.formats.iceberg.manifests.partition_types import PartitionField

PARTITION = (PartitionField(1000, "day", "date"),)
FOLDER = "s3://lake/orders"
_COUNT_MAPS = ("column_sizes", "value_counts", "null_value_counts")
_BOUND_MAPS = ("lower_bounds", "upper_bounds")
_SEQUENCE = 7
_SNAPSHOT = 5_781_947_118_336_215_154
_MILLIS = 1_700_000_000_000


@dataclass(frozen=True, slots=True)
class Shape:
    """A table.

    Attributes:
        files: number of data files.
        deletes: number of position delete files, each for one data file.
        columns: columns with statistics.
        partitions: number of partitions.
        seed: of its figures.
        of_a_manifest: entries of a manifest.
    """

    files: int = 120_000
    deletes: int = 24_000
    columns: int = 9
    partitions: int = 100
    seed: int = 1
    of_a_manifest: int = 10_000


@dataclass(frozen=True, slots=True)
class InventedTable:
    """Its manifest list, and its files by their paths."""

    listed: tuple[ManifestFile, ...]
    contents: dict[str, bytes]

    def read_bytes(self, path: str, most: int) -> bytes:
        """Reads a file."""
        return self.contents[path]

    @property
    def bytes(self) -> int:
        """Bytes of all manifests."""
        return sum(map(len, self.contents.values()))


def schema_of(shape: Shape) -> dict[str, Any]:
    """The schema of the table: the day, and columns of longs."""
    fields = [{"id": shape.columns + 1, "name": "day", "required": False, "type": "date"}]
    fields += [
        {"id": n, "name": f"c{n}", "required": False, "type": "long"} for n in range(1, shape.columns + 1)
    ]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def spec_of(shape: Shape) -> list[dict[str, Any]]:
    """The fields of its partition spec."""
    return [{"source-id": shape.columns + 1, "field-id": 1000, "name": "day", "transform": "identity"}]


def metadata_of(shape: Shape, folder: str) -> dict[str, Any]:
    """The metadata of the table."""
    snapshot = {
        "snapshot-id": _SNAPSHOT,
        "sequence-number": _SEQUENCE,
        "timestamp-ms": _MILLIS,
        "summary": {"operation": "append"},
        "manifest-list": f"{folder}/metadata/list.avro",
        "schema-id": 0,
    }
    return {
        "format-version": 2,
        "table-uuid": "8c9ad06b-7c26-4b5c-a0a6-2a4c6d8a1f9e",
        "location": folder,
        "last-sequence-number": _SEQUENCE,
        "last-updated-ms": _MILLIS,
        "last-column-id": shape.columns + 1,
        "schemas": [schema_of(shape)],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": spec_of(shape)}],
        "default-spec-id": 0,
        "last-partition-id": 1000,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": {},
        "current-snapshot-id": _SNAPSHOT,
        "refs": {"main": {"snapshot-id": _SNAPSHOT, "type": "branch"}},
        "snapshots": [snapshot],
    }


def invent(shape: Shape, folder: str = FOLDER) -> InventedTable:
    """Makes a table of version 2 whose small files are worth a compaction."""
    random, texts = np.random.default_rng(shape.seed), (spec_of(shape), schema_of(shape))
    paths = _paths(random, shape.files)
    contents: dict[str, bytes] = {}
    listed = []
    for kind, entries in _manifests(shape, random, paths):
        path = f"{folder}/metadata/{len(listed):04d}.avro"
        owner = ManifestOwner(2, _SNAPSHOT, kind, 0, PARTITION, *map(json.dumps, texts))
        written = encode_manifest([entries], owner, path)
        contents[path] = written.content
        listed.append(replace(written.file, sequence=_SEQUENCE, min_sequence=_SEQUENCE))
    made = write_list(listed, ListOwner(2, _SNAPSHOT, None, _SEQUENCE))
    contents[f"{folder}/metadata/list.avro"] = made.content
    return InventedTable(made.manifests, contents)


def _manifests(
    shape: Shape, random: np.random.Generator, paths: pa.Array
) -> Iterator[tuple[ManifestContent, Entries]]:
    days = 19_000 + np.arange(shape.files) % shape.partitions
    for start in range(0, shape.files, shape.of_a_manifest):
        rows = np.arange(start, min(start + shape.of_a_manifest, shape.files))
        yield ManifestContent.DATA, _entries(shape, random, paths.take(pa.array(rows)), days[rows], 0)
    chosen = random.permutation(shape.files)[: shape.deletes]
    for start in range(0, shape.deletes, shape.of_a_manifest):
        rows = chosen[start : start + shape.of_a_manifest]
        named = _paths(random, len(rows))
        deletes = _entries(shape, random, named, days[rows], 1)
        referenced = Cells(*encode_rows([paths.take(pa.array(rows))], [True]))
        cells = {**deletes.encoded, ("referenced_data_file",): referenced}
        yield ManifestContent.DELETES, replace(deletes, encoded=cells)


def _paths(random: np.random.Generator, count: int) -> pa.Array:
    """Paths as Spark makes them, with a UUID in each."""
    raw = random.bytes(16 * count).hex()
    return pa.array(
        [
            f"s3://lake/warehouse/sales.db/orders/data/{n % 512:05d}-{n}-{raw[32 * n : 32 * n + 32]}.parquet"
            for n in range(count)
        ]
    )


def _entries(
    shape: Shape, random: np.random.Generator, paths: pa.Array, days: Numbers, content: int
) -> Entries:
    count = len(paths)
    rows = pa.table(
        {
            "status": np.full(count, ADDED, dtype=np.int32),
            "snapshot_id": np.full(count, _SNAPSHOT),
            "sequence_number": pa.array(np.full(count, _SEQUENCE)),
            "file_sequence_number": pa.array(np.full(count, _SEQUENCE)),
            "content": np.full(count, content, dtype=np.int32),
            "file_path": paths,
            "file_format": pa.array(["PARQUET"] * count),
            "record_count": random.integers(1_000, 100_000, count),
            "file_size_in_bytes": random.integers(1 << 20, 1 << 26, count),
            "first_row_id": pa.nulls(count, pa.int64()),
        }
    )
    partitions = pa.StructArray.from_arrays([pa.array(days, pa.int32())], ["p1000"])
    encoded = {(name,): _map(shape, random, count, name) for name in (*_COUNT_MAPS, *_BOUND_MAPS)}
    return Entries(rows, partitions, PARTITION, encoded)


def _map(shape: Shape, random: np.random.Generator, count: int, name: str) -> Cells:
    """A map from each column to a number, or to a bound of eight bytes."""
    total = count * shape.columns
    keys = np.tile(np.arange(1, shape.columns + 1, dtype=np.int32), count)
    if name in _BOUND_MAPS:
        raw = pa.py_buffer(random.bytes(8 * total))
        values: pa.Array = pa.Array.from_buffers(pa.binary(8), total, [None, raw]).cast(pa.binary())
    else:
        values = pa.array(random.integers(0, 100_000, total))
    fields = [pa.field("key", pa.int32(), nullable=False), pa.field("value", values.type, nullable=False)]
    pairs = pa.StructArray.from_arrays([pa.array(keys), values], fields=fields)
    offsets = pa.array(np.arange(count + 1, dtype=np.int32) * shape.columns)
    kind = pa.list_(pa.field("element", pairs.type, nullable=False))
    return Cells(*encode_rows([pa.ListArray.from_arrays(offsets, pairs, type=kind)], [True]))
