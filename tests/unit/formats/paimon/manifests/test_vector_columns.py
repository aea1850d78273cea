"""Files are told which of them have a deletion vector, and how many rows it deletes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lithify.formats.paimon.buckets.statistics import bucket_statistics
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, VectorRange
from lithify.formats.paimon.manifests.entry_objects import data_files
from lithify.formats.paimon.manifests.entry_selection import Place
from lithify.formats.paimon.manifests.vector_columns import (
    NOTHING_MARKED,
    has_vectors,
    marked_files,
    with_vectors,
)
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from support.cases import case
from support.live_files import live_files
from support.small_files import file, marked

ONE, OTHER = BucketId(b"p", 0, "p/bucket-0"), BucketId(b"q", 0, "q/bucket-0")


def index(name: str, **rows: int | None) -> VectorIndex:
    """An index file in which so many rows of each data file are deleted."""
    return VectorIndex(name, 9, {each: VectorRange(1, 9, count) for each, count in rows.items()})


@pytest.mark.parametrize(
    ("vectors", "expected"),
    [
        case({}, {}, id="no vectors"),
        case({(b"p", 0): (index("i", a=3),)}, {"a": ("i", 3)}, id="one file"),
        case({(b"p", 0): (index("i", a=None),)}, {"a": ("i", None)}, id="nobody has counted"),
        case(
            {(b"p", 0): (index("i", a=3), index("j", b=4))},
            {"a": ("i", 3), "b": ("j", 4)},
            id="two index files",
        ),
        case({(b"p", 1): (index("i", a=3),)}, {}, id="another bucket"),
        case({(b"q", 0): (index("i", a=3, c=5),)}, {"c": ("i", 5)}, id="another partition"),
        case({(b"p", 0): (index("i", gone=3),)}, {}, id="a file that is gone"),
    ],
)
def test_files_get_their_own_vectors(
    vectors: Mapping[Place, tuple[VectorIndex, ...]], expected: Mapping[str, tuple[str, int | None]]
) -> None:
    before = marked(file("a"), "old", 99)  # what was known before is replaced
    frame = live_files([Bucket(ONE, (before, file("b")), 0), Bucket(OTHER, (file("c"),), 0)])

    found = with_vectors(frame, marked_files(vectors))

    files: dict[str, DataFile] = {
        each.name: each for each in data_files(found, lambda keys: keys.to_pylist())
    }
    assert {
        name: (each.vector_file, each.deleted_rows) for name, each in files.items() if each.has_vector
    } == expected
    assert all(each.deleted_rows == 0 for name, each in files.items() if name not in expected)
    assert has_vectors(found) == bool(expected)
    assert found.schema.equals(frame.schema)
    figures = bucket_statistics(found, 1).to_pylist()
    assert sum(row["vector_files"] for row in figures) == len(expected)


def test_frames_of_other_sources_have_no_vectors() -> None:
    frame = live_files([Bucket(ONE, (file("a"),), 0)]).drop_columns(["vector_file", "deleted_rows"])
    assert not has_vectors(frame)
    assert [each.has_vector for each in data_files(frame, lambda keys: keys.to_pylist())] == [False]
    (row,) = bucket_statistics(frame, 1).to_pylist()
    assert (row["vector_files"], row["deleted_rows"]) == (0, 0)
    assert with_vectors(frame, NOTHING_MARKED)["vector_file"].null_count == 1
