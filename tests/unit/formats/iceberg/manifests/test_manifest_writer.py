"""What is written says what was given or carried over, to other readers, too; nothing unknown is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFileContent, ManifestEntryStatus, read_manifest_list

from lithify.errors import CorruptTable
from lithify.formats.iceberg.manifests.carrying import carried_entries
from lithify.formats.iceberg.manifests.entries import Entries
from lithify.formats.iceberg.manifests.manifest_lists import (
    ListOwner,
    ManifestContent,
    ManifestFile,
    write_list,
)
from lithify.formats.iceberg.manifests.manifest_writer import (
    EncodedManifest,
    ManifestOwner,
    encode_manifest,
)
from lithify.formats.iceberg.manifests.new_entries import added_data_files, added_delete_files
from lithify.formats.iceberg.manifests.partition_types import PartitionField, PartitionType
from lithify.formats.iceberg.model import FileMetrics, NewDataFile, NewDeleteFile, Partition
from support.iceberg_manifests import BY_DAY, METRICS, Entry, entries, entry, listed, manifest_bytes, records
from support.properties import examples

NONE = np.empty(0, dtype=np.int64)
SCHEMA = '{"type":"struct","schema-id":0,"fields":[{"id":1,"name":"k","required":false,"type":"long"}]}'
METRICS_OF_1 = FileMetrics({1: 100}, {1: 10}, {1: 2}, {}, {1: b"a"}, {1: b"zz"})
UNKNOWN = {
    "name": "shiny",
    "type": ["null", {"type": "array", "items": "string", "element-id": 901}],
    "default": None,
    "field-id": 900,
}


def owner(version: int = 2, partition: PartitionType = (), **more: Any) -> ManifestOwner:
    return ManifestOwner(
        **{
            "version": version,
            "snapshot_id": 99,
            "content": ManifestContent.DATA,
            "spec_id": 0,
            "partition": partition,
            "spec": "[]",
            "schema": SCHEMA,
            **more,
        }
    )


def carried(
    found: list[Entry],
    version: int = 3,
    partition: PartitionType = BY_DAY,
    removed: Any = NONE,
    to: int | None = None,
    manifest: ManifestFile | None = None,
    **more: Any,
) -> Entries:
    content = manifest_bytes(found, version, partition, **more)
    return carried_entries(manifest or listed(), content, to or version, 99, np.asarray(removed, np.int64))


def encoded(parts: list[Entries], version: int = 3, partition: PartitionType = BY_DAY) -> EncodedManifest:
    return encode_manifest(parts, owner(version, partition), "new.avro")


FILE = NewDataFile(
    "s3://lake/new.parquet", "parquet", 500, 10, Partition(0, (date(1970, 1, 3), 5)), METRICS_OF_1, (4, 90), 2
)


def test_added_files_are_written_with_their_metrics() -> None:
    manifest = encoded([added_data_files([FILE, replace(FILE, metrics=FileMetrics())], BY_DAY, 99, 7)])
    first, second = records(manifest.content)
    assert (first["status"], first["snapshot_id"], first["sequence_number"]) == (1, 99, 7)
    assert first["file_sequence_number"] is None
    file = first["data_file"]
    assert (file["file_path"], file["file_format"], file["record_count"]) == (FILE.path, "PARQUET", 10)
    assert (file["split_offsets"], file["sort_order_id"], file["content"]) == ([4, 90], 2, 0)
    assert file["partition"] == {"day": date(1970, 1, 3), "part": 5}
    assert [file[name] for name in METRICS] == [
        [{"key": 1, "value": 100}],
        [{"key": 1, "value": 10}],
        [{"key": 1, "value": 2}],
        None,
        [{"key": 1, "value": b"a"}],
        [{"key": 1, "value": b"zz"}],
    ]
    assert [second["data_file"][name] for name in METRICS] == [None] * 6
    assert (manifest.file.added_files, manifest.file.added_rows, manifest.file.min_sequence) == (2, 20, 7)
    assert manifest.file.sequence is None


def test_added_delete_files_name_their_data_file() -> None:
    delete = NewDeleteFile("d.parquet", "parquet", 90, 3, FILE.partition, FILE.path)
    manifest = encode_manifest(
        [added_delete_files([delete], BY_DAY, 99, None)],
        owner(3, BY_DAY, content=ManifestContent.DELETES),
        "d.avro",
    )
    file = records(manifest.content)[0]["data_file"]
    assert (file["content"], file["file_format"], file["referenced_data_file"]) == (1, "PARQUET", FILE.path)
    assert (file["content_offset"], file["content_size_in_bytes"]) == (None, None)
    assert manifest.file.min_sequence is None


def test_added_vectors_say_where_their_blobs_lie() -> None:
    vectors = [
        NewDeleteFile("v.puffin", "puffin", 90, 3, FILE.partition, name, offset=at, length=40)
        for name, at in (("a", 4), ("b", 44))
    ]
    manifest = encode_manifest(
        [added_delete_files(vectors, BY_DAY, 99, None)],
        owner(3, BY_DAY, content=ManifestContent.DELETES),
        "d.avro",
    )
    found = [each["data_file"] for each in records(manifest.content)]
    names = ("file_path", "file_format", "referenced_data_file", "content_offset", "content_size_in_bytes")
    assert [tuple(each[name] for name in names) for each in found] == [
        ("v.puffin", "PUFFIN", "a", 4, 40),
        ("v.puffin", "PUFFIN", "b", 44, 40),
    ]


def as_existing(found: Entry, manifest: ManifestFile) -> Entry:
    """An entry as another snapshot writes it again, made without any of the code under test."""
    snapshot = manifest.snapshot_id if found["snapshot_id"] is None else found["snapshot_id"]
    partition = {**found["data_file"]["partition"]}
    if partition["day"] is not None:
        partition["day"] = date.fromordinal(date(1970, 1, 1).toordinal() + partition["day"])
    file = {name: value for name, value in found["data_file"].items() if name != "block_size_in_bytes"}
    return {**found, "status": 0, "snapshot_id": snapshot, "data_file": {**file, "partition": partition}}


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(entries, max_size=40), st.integers(0, 1000))
def test_entries_are_carried_over_whole(found: list[Entry], first_row_id: int) -> None:
    manifest = listed(first_row_id=first_row_id)
    written = records(encoded([carried(found, manifest=manifest)]).content)
    live = [each for each in found if each["status"] != 2]
    expected = []
    for each in live:
        kept = as_existing(each, manifest)
        if kept["data_file"]["first_row_id"] is None:
            kept["data_file"]["first_row_id"] = first_row_id
            first_row_id += kept["data_file"]["record_count"]
        expected.append(kept)
    assert written == expected


def test_removed_files_stay_as_deleted_entries() -> None:
    found = [entry(partition={"day": 1, "part": n}, file_path=f"f{n}") for n in range(40)]
    manifest = encoded([carried(found, removed=[3, 5])])
    written = records(manifest.content)
    assert [n for n, each in enumerate(written) if each["status"] == 2] == [3, 5]
    assert {each["snapshot_id"] for each in written if each["status"] == 2} == {99}
    assert {each["snapshot_id"] for each in written if each["status"] == 0} == {77}
    assert {(each["sequence_number"], each["file_sequence_number"]) for each in written} == {(5, 5)}
    file = manifest.file
    assert (file.added_files, file.existing_files, file.deleted_files) == (0, 38, 2)
    assert (file.existing_rows, file.deleted_rows, file.min_sequence) == (380, 20, 5)


def test_entries_that_were_deleted_before_are_left_out() -> None:
    found = [
        entry(partition={"day": 1, "part": 0}, status=2, sequence=1),
        entry(partition={"day": 1, "part": 1}),
    ]
    assert len(records(encoded([carried(found)]).content)) == 1


def test_unknown_fields_are_carried_over() -> None:
    found = [entry(partition={"day": 1, "part": 1}, shiny=["a", "b"]) for _ in range(30)]
    plain = [entry(partition={"day": 1, "part": 1})]
    parts = [carried(plain), carried(found, others=[UNKNOWN])]
    written = records(encoded(parts).content)
    assert [each["data_file"]["shiny"] for each in written] == [None, *[["a", "b"]] * 30]


def test_fields_that_manifests_declare_differently_are_refused() -> None:
    other = {**UNKNOWN, "type": ["null", "long"]}
    parts = [carried([], others=[UNKNOWN]), carried([], others=[other])]
    with pytest.raises(ValueError, match="shiny"):
        encoded(parts)


@pytest.mark.parametrize(("before", "after"), [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_manifests_of_older_versions_are_written_in_the_newer(before: int, after: int) -> None:
    found = [
        entry(
            partition={"day": n, "part": 1},
            lower_bounds={1: b"x"},
            split_offsets=[4],
            sort_order_id=3,
            key_metadata=b"k",
            referenced_data_file="r",
        )
        for n in range(30)
    ]
    manifest = listed(sequence=0 if before == 1 else 5)
    written = records(encoded([carried(found, before, to=after, manifest=manifest)], after).content)
    assert len(written) == 30
    file = written[7]["data_file"]
    assert file["partition"] == {"day": date(1970, 1, 8), "part": 1}
    assert (file["lower_bounds"], file["split_offsets"]) == ([{"key": 1, "value": b"x"}], [4])
    assert (file["sort_order_id"], file["key_metadata"]) == (3, b"k")
    assert file.get("referenced_data_file") == ("r" if before > 1 else None)
    if after > 1:
        assert (file["content"], written[7]["sequence_number"]) == (0, manifest.sequence)


def test_partitions_take_the_type_of_the_widened_column() -> None:
    before, after = ((PartitionField(1000, "a", kind),) for kind in ("decimal(9,2)", "decimal(20,2)"))
    found = [entry(partition={"a": (-5).to_bytes(4, "big", signed=True)}), entry(partition={"a": None})]
    manifest = encoded([carried(found, partition=before)], 3, after)
    assert [str(each["data_file"]["partition"]["a"]) for each in records(manifest.content)] == [
        "-0.05",
        "None",
    ]
    assert (manifest.file.partitions or ())[0].lower == b"\xfb"


def test_damaged_manifest_is_named() -> None:
    with pytest.raises(CorruptTable, match=r"m\.avro"):
        carried_entries(listed(), b"Obj\x01", 2, 99, NONE)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.none() | st.floats(width=32), max_size=20))
def test_summaries_say_what_partitions_there_are(values: list[float | None]) -> None:
    field = (PartitionField(1000, "a", "double"),)
    manifest = encoded(
        [carried([entry(partition={"a": each}) for each in values], partition=field)], 3, field
    )
    (summary,) = manifest.file.partitions or ()
    numbers = [each for each in values if each is not None and each == each]
    assert summary.contains_null is (None in values)
    assert summary.contains_nan is any(each is not None and each != each for each in values)
    packed = (
        [np.float64(each).tobytes() for each in (min(numbers), max(numbers))] if numbers else [None, None]
    )
    assert [summary.lower, summary.upper] == packed or 0.0 in numbers


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_what_is_written(version: int, tmp_path: Path) -> None:
    found = [entry(partition={"day": n, "part": 1}, lower_bounds={1: b"x"}) for n in range(30)]
    manifest = listed(sequence=0 if version == 1 else 5)
    parts = [
        added_data_files([FILE], BY_DAY, 99, None if version == 1 else 3),
        carried(found, version, removed=[2], manifest=manifest),
    ]
    written = encode_manifest(parts, owner(version, BY_DAY), str(tmp_path / "m.avro"))
    (tmp_path / "m.avro").write_bytes(written.content)
    (tmp_path / "l.avro").write_bytes(write_list([written.file], ListOwner(version, 99, None, 9)).content)
    files = PyArrowFileIO()
    (named,) = read_manifest_list(files.new_input(str(tmp_path / "l.avro")))
    read = named.fetch_manifest_entry(files, discard_deleted=False)
    assert [each.status for each in read[:2]] == [ManifestEntryStatus.ADDED, ManifestEntryStatus.EXISTING]
    assert read[3].status is ManifestEntryStatus.DELETED
    assert read[0].data_file.file_path == FILE.path
    assert read[0].data_file.content == DataFileContent.DATA
    assert read[0].data_file.partition[1] == 5
    assert read[0].data_file.upper_bounds == {1: b"zz"}
    assert read[1].data_file.lower_bounds == {1: b"x"}
    if version == 2:
        assert [each.sequence_number for each in read[:2]] == [3, 5]
        assert named.min_sequence_number == 3
