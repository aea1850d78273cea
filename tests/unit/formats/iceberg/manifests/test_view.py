"""A view has the live files of a snapshot, with what they inherit, and reads no manifest twice."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile
from lithify.formats.iceberg.manifests.partition_types import PartitionField
from lithify.formats.iceberg.manifests.schemas import PATH_FIELD
from lithify.formats.iceberg.manifests.summaries import partition_summaries
from lithify.formats.iceberg.manifests.view import ManifestReader, Statistics, View
from lithify.formats.iceberg.model import Partition
from support.iceberg_manifests import BY_DAY, Entry, entry, listed, manifest_bytes

DELETES = ManifestContent.DELETES


class Store:
    """Files in memory, which remembers what was read."""

    def __init__(self, **files: bytes) -> None:
        self.files = files
        self.read: list[str] = []

    def read_bytes(self, path: str, most: int) -> bytes:
        self.read.append(path)
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]


def view_of(entries: list[Entry], manifest: ManifestFile, version: int = 3, **more: Any) -> View:
    store = Store(**{manifest.path: manifest_bytes(entries, version, **more)})
    return ManifestReader(store).view([manifest])


def test_new_entries_inherit_from_their_manifest() -> None:
    view = view_of([entry(), entry(status=0, snapshot=3, sequence=2)], listed("m"), 2)
    assert view.data["snapshot_id"].to_pylist() == [77, 3]
    assert view.data["sequence_number"].to_pylist() == [5, 2]
    assert view.data["file_sequence_number"].to_pylist() == [5, 2]


def test_file_sequence_number_that_older_writers_did_not_carry_over_stays_unknown() -> None:
    carried = {**entry(status=0, snapshot=3, sequence=2), "file_sequence_number": None}

    view = view_of([carried], listed("m"), 2)

    assert view.data["sequence_number"].to_pylist() == [2]
    assert view.data["file_sequence_number"].to_pylist() == [None]


def test_file_sequence_number_is_inherited_beside_a_given_data_sequence_number() -> None:
    given = {**entry(sequence=2), "file_sequence_number": None}
    view = view_of([given], listed("m"), 2)
    assert view.data["sequence_number"].to_pylist() == [2]
    assert view.data["file_sequence_number"].to_pylist() == [5]


def test_entries_of_version_1_have_sequence_number_0() -> None:
    view = view_of([entry(status=0, snapshot=1)], listed("m", sequence=0), 1)
    assert view.data["sequence_number"].to_pylist() == [0]


def test_existing_entry_without_sequence_number_is_refused() -> None:
    with pytest.raises(CorruptTable, match="sequence_number"):
        view_of([entry(status=0, snapshot=1)], listed("m"), 2)


def test_deleted_entries_are_no_live_files() -> None:
    entries = [entry(file_path="a"), entry(status=2, sequence=1, file_path="b"), entry(file_path="c")]
    view = view_of(entries, listed("m"))
    assert view.data["file_path"].to_pylist() == ["a", "c"]
    assert view.data["position"].to_pylist() == [0, 2]


def test_row_ids_are_given_in_the_order_of_entries() -> None:
    entries = [
        entry(record_count=10),
        entry(status=2, sequence=1, record_count=100),
        entry(record_count=7, first_row_id=3),
        entry(record_count=5),
    ]
    assert view_of(entries, listed("m", first_row_id=1000)).data["first_row_id"].to_pylist() == [
        1000,
        3,
        1010,
    ]


def test_files_from_before_an_upgrade_have_no_row_ids() -> None:
    assert (
        view_of([entry(), entry(first_row_id=3)], listed("m")).data["first_row_id"].to_pylist() == [None] * 2
    )


def test_position_deletes_with_equal_bounds_delete_from_one_file() -> None:
    def deletes(lower: bytes, upper: bytes, **more: Any) -> Entry:
        return entry(content=1, lower_bounds={PATH_FIELD: lower}, upper_bounds={PATH_FIELD: upper}, **more)

    view = view_of(
        [
            deletes(b"a.parquet", b"a.parquet"),
            deletes(b"a.parquet", b"b.parquet"),
            deletes(b"a.parquet", b"b.parquet", referenced_data_file="c.parquet"),
            entry(content=1),
            entry(content=2, lower_bounds={PATH_FIELD: b"x"}, upper_bounds={PATH_FIELD: b"x"}),
        ],
        listed("m", content=DELETES),
    )
    assert view.deletes["referenced"].to_pylist() == ["a.parquet", None, "c.parquet", None, None]


def partitioned(day: int | None, part: int = 0, **more: Any) -> Entry:
    return entry(partition={"day": day, "part": part}, **more)


def test_equal_partitions_of_one_spec_have_one_number() -> None:
    store = Store(
        a=manifest_bytes([partitioned(1), partitioned(2), partitioned(None)], 2, BY_DAY),
        b=manifest_bytes([partitioned(2, content=1), partitioned(3, content=1)], 2, BY_DAY),
        c=manifest_bytes([entry()]),
    )
    manifests = [listed("a"), listed("b", content=DELETES), listed("c", spec_id=4)]
    view = ManifestReader(store).view(manifests)
    first, second, third, other = view.data["partition"].to_pylist()
    assert view.deletes["partition"].to_pylist()[0] == second
    assert (
        len({first, second, third, other, *view.deletes["partition"].to_pylist()})
        == len(view.partitions)
        == 5
    )
    assert str(view.partitions.partition(first).values[0]) == "1970-01-02"
    assert view.partitions.partition(third).values == (None, 0)
    assert view.partitions.partition(other) == Partition(4)
    assert [*view.partitions.of_spec(4)] == [other]
    assert view.data["spec_id"].to_pylist() == [0, 0, 0, 4]
    assert view.data["manifest"].to_pylist() == [0, 0, 0, 2]


def test_partitions_are_equal_after_their_column_was_widened() -> None:
    before, after = ((PartitionField(1000, "a", kind),) for kind in ("int", "long"))
    store = Store(
        a=manifest_bytes([entry(partition={"a": 7})], partition=before),
        b=manifest_bytes([entry(partition={"a": 7})], partition=after),
    )
    view = ManifestReader(store).view([listed("a"), listed("b")])
    assert view.data["partition"].to_pylist() == [0, 0]
    assert view.partitions.partition(0).values == (7,)


@pytest.mark.parametrize("kind", ["float", "double"])
def test_both_zeros_are_partitions_and_all_nan_are_one_as_in_java(kind: str) -> None:
    fields = (PartitionField(1000, "v", kind),)
    values = [0.0, -0.0, math.nan, -math.nan, None, -0.0]
    store = Store(a=manifest_bytes([entry(partition={"v": each}) for each in values], partition=fields))
    view = ManifestReader(store).view([listed("a")])
    numbers = view.data["partition"].to_pylist()
    assert numbers == [0, 1, 2, 2, 3, 1]
    assert [str(view.partitions.partition(each).values[0]) for each in range(4)] == [
        *("0.0", "-0.0", "nan", "None")
    ]


@pytest.mark.parametrize("values", [[0.0], [-0.0], [0.0, -0.0]], ids=str)
def test_bounds_of_a_zero_include_both_zeros(values: list[float]) -> None:
    partitions = pa.StructArray.from_arrays([pa.array(values)], ["p1000"])
    (summary,) = partition_summaries(partitions, (PartitionField(1000, "v", "double"),))
    assert (summary.lower, summary.upper) == (struct.pack("<d", -0.0), struct.pack("<d", 0.0))


def test_manifests_of_one_spec_with_different_fields_are_refused() -> None:
    store = Store(
        a=manifest_bytes([partitioned(1)], 2, BY_DAY), b=manifest_bytes([entry(partition={})], partition=())
    )
    with pytest.raises(CorruptTable, match="different fields"):
        ManifestReader(store).view([listed("a"), listed("b")])


def test_newer_view_reads_only_new_manifests() -> None:
    store = Store(**{name: manifest_bytes([entry(file_path=name)]) for name in "abc"})
    reader = ManifestReader(store)
    before = reader.view([listed("a"), listed("b")])
    after = reader.view([listed("b"), listed("c")], previous=before)
    assert store.read == ["a", "b", "c"]
    assert after.data["file_path"].to_pylist() == ["b", "c"]
    assert [*after.entries] == ["b", "c"]


def test_manifest_is_read_again_for_other_statistics() -> None:
    store = Store(a=manifest_bytes([entry(lower_bounds={1: b"x"})]))
    reader = ManifestReader(store)
    before = reader.view([listed("a")])
    after = reader.view([listed("a")], Statistics(bounds=frozenset({1})), before)
    assert after.data["lower_bounds.1"].to_pylist() == [b"x"]
    assert len(store.read) == 2


def test_manifest_that_was_given_row_ids_is_read_again() -> None:
    store = Store(a=manifest_bytes([entry()], 3))
    reader = ManifestReader(store)
    before = reader.view([listed("a")])
    after = reader.view([listed("a", first_row_id=9)], previous=before)
    assert after.data["first_row_id"].to_pylist() == [9]


def test_manifest_without_live_files_is_not_read() -> None:
    store = Store()
    view = ManifestReader(store).view([replace(listed("a"), added_files=0, existing_files=0)])
    assert (len(view.data), len(view.deletes), store.read) == (0, 0, [])


def test_missing_manifest_is_named() -> None:
    with pytest.raises(MissingFile, match="gone"):
        ManifestReader(Store()).view([listed("gone")])


def test_damaged_manifest_is_named() -> None:
    with pytest.raises(CorruptTable, match="a: the manifest cannot be read"):
        ManifestReader(Store(a=b"Obj")).view([listed("a")])


def test_files_of_the_other_kind_are_refused() -> None:
    with pytest.raises(CorruptTable, match="kind"):
        view_of([entry(content=1)], listed("m"))
    with pytest.raises(CorruptTable, match="kind"):
        view_of([entry()], listed("m", content=DELETES))


@pytest.mark.parametrize("lacks", ["referenced_data_file", "content_offset", "content_size_in_bytes"])
def test_vectors_that_do_not_say_whose_they_are_are_refused(lacks: str) -> None:
    """They would otherwise delete from every file of their partition."""
    whole = {"referenced_data_file": "a", "content_offset": 4, "content_size_in_bytes": 9}
    vector = entry(content=1, file_format="PUFFIN", **{**whole, lacks: None})
    with pytest.raises(CorruptTable, match=lacks.removesuffix("_data_file")):
        view_of([vector], listed("m", content=DELETES))
