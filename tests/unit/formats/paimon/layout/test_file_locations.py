"""Where data files lie: directories by rule, and for floating-point partitions the ones that are there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pypaimon.filesystem.local_file_io import LocalFileIO

from lithify.errors import UnsupportedTable
from lithify.files.types import Raw
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.layout.external_paths import ExternalPaths
from lithify.formats.paimon.layout.file_locations import FileLocations
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.manifests import entry, schema

PLAIN = read_options({}).locations
SHORT, LONG = "x=8.41E21", "x=8.409999999999999E21"
"""Two spellings of one number: by Java from 19 on, and before."""


def places(root: Path, options: LocationOptions = PLAIN, **columns: str) -> FileLocations:
    """Of a table that is partitioned by these columns."""
    storage = storage_of(LocalFileIO(), (str(root), *options.listed))
    made = replace(schema([*columns.items(), ("id", "INT NOT NULL")], ["id"]), partition_keys=tuple(columns))
    return FileLocations(str(root), "db.t", made, options, storage)


def partition(**values: tuple[str, Raw]) -> bytes:
    """A partition out of the types and values of its columns."""
    types = [parse_type(kind) for kind, _ in values.values()]
    return encode_row([value for _, value in values.values()], types)


def file_in(root: Path, *folders: str) -> None:
    for folder in folders:
        (root / folder).mkdir(parents=True)
        (root / folder / "data-1.parquet").touch()


def test_a_bucket_has_a_path_for_people_and_a_folder_for_files(tmp_path: Path) -> None:
    where = places(tmp_path, replace(PLAIN, directory="data/files"), p="STRING")
    bucket = where.bucket_id(partition(p=("STRING", b"a/b")), 3)
    assert str(bucket) == "p=a%2Fb/bucket-3"
    assert where.relative_folder(bucket) == "data/files/p=a%2Fb/bucket-3"
    assert where.folder(bucket) == f"{tmp_path}/data/files/p=a%2Fb/bucket-3"
    assert where.values(bucket.partition).by_name == {"p": "a/b"}
    assert where.external_paths(bucket) is None


def test_tables_without_partitions_have_buckets_right_below(tmp_path: Path) -> None:
    where = places(tmp_path)
    bucket = where.bucket_id(partition(), 0)
    assert (str(bucket), where.folder(bucket)) == ("bucket-0", f"{tmp_path}/bucket-0")
    assert where.values(bucket.partition).by_name == {}


def test_a_file_is_where_its_entry_says(tmp_path: Path) -> None:
    where = places(tmp_path)
    assert where.path(replace(entry("f"), partition=partition())) == f"{tmp_path}/bucket-0/f"
    outside = replace(entry("f", external_path="file:/there/f"), partition=partition())
    assert places(tmp_path, replace(PLAIN, listed=("file:/there",))).path(outside) == "file:/there/f"


def test_new_files_go_outside_if_the_table_says_so(tmp_path: Path) -> None:
    options = replace(PLAIN, external=("file:/a", "s3://b/c"), weights=(1, 2), directory="d")
    where = places(tmp_path, options, p="INT")
    bucket = where.bucket_id(partition(p=("INT", 7)), 1)
    assert where.external_paths(bucket) == ExternalPaths(
        ("file:/a/d/p=7/bucket-1", "s3://b/c/d/p=7/bucket-1"), (1, 2)
    )


def numbered(where: FileLocations, text: bytes = b"a") -> BucketId:
    return where.bucket_id(partition(x=("DOUBLE", 8.41e21), y=("STRING", text)), 0)


@pytest.mark.parametrize(
    ("there", "found"),
    [
        ([], SHORT),
        ([f"{SHORT}/y=a/bucket-0"], SHORT),
        ([f"{LONG}/y=a/bucket-0"], LONG),
        ([f"{LONG}/y=a/bucket-0", "x=8.42E21/y=a/bucket-0", "x=NaN/y=a/bucket-0", "x=/y"], LONG),
        ([f"{LONG}/y=a/bucket-0", f"{SHORT}/y=b/bucket-0"], LONG),
    ],
    ids=["none", "newer Java", "older Java", "among others", "each has another partition below"],
)
def test_the_directory_that_is_there_counts(tmp_path: Path, there: list[str], found: str) -> None:
    file_in(tmp_path, *there)
    where = places(tmp_path, x="DOUBLE", y="STRING")
    assert where.folder(numbered(where)) == f"{tmp_path}/{found}/y=a/bucket-0"
    assert str(numbered(where)) == f"{SHORT}/y=a/bucket-0"


def test_two_directories_with_files_are_refused(tmp_path: Path) -> None:
    file_in(tmp_path, f"{SHORT}/y=a/bucket-0", f"{LONG}/y=a/bucket-1")
    where = places(tmp_path, x="DOUBLE", y="STRING")
    with pytest.raises(UnsupportedTable) as refused:
        where.folder(numbered(where))
    assert f"{LONG}/y=a" in refused.value.reasons[0]
    assert f"{SHORT}/y=a" in refused.value.reasons[0]


def test_directories_that_come_later_are_found(tmp_path: Path) -> None:
    where = places(tmp_path, x="DOUBLE", y="STRING")
    file_in(tmp_path, "x=1.0/y=a/bucket-0")
    assert where.folder(where.bucket_id(partition(x=("DOUBLE", 1.0), y=("STRING", b"a")), 0))
    file_in(tmp_path, f"{LONG}/y=a/bucket-0")
    assert where.folder(numbered(where)) == f"{tmp_path}/{LONG}/y=a/bucket-0"


def test_a_value_that_no_calendar_has_is_refused_by_name(tmp_path: Path) -> None:
    where = places(tmp_path, replace(PLAIN, legacy=False), p="DATE")
    with pytest.raises(UnsupportedTable, match="directory name"):
        where.bucket_id(partition(p=("DATE", 2_147_483_647)), 0)
    with pytest.raises(UnsupportedTable, match="directory name"):
        where.values(partition(p=("DATE", 2_147_483_647)))


@pytest.mark.parametrize(
    "value", [b"..", b".", b"a/b", b"../../x", b"a\\b", b"\x00\x1f", b"", b" ", b"\xff", b"%2e"]
)
def test_no_partition_value_leads_out_of_the_folder(tmp_path: Path, value: bytes) -> None:
    """Each is one directory that begins with the name of its column."""
    where = places(tmp_path, replace(PLAIN, external=("file:/there",)), p="STRING")
    bucket = where.bucket_id(partition(p=("STRING", value)), 0)
    inside, outside = where.existing_folders(bucket, external=True)
    assert where.folder(bucket) == inside
    assert outside.removeprefix("file:/there") == inside.removeprefix(str(tmp_path))
    assert Path(inside).parent.parent == tmp_path
    assert Path(inside).parent.name.startswith("p=")
    assert Path(inside).resolve() == Path(inside)


def test_external_paths_are_left_out_where_nobody_asks_for_them(tmp_path: Path) -> None:
    where = places(tmp_path, replace(PLAIN, external=("file:/there",)))
    assert where.existing_folders(where.bucket_id(partition(), 0), external=False) == [f"{tmp_path}/bucket-0"]


def test_all_spellings_of_a_partition_that_are_there_may_have_files(tmp_path: Path) -> None:
    """Though nobody could say which of them a reader would look at."""
    file_in(tmp_path, f"{SHORT}/y=a/bucket-0", f"{LONG}/y=a/bucket-0", "x=1.0/y=a/bucket-0")
    where = places(tmp_path, x="DOUBLE", y="STRING")
    found = where.existing_folders(numbered(where), external=False)
    assert sorted(found) == sorted(f"{tmp_path}/{spelt}/y=a/bucket-0" for spelt in (SHORT, LONG))


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        (None, True),
        ("file:/there/bucket-0/f", True),
        ("file:/there/0100/1010/f", True),
        ("file:/elsewhere/f", False),
        ("file:/there/../elsewhere/f", False),
        ("file:/there/g", False),
        ("file:/therefore/f", False),
        ("/f", False),
        ("f", False),
    ],
)
def test_files_are_read_where_options_say_that_they_may_be(
    tmp_path: Path, path: str | None, is_read: bool
) -> None:
    where = places(tmp_path, replace(PLAIN, listed=("file:/there",)))
    found = replace(entry("f", external_path=path), partition=partition())
    assert (where.external_problem(found.file) is None) is is_read
    if not is_read:
        with pytest.raises(UnsupportedTable):
            where.path(found)
