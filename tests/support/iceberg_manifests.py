"""Manifests of Iceberg tables, written with fastavro entry by entry, as the specification has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import fastavro
from hypothesis import strategies as st

from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.partition_types import PartitionField, PartitionType
from lithify.formats.iceberg.manifests.schemas import entry_schema

Entry = dict[str, Any]

BY_DAY: PartitionType = (PartitionField(1000, "day", "date"), PartitionField(1001, "part", "int"))
METRICS = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
_FILE: dict[str, Any] = {
    "content": 0,
    "file_path": "s3://lake/orders/data/a.parquet",
    "file_format": "PARQUET",
    "partition": {},
    "record_count": 10,
    "file_size_in_bytes": 1000,
    "block_size_in_bytes": 64 << 20,
    **dict.fromkeys(METRICS),
    "key_metadata": None,
    "split_offsets": None,
    "equality_ids": None,
    "sort_order_id": None,
    "first_row_id": None,
    "referenced_data_file": None,
    "content_offset": None,
    "content_size_in_bytes": None,
}


def entry(*, status: int = 1, snapshot: int | None = None, sequence: int | None = None, **file: Any) -> Entry:
    """An entry; maps of metrics are given as dicts. By default one of a new data file."""
    pairs = {name: as_pairs(value) for name, value in file.items() if name in METRICS}
    return {
        "status": status,
        "snapshot_id": snapshot,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": {**_FILE, **file, **pairs},
    }


def as_pairs(values: Mapping[int, Any] | None) -> list[dict[str, Any]] | None:
    """A map as Avro stores it."""
    return None if values is None else [{"key": key, "value": value} for key, value in values.items()]


def manifest_bytes(
    entries: Iterable[Entry],
    version: int = 2,
    partition: PartitionType = (),
    others: Sequence[Mapping[str, Any]] = (),
    codec: str = "deflate",
    block_bytes: int = 16_000,
) -> bytes:
    """The bytes of a manifest."""
    stream = BytesIO()
    schema = entry_schema(version, partition, others)
    properties = {"partition-spec-id": "0", "format-version": str(version), "content": "data"}
    fastavro.writer(stream, schema, entries, codec, sync_interval=block_bytes, metadata=properties)
    return stream.getvalue()


def records(content: bytes) -> list[Entry]:
    """The entries of a manifest, read one by one."""
    return [*fastavro.reader(BytesIO(content), return_record_name=False)]  # type: ignore[misc]


def listed(
    path: str = "m.avro",
    *,
    content: ManifestContent = ManifestContent.DATA,
    sequence: int = 5,
    spec_id: int = 0,
    snapshot: int = 77,
    length: int = 100,
    first_row_id: int | None = None,
) -> ManifestFile:
    """A manifest as a list names it; it may have entries of every status."""
    counts = (1, 1, 1, 10, 10, 10)
    return ManifestFile(
        path, length, spec_id, content, sequence, 0, snapshot, *counts, first_row_id=first_row_id
    )


paths = st.builds("s3://lake/{}/{}.parquet".format, st.text(max_size=8), st.integers(0, 999_999))
_columns = st.dictionaries(st.integers(1, 90), st.integers(0, 1 << 40), max_size=4)
_bounds = st.dictionaries(
    st.integers(1, 90), st.binary(max_size=12) | st.just(b"\x0ePARQUET") | st.just(b"PARQUET"), max_size=4
)
entries = st.builds(
    entry,
    status=st.integers(0, 2),
    snapshot=st.none() | st.integers(0, (1 << 63) - 1),
    sequence=st.integers(0, 1 << 40),
    content=st.integers(0, 2),
    file_path=paths,
    file_format=st.sampled_from(["PARQUET", "parquet", "ORC", "AVRO", "PUFFIN"]),
    partition=st.fixed_dictionaries(
        {"day": st.none() | st.integers(-9, 20_000), "part": st.none() | st.integers(0, 4)}
    ),
    record_count=st.integers(0, 1 << 40),
    file_size_in_bytes=st.integers(0, 1 << 40),
    column_sizes=st.none() | _columns,
    value_counts=st.none() | _columns,
    null_value_counts=st.none() | _columns,
    lower_bounds=st.none() | _bounds,
    upper_bounds=st.none() | _bounds,
    key_metadata=st.none() | st.binary(max_size=5),
    split_offsets=st.none() | st.lists(st.integers(0, 1 << 40), max_size=3),
    equality_ids=st.none() | st.lists(st.integers(1, 90), max_size=3),
    sort_order_id=st.none() | st.integers(0, 3),
    first_row_id=st.none() | st.integers(0, 1 << 40),
    referenced_data_file=st.none() | paths,
    content_offset=st.none() | st.integers(0, 1 << 30),
    content_size_in_bytes=st.none() | st.integers(0, 1 << 30),
)
"""Entries of version 3 that are partitioned `BY_DAY`."""
