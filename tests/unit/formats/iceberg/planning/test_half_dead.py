"""Puffin files are half dead by what manifests say, and never if all their vectors are live."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.vectors import write_vectors
from lithify.formats.iceberg.planning.half_dead import puffin_files
from lithify.io.local_storage import local_storage
from support.cases import case

Vector = tuple[str, int, int]
"""Path and bytes of the Puffin file, bytes of the blob."""


def deletes(vectors: Sequence[Vector], data_files: Sequence[str] | None = None) -> pa.Table:
    """Vectors, after an equality delete file."""
    named = data_files or [f"file:///{number}" for number in range(len(vectors))]
    return pa.table(
        {
            "file_path": ["equality", *(path for path, _, _ in vectors)],
            "file_format": ["parquet", *["puffin"] * len(vectors)],
            "file_size_in_bytes": [10**9, *(size for _, size, _ in vectors)],
            "content_size_in_bytes": pa.array([None, *(length for _, _, length in vectors)], pa.int64()),
            "referenced": pa.array([None, *named], pa.string()),
        }
    )


KB = 1000


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        case([], [], id="no vectors"),
        case([("a", 100 * KB, 99 * KB)], [False], id="all of it is live"),
        case([("a", 100 * KB, 50 * KB)], [False], id="half of it is live"),
        case([("a", 100 * KB, 45 * KB)], [True], id="less than half is live"),
        case([("a", 100 * KB, 30 * KB), ("a", 100 * KB, 30 * KB)], [False, False], id="together enough"),
        case([("a", 100 * KB, 10 * KB), ("b", 100 * KB, 90 * KB)], [True, False], id="of two files one"),
        case([("a", 600, 40)], [False], id="a footer larger than its blob"),
    ],
)
def test_files_are_half_dead_by_the_vectors_that_are_live(
    vectors: Sequence[Vector], expected: list[bool]
) -> None:
    found = puffin_files(deletes(vectors))
    assert (found.dead_bytes > 0).tolist() == [False, *expected]
    assert len(set(found.numbers.tolist())) == 1 + len({path for path, _, _ in vectors})


def test_dead_bytes_are_those_of_the_whole_file() -> None:
    found = puffin_files(deletes([("a", 100 * KB, 10 * KB), ("a", 100 * KB, 20 * KB)]))
    assert found.dead_bytes[1] == found.dead_bytes[2] == pytest.approx(70 * KB, rel=0.05)


@given(
    positions=st.lists(st.sets(st.integers(0, 10**6), min_size=1, max_size=20), min_size=1, max_size=20),
    name=st.integers(1, 300),
)
def test_a_file_whose_vectors_are_all_live_is_not_half_dead(
    tmp_path_factory: pytest.TempPathFactory, positions: list[set[int]], name: int
) -> None:
    path = tmp_path_factory.mktemp("puffin") / "a.puffin"
    named = [f"file:///{'x' * name}/{number}" for number in range(len(positions))]
    vectors = {each: bitmap_of(sorted(found)) for each, found in zip(named, positions, strict=True)}
    written = write_vectors(local_storage([str(path.parent)]), str(path), vectors)
    listed = [(str(path), each.file_size, each.length) for each in written.values()]
    assert not puffin_files(deletes(listed, named)).dead_bytes.any()
