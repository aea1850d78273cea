"""Manifests as columns say what their entries say, whichever version, type or writer; damage is refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.anchored_rows import anchored_rows_as_columns
from lithify.formats.iceberg.manifests import entry_columns
from lithify.formats.iceberg.manifests.entry_columns import (
    EntryRequest,
    decode_entries,
    format_anchors,
    unpack_manifest,
)
from lithify.formats.iceberg.manifests.partition_types import PartitionField, avro_type
from support.iceberg_manifests import BY_DAY, Entry, entries, entry, manifest_bytes
from support.properties import examples

EVERYTHING = EntryRequest(is_delete=True, bounds=frozenset({1, 7}), counts=frozenset({2}))
PLAIN = (
    "file_path",
    "record_count",
    "file_size_in_bytes",
    "sort_order_id",
    "first_row_id",
    "equality_ids",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
)


def expected(record: Entry) -> dict[str, Any]:
    """The row of an entry, made without any of the code under test."""
    file = record["data_file"]
    maps = {
        name: {pair["key"]: pair["value"] for pair in value} for name, value in file.items() if is_map(value)
    }
    return {
        **{name: value for name, value in record.items() if name != "data_file"},
        **{name: file[name] for name in PLAIN},
        "content": file["content"],
        "file_format": file["file_format"].lower(),
        "partition": {"p1000": file["partition"]["day"], "p1001": file["partition"]["part"]},
        **{
            f"{name}.{n}": maps.get(name, {}).get(n)
            for name in ("lower_bounds", "upper_bounds")
            for n in (1, 7)
        },
        **{f"{name}.2": maps.get(name, {}).get(2) for name in ("value_counts", "null_value_counts")},
    }


def is_map(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(entries, max_size=60),
    st.sampled_from([200, 3_000, 64_000]),
    st.sampled_from(["null", "deflate"]),
)
def test_rows_say_what_entries_say(found: list[Entry], block_bytes: int, codec: str) -> None:
    content = manifest_bytes(found, 3, BY_DAY, codec=codec, block_bytes=block_bytes)
    assert decode_entries(unpack_manifest(content), EVERYTHING).rows.to_pylist() == [*map(expected, found)]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(entries, min_size=1, max_size=60))
def test_columns_are_decoded_without_a_loop_over_entries(found: list[Entry]) -> None:
    """Also where texts in an entry look like the name of a format."""
    unpacked = unpack_manifest(manifest_bytes(found, 3, BY_DAY))
    wanted = pa.struct([("status", pa.int32()), ("data_file", pa.struct([("file_path", pa.string())]))])
    path = ("data_file", "file_format")
    rows = anchored_rows_as_columns(unpacked.schema, [*unpacked.blocks()], wanted, path, format_anchors)
    assert rows.to_pylist() == [
        {"status": each["status"], "data_file": {"file_path": each["data_file"]["file_path"]}}
        for each in found
    ]


def test_entries_with_more_columns_than_lanes_read_are_decoded_one_by_one() -> None:
    many = [entry(lower_bounds=dict.fromkeys(range(400), b"x"), value_counts={2: 7}) for _ in range(40)]
    request = EntryRequest(bounds=frozenset({7}), counts=frozenset({2}), carried=(("split_offsets",),))
    rows = decode_entries(unpack_manifest(manifest_bytes(many)), request).rows
    assert rows["lower_bounds.7"].to_pylist() == [b"x"] * 40
    assert rows["value_counts.2"].to_pylist() == [7] * 40
    assert rows["encoded_split_offsets"].to_pylist() == [b"\x00"] * 40


@pytest.mark.parametrize("version", [1, 2, 3])
def test_versions_look_alike(version: int) -> None:
    content = manifest_bytes([entry(sort_order_id=4, file_path=f"f{n}") for n in range(30)], version)
    rows = decode_entries(unpack_manifest(content), EVERYTHING).rows
    assert rows["file_path"].to_pylist() == [f"f{n}" for n in range(30)]
    assert set(rows["content"].to_pylist()) == {0}
    assert set(rows["sort_order_id"].to_pylist()) == {4}
    assert rows["first_row_id"].null_count == 30


@pytest.mark.parametrize("few", [1, 40])
@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("boolean", True),
        ("int", -5),
        ("long", 1 << 40),
        ("float", 0.5),
        ("double", -2.5),
        ("date", 19_000),
        ("time", 1_000_000),
        ("timestamp", -7),
        ("timestamptz", 7),
        ("timestamp_ns", 7),
        ("timestamptz_ns", 7),
        ("string", "Zürich"),
        ("binary", b"\x00\xff"),
        ("uuid", bytes(range(16))),
        ("fixed[3]", b"abc"),
        ("decimal(9,2)", (-1234).to_bytes(4, "big", signed=True)),
        ("decimal(38,10)", (-1234).to_bytes(16, "big", signed=True)),
    ],
)
def test_partition_values_of_every_type_are_read(kind: str, value: Any, few: int) -> None:
    fields = (PartitionField(1000, "a", kind), PartitionField(1001, "b", kind))
    content = manifest_bytes([entry(partition={"a": value, "b": None})] * few, partition=fields)
    decoded = decode_entries(unpack_manifest(content))
    assert decoded.partition_type == fields
    assert decoded.rows["partition"].to_pylist() == [{"p1000": value, "p1001": None}] * few


def test_two_partition_fields_of_one_named_type_are_written_as_avro_demands() -> None:
    fields = (PartitionField(1000, "a", "decimal(9,2)"), PartitionField(1001, "b", "decimal(9,2)"))
    assert avro_type("decimal(9,2)")["name"] == "decimal_9_2"
    content = manifest_bytes([entry(partition={"a": bytes(4), "b": bytes(4)})], partition=fields)
    assert decode_entries(unpack_manifest(content)).partition_type == fields


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"record_count": -1}, "record_count"),
        ({"file_size_in_bytes": -1}, "file_size_in_bytes"),
        ({"content": 7}, "content"),
        ({"file_path": ""}, "path"),
    ],
)
def test_impossible_figures_are_refused(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode_entries(unpack_manifest(manifest_bytes([entry(**change)])))


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_damage_is_refused_or_harmless(data: st.DataObject) -> None:
    content = bytearray(
        manifest_bytes([entry(partition={"day": 1, "part": n}) for n in range(30)], 2, BY_DAY, codec="null")
    )
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        del content[place:]
    else:
        content[place] = data.draw(st.integers(0, 255))
    with suppress(ValueError, LookupError, EOFError):
        decode_entries(unpack_manifest(bytes(content)), EVERYTHING)


def test_files_that_are_no_manifests_are_refused() -> None:
    with pytest.raises(EOFError):
        unpack_manifest(b"PAR1 and so on")


def test_arrays_whose_items_take_no_bytes_are_refused() -> None:
    """A few bytes could otherwise claim a billion of them."""
    hostile = {"name": "x", "type": {"type": "array", "items": {"type": "record", "name": "e", "fields": []}}}
    with pytest.raises(ValueError, match="no bytes"):
        unpack_manifest(manifest_bytes([], others=[hostile]))


def test_most_manifests_are_decoded_by_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    decode = anchored_rows_as_columns

    def counting(*arguments: Any) -> Any:
        asked.append(decode(*arguments))
        return asked[-1]

    monkeypatch.setattr(entry_columns, "anchored_rows_as_columns", counting)
    content = manifest_bytes([entry(file_format=each) for each in ("PARQUET", "ORC", "AVRO") * 20])
    assert decode_entries(unpack_manifest(content)).rows.num_rows == sum(map(len, asked)) == 60
