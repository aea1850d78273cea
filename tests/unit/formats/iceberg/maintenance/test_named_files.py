"""Spellings of paths: which are one file, and which lie in a table's folders."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.formats.iceberg.maintenance.named_files import FileKind, are_below, files_of, joined, keys_of
from support.cases import case


@pytest.mark.parametrize(
    "spellings",
    [
        case(["s3://lake/t/a", "s3a://lake/t/a", "S3N://lake//t/a", "s3://alias/t/a"], id="stores"),
        case(["/lake/t/a", "file:/lake/t/a", "file:///lake/t/a", "file://host/lake//t/a"], id="local files"),
    ],
)
def test_spellings_of_one_file_have_one_key(spellings: list[str]) -> None:
    assert len(set(keys_of(pa.array(spellings)).to_pylist())) == 1


def test_files_of_other_folders_and_names_have_other_keys() -> None:
    paths = ["s3://lake/t/a", "s3://lake/u/a", "s3://lake/t/b", "s3://lake/t/a%20", "s3://lake/t/a "]
    assert len(set(keys_of(pa.array(paths)).to_pylist())) == len(paths)


@pytest.mark.parametrize(
    ("path", "folder", "expected"),
    [
        case("s3://lake/t/data/a", "s3://lake/t", True, id="below"),
        case("s3a://lake/t/data/a", "s3://lake/t/", True, id="another scheme of the store"),
        case("s3://lake/t//data/a", "s3://lake/t", True, id="two slashes"),
        case("file:///lake/t/a", "/lake/t", True, id="a local file with a scheme"),
        case("/lake/t/a", "file:/lake/t", True, id="a local folder with a scheme"),
        case("s3://lake/t2/a", "s3://lake/t", False, id="a folder whose name begins so"),
        case("s3://other/t/a", "s3://lake/t", False, id="another bucket"),
        case("s3://lake/t/../u/a", "s3://lake/t", False, id="a detour"),
        case("s3://lake/t/./a", "s3://lake/t", False, id="a dot"),
        case("/lake/t/a", "s3://lake/t", False, id="another kind of store"),
        case("hdfs://lake/t/a", "s3://lake/t", False, id="another scheme"),
        case("s3://lake/t", "s3://lake/t", False, id="the folder itself"),
        case("", "s3://lake/t", False, id="nothing"),
    ],
)
def test_what_lies_in_a_folder(path: str, folder: str, expected: bool) -> None:
    assert are_below(pa.array([path], pa.string()), [folder]).tolist() == [expected]


def test_each_file_is_there_once() -> None:
    found = joined(
        [
            files_of(pa.array(["s3://lake/a", "s3://lake/b"]), FileKind.DATA),
            files_of(["s3a://lake/b", "s3://lake/c"], FileKind.MANIFEST),
        ]
    )
    assert found["path"].to_pylist() == ["s3://lake/a", "s3://lake/b", "s3://lake/c"]
    assert found["kind"].to_pylist() == [FileKind.DATA, FileKind.DATA, FileKind.MANIFEST]
    assert joined([]).num_rows == 0
