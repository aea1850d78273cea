"""Spellings of paths: which are one file, and which lie in a table's folders."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.iceberg.maintenance.named_files import (
    FileKind,
    are_below,
    digests_of,
    distinct,
    files_of,
    is_in_sorted,
    keys_of,
)
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
        case(
            "wasbs://c@lake.blob.core.windows.net/t/a",
            "abfss://c@lake.dfs.core.windows.net/t",
            True,
            id="another scheme and host of an account",
        ),
        case(
            "abfss://c@other.dfs.core.windows.net/t/a",
            "abfss://c@lake.dfs.core.windows.net/t",
            False,
            id="another account",
        ),
        case("gs://lake/t/a", "s3://lake/t", False, id="the same bucket of another store"),
        case("oss://lake//t/a", "oss://lake/t", True, id="on OSS"),
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
    found = distinct(
        [
            files_of(pa.array(["s3://lake/a", "s3://lake/b", "s3://lake//a"]), FileKind.DATA),
            files_of(["s3a://lake/b", "s3://lake/c"], FileKind.MANIFEST),
            files_of(pa.chunked_array([["s3://lake/a"]]), FileKind.LIST),
        ]
    )
    assert found["path"].to_pylist() == ["s3://lake/a", "s3://lake/b", "s3://lake/c"]
    assert found["kind"].to_pylist() == [FileKind.DATA, FileKind.DATA, FileKind.MANIFEST]
    assert distinct([]).num_rows == 0


@given(st.lists(st.text(max_size=9).map(lambda name: f"/lake/{name}")))
def test_digests_are_equal_where_keys_are(paths: list[str]) -> None:
    column = pa.array(["not this one", *paths], pa.string()).slice(1)
    keys, digests = keys_of(column).to_pylist(), digests_of(column).tolist()
    assert len(digests) == len(paths)
    assert len(set(digests)) == len(set(keys)) == len(set(zip(keys, digests, strict=True)))


@given(st.lists(st.integers(0, 20)), st.sets(st.integers(0, 20)))
def test_what_is_among_sorted_digests(digests: list[int], among: set[int]) -> None:
    found = is_in_sorted(np.array(digests, np.uint64), np.array(sorted(among), np.uint64))
    assert found.tolist() == [each in among for each in digests]
