"""Manifest lists of all versions are read and written as other implementations do."""

from __future__ import annotations

from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import read_manifest_list

from lithify.formats.iceberg.manifests.manifest_lists import (
    FieldSummary,
    ListOwner,
    ManifestContent,
    ManifestFile,
    read_list,
    write_list,
)
from support.iceberg_manifests import listed

SUMMARIES = (FieldSummary(True, False, b"\x01\0\0\0", b"\x09\0\0\0"), FieldSummary(False, None, None, None))
OLD = replace(listed("old.avro", sequence=4, snapshot=70), partitions=SUMMARIES, min_sequence=3)
NEW = replace(listed("new.avro", snapshot=77), sequence=None, min_sequence=None)
DELETES = listed("deletes.avro", content=ManifestContent.DELETES, sequence=2)


def owner(version: int) -> ListOwner:
    return ListOwner(version, 77, 70, 0 if version == 1 else 9, 1000 if version == 3 else None)


def first(manifest: ManifestFile) -> ManifestFile:
    """A manifest as tables of version 1 have it."""
    return replace(manifest, sequence=0, min_sequence=0)


def test_lists_of_version_1_have_no_sequence_numbers() -> None:
    written = write_list([first(NEW), first(OLD)], owner(1))
    assert read_list(written.content) == written.manifests == (first(NEW), first(OLD))
    assert written.next_row_id is None


def test_new_manifests_take_the_sequence_number_of_the_commit() -> None:
    written = write_list([NEW, OLD, DELETES], owner(2))
    assert read_list(written.content) == written.manifests
    assert written.manifests == (replace(NEW, sequence=9, min_sequence=9), OLD, DELETES)


def test_manifests_of_data_take_row_ids_in_their_order() -> None:
    """With room for existing rows, too, as Java does: some may have no row id yet."""
    known = replace(OLD, first_row_id=5)
    written = write_list([NEW, DELETES, known, replace(OLD, path="older.avro")], owner(3))
    assert [each.first_row_id for each in written.manifests] == [1000, None, 5, 1020]
    assert written.next_row_id == 1040
    assert read_list(written.content) == written.manifests


def test_manifest_of_another_snapshot_needs_a_sequence_number() -> None:
    with pytest.raises(ValueError, match="another snapshot"):
        write_list([replace(NEW, snapshot_id=1)], owner(2))


def test_tables_of_version_1_have_no_deletes() -> None:
    with pytest.raises(ValueError, match="version 1"):
        write_list([DELETES], owner(1))


@pytest.mark.parametrize("version", [1, 2])
def test_pyiceberg_reads_what_is_written(version: int, tmp_path: Path) -> None:
    manifests = [first(OLD), first(NEW)] if version == 1 else [OLD, NEW, DELETES]
    path = tmp_path / "list.avro"
    path.write_bytes(write_list(manifests, owner(version)).content)
    found = [*read_manifest_list(PyArrowFileIO().new_input(str(path)))]
    assert [each.manifest_path for each in found] == [each.path for each in manifests]
    assert [each.sequence_number or 0 for each in found] == ([0, 0] if version == 1 else [4, 9, 2])
    assert [each.added_rows_count for each in found] == [10] * len(manifests)
    summary = (found[0].partitions or [])[0]
    assert (summary.contains_null, summary.lower_bound) == (True, b"\x01\0\0\0")


def test_header_says_whose_list_it_is() -> None:
    reader = fastavro.reader(BytesIO(write_list([OLD], owner(3)).content))
    expected = {
        "snapshot-id": "77",
        "parent-snapshot-id": "70",
        "sequence-number": "9",
        "first-row-id": "1000",
        "format-version": "3",
    }
    assert expected.items() <= reader.metadata.items()


def test_fields_are_found_by_their_ids() -> None:
    """Early writers called them otherwise."""
    fields = [
        {"name": "manifest_path", "type": "string", "field-id": 500},
        {"name": "manifest_length", "type": "long", "field-id": 501},
        {"name": "partition_spec_id", "type": "int", "field-id": 502},
        {"name": "added_snapshot_id", "type": ["null", "long"], "field-id": 503},
        {"name": "added_data_files_count", "type": ["null", "int"], "field-id": 504},
    ]
    record: dict[str, Any] = {field["name"]: 1 for field in fields}
    stream = BytesIO()
    fastavro.writer(
        stream, {"type": "record", "name": "m", "fields": fields}, [{**record, "manifest_path": "m"}]
    )
    (found,) = read_list(stream.getvalue())
    assert (found.added_files, found.existing_files, found.sequence) == (1, None, 0)
    assert found.may_have_live


def test_damaged_list_is_refused() -> None:
    content = write_list([OLD], owner(2)).content
    with pytest.raises((ValueError, EOFError)):
        read_list(content[:-9])
