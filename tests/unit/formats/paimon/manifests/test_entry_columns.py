"""Manifests as columns say what their records say, and nothing in a file makes the decoder hang or grow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA

from lithify.files.avro.container import block, new_header
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    FileMeta,
    ManifestEntry,
    Stats,
    record_of_entry,
)
from lithify.formats.paimon.manifests.entry_columns import NARROW, decode_entries
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.entry_selection import Matching
from lithify.formats.paimon.manifests.live_entries import chosen, live_of
from support.properties import examples

PARTITIONS = [b"\x00\x00\x00\x01" + bytes(8) + bytes([number]) + bytes(7) for number in range(3)]
NAMES = ["a", "b", "c"]

texts = st.text(max_size=6)
numbers = st.integers(0, 1 << 60)
sizes = st.integers(0, 1 << 42)
ids = st.integers(0, (1 << 31) - 1)
counts = st.none() | st.lists(st.none() | numbers, max_size=3).map(tuple)
names = st.none() | st.lists(texts, max_size=3).map(tuple)
stats = st.builds(Stats, st.binary(min_size=12, max_size=30), st.binary(max_size=30), counts)
files = st.builds(
    FileMeta,
    name=st.sampled_from(NAMES),
    size=sizes,
    rows=sizes,
    min_key=st.binary(max_size=30),
    max_key=st.binary(max_size=30),
    key_stats=stats,
    value_stats=stats,
    min_sequence=numbers,
    max_sequence=numbers,
    schema_id=ids,
    level=st.integers(0, 2),
    extra_files=st.sampled_from([(), ("a.index",), ("a.index", "b.index")]),
    created_millis=sizes,
    delete_rows=st.none() | sizes,
    embedded_index=st.sampled_from([None, b"", b"index"]),
    source=st.none() | st.integers(0, 1),
    value_stats_columns=names,
    external_path=st.none() | st.just("s3://bucket/a"),
    first_row_id=st.none() | numbers,
    write_columns=names,
    write_columns_sequences=st.none() | st.lists(numbers, max_size=3).map(tuple),
)
entries = st.builds(
    ManifestEntry,
    kind=st.sampled_from([ADD, ADD, DELETE]),
    partition=st.sampled_from(PARTITIONS),
    bucket=st.integers(-2, 2),
    total_buckets=st.integers(-1, 4),
    file=files,
)


def written(records: Sequence[dict[str, Any]], codec: str = "zstandard", schema: Any = None) -> bytes:
    stream = BytesIO()
    fastavro.writer(stream, schema or MANIFEST_ENTRY_SCHEMA, records, codec=codec, sync_interval=200)
    return stream.getvalue()


def manifest(drawn: Sequence[ManifestEntry]) -> bytes:
    return written([record_of_entry(each) for each in drawn])


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(entries, max_size=12), st.sampled_from(["null", "zstandard", "snappy", "deflate"]))
def test_columns_are_the_records(drawn: list[ManifestEntry], codec: str) -> None:
    content = written([record_of_entry(each) for each in drawn], codec)

    assert entries_of(decode_entries(content, statistics=True)) == drawn
    narrow = decode_entries(content)
    assert narrow.schema.equals(NARROW)
    assert narrow["name"].to_pylist() == [each.file.name for each in drawn]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.lists(entries, max_size=8), min_size=1, max_size=3))
def test_live_files_are_those_that_were_added_and_not_removed(manifests: list[list[ManifestEntry]]) -> None:
    everything = [each for drawn in manifests for each in drawn]
    removed = {each.identity for each in everything if each.kind == DELETE}

    live = live_of(decode_entries(manifest(drawn), statistics=True) for drawn in manifests)

    expected = [each for each in everything if each.kind == ADD and each.identity not in removed]
    assert entries_of(live) == expected


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(entries, max_size=12), st.sets(st.sampled_from(PARTITIONS)), st.integers(-2, 2))
def test_what_is_chosen_keeps_its_order(
    drawn: list[ManifestEntry], partitions: set[bytes], most: int
) -> None:
    selection = Matching(lambda partition, bucket: partition in partitions and bucket <= most)

    found = entries_of(chosen(decode_entries(manifest(drawn), statistics=True), selection))

    assert found == [each for each in drawn if each.partition in partitions and each.bucket <= most]


def one() -> ManifestEntry:
    """An entry in which everything is there."""
    meta = FileMeta(
        *("a", 1, 2, b"k", b"l", Stats(b"m", b"n", (1,)), Stats(b"o", b"p", (2,)), 3, 4, 5, 6),
        *(("x",), 7, 8, b"i", 1, ("v",), "s3://b/a", 9, ("w",), (1,)),
    )
    return ManifestEntry(ADD, PARTITIONS[0], 0, 1, meta)


def test_fields_that_a_version_does_not_have_are_null() -> None:
    record, schema = record_of_entry(one()), fields_of(MANIFEST_ENTRY_SCHEMA)
    later = {
        "_DELETE_ROW_COUNT",
        "_EMBEDDED_FILE_INDEX",
        "_FILE_SOURCE",
        "_VALUE_STATS_COLS",
        "_EXTERNAL_PATH",
    }
    later |= {"_FIRST_ROW_ID", "_WRITE_COLS", "_WRITE_COLS_SEQUENCES"}
    file = {**schema["_FILE"]["type"]}
    file["fields"] = [field for field in file["fields"] if field["name"] not in later]
    old = {
        **MANIFEST_ENTRY_SCHEMA,
        "fields": [*(f for n, f in schema.items() if n != "_FILE"), {"name": "_FILE", "type": file}],
    }

    (entry,) = entries_of(decode_entries(written([record], schema=old), statistics=True))

    nothing = dict.fromkeys(
        ("delete_rows", "embedded_index", "source", "value_stats_columns", "external_path", "first_row_id")
    )
    expected = replace(one().file, **nothing, write_columns=None, write_columns_sequences=None)
    assert entry == replace(one(), file=expected)


def test_fields_of_later_versions_are_passed_over() -> None:
    later = {"name": "_LATER", "type": ["null", {"type": "array", "items": "string"}], "default": None}
    schema = {**MANIFEST_ENTRY_SCHEMA, "fields": [*MANIFEST_ENTRY_SCHEMA["fields"], later]}
    record = {**record_of_entry(one()), "_LATER": ["new"]}

    assert entries_of(decode_entries(written([record], schema=schema), statistics=True)) == [one()]


def fields_of(schema: Any) -> dict[str, Any]:
    return {field["name"]: field for field in schema["fields"]}


def nested(depth: int) -> Any:
    return "int" if depth == 0 else {"type": "array", "items": nested(depth - 1)}


OF_NULL = {"type": "array", "items": "null"}
ENTRY = written([record_of_entry(one())], "null")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"PAR1" + bytes(100), id="another format"),
        pytest.param(ENTRY[:-20], id="cut off"),
        pytest.param(ENTRY[: len(ENTRY) // 2], id="cut off in the schema"),
        pytest.param(
            (head := new_header(MANIFEST_ENTRY_SCHEMA, "null"))[0] + block(1 << 40, bytes(100), head[1]),
            id="more entries than bytes",
        ),
        pytest.param(
            (head := new_header(MANIFEST_ENTRY_SCHEMA, "zstandard"))[0] + block(1, b"no frame", head[1]),
            id="not compressed",
        ),
        pytest.param(new_header({"type": "record", "name": "r", "fields": []}, "null")[0], id="no fields"),
        pytest.param(
            new_header(
                {"type": "record", "name": "r", "fields": [{"name": "f", "type": nested(500)}]}, "null"
            )[0],
            id="nested deep",
        ),
        pytest.param(
            new_header({"type": "record", "name": "r", "fields": [{"name": "f", "type": OF_NULL}]}, "null")[
                0
            ],
            id="items without bytes",
        ),
        pytest.param(new_header({"type": "map", "values": "int"}, "null")[0], id="no record"),
    ],
)
def test_damaged_manifests_are_refused(content: bytes) -> None:
    with pytest.raises((ValueError, LookupError, EOFError)):
        decode_entries(content)


def test_a_frame_of_no_entries_has_all_columns() -> None:
    assert decode_entries(written([])).num_rows == 0
    assert decode_entries(written([])).schema.equals(NARROW)
    assert entries_of(decode_entries(written([]), statistics=True)) == []
