"""Which delete files a commit drops, as a table of cases and against trying all pairs of files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.iceberg.manifests.dropping import covered_deletes, dropped_deletes
from lithify.formats.iceberg.model import Content
from support.cases import case
from support.iceberg_views import EQUALITY, POSITION, Data, Delete, view

GLOBAL = 9
"""The spec whose equality deletes apply to all partitions."""


@pytest.mark.parametrize(
    ("delete", "new", "is_dropped"),
    [
        case(Delete(POSITION, 4), None, True, id="position, older than all"),
        case(Delete(POSITION, 5), None, False, id="position, as old as the oldest"),
        case(Delete(EQUALITY, 5), None, True, id="equality, as old as the oldest"),
        case(Delete(EQUALITY, 6), None, False, id="equality, newer than the oldest"),
        case(Delete(EQUALITY, 5), 3, False, id="equality, that new files need"),
        case(Delete(EQUALITY, 5), 5, True, id="equality, that new files do not need"),
        case(Delete(POSITION, 4), 4, False, id="position, as old as new files"),
        case(Delete(EQUALITY, 6, partition=1), None, True, id="of a partition without data"),
        case(Delete(EQUALITY, 6, partition=1), 3, False, id="of a partition that new files may enter"),
        case(Delete(EQUALITY, 6, partition=1, spec=GLOBAL), None, False, id="of all partitions"),
        case(Delete(EQUALITY, 5, partition=1, spec=GLOBAL), None, True, id="of all partitions, too old"),
        case(Delete(POSITION, 9, of="gone"), None, True, id="of a removed file"),
        case(Delete(POSITION, 9, of="a"), None, False, id="of a file that stays"),
        case(Delete(POSITION, 1, of="a"), None, False, id="of a file that stays, whatever its age"),
        case(Delete(POSITION, 0), None, False, id="without a sequence number"),
        case(Delete(POSITION, 5, partition=2), None, True, id="of a partition whose files have vectors"),
        case(Delete(POSITION, 5, partition=2), 5, False, id="of such a partition, that new files may enter"),
        case(Delete(EQUALITY, 6, partition=2), None, False, id="equality, of a partition with vectors"),
        case(Delete(POSITION, 9, of="c"), None, True, id="a file beside a vector"),
        case(Delete(POSITION, 9, of="c", is_vector=True), None, False, id="a vector"),
        case(Delete(POSITION, 9, of="gone", is_vector=True), None, True, id="a vector of a removed file"),
    ],
)
def test_deletes_go_only_if_no_live_file_can_need_them(
    delete: Delete, new: int | None, is_dropped: bool
) -> None:
    files = [Data("a", 5), Data("b", 7), Data("gone", 1), Data("c", 5, partition=2)]
    stays = np.array([True, True, False, True])
    deletes = [delete, Delete(POSITION, 6, partition=2, of="c", is_vector=True)]
    assert dropped_deletes(view(files, deletes), stays, new, {GLOBAL}).tolist() == [is_dropped, False]


def test_position_deletes_go_with_the_vectors_that_take_their_place() -> None:
    files, deletes = [Data("a", 5), Data("b", 5, 1)], [Delete(POSITION, 6, at) for at in (0, 1)]
    dropped = dropped_deletes(view(files, deletes), np.array([True, True]), None, {GLOBAL}, ["b"])
    assert dropped.tolist() == [False, True]


def test_a_vector_that_is_older_than_its_data_file_replaces_nothing() -> None:
    deletes = [Delete(POSITION, 6), Delete(POSITION, 4, of="a", is_vector=True)]
    dropped = dropped_deletes(view([Data("a", 5)], deletes), np.array([True]), None, {GLOBAL})
    assert not dropped.any()


@pytest.mark.parametrize(
    ("content", "delete", "exposed", "is_dropped"),
    [
        case(EQUALITY, Delete(EQUALITY, 8), "", True, id="all files are covered"),
        case(EQUALITY, Delete(EQUALITY, 8), "b", False, id="one is not"),
        case(EQUALITY, Delete(EQUALITY, 7), "b", True, id="one is not, and is newer"),
        case(EQUALITY, Delete(EQUALITY, 9), "", False, id="newer than the plan"),
        case(EQUALITY, Delete(EQUALITY, 8, partition=1), "b", True, id="one of another partition is not"),
        case(EQUALITY, Delete(EQUALITY, 8, partition=1, spec=GLOBAL), "b", False, id="of all partitions"),
        case(EQUALITY, Delete(POSITION, 8), "", False, id="a position delete"),
        case(POSITION, Delete(POSITION, 8), "", True, id="positions, all files are covered"),
        case(POSITION, Delete(POSITION, 7), "b", False, id="positions, one of the same commit is not"),
        case(POSITION, Delete(POSITION, 6), "b", True, id="positions, one is not, and is newer"),
        case(POSITION, Delete(POSITION, 9), "", False, id="positions, newer than the plan"),
        case(POSITION, Delete(POSITION, 8, of="a"), "", False, id="positions of a file that stays"),
        case(POSITION, Delete(EQUALITY, 8), "", False, id="positions are covered, not keys"),
    ],
)
def test_deletes_of_a_partition_go_only_if_positions_are_known_of_all_their_files(
    content: Content, delete: Delete, exposed: str, is_dropped: bool
) -> None:
    files = [Data("a", 5), Data("b", 7)]
    mask = np.array([each.path in exposed for each in files])
    assert covered_deletes(view(files, [delete]), mask, content, 8, None, {GLOBAL}).tolist() == [is_dropped]


DATA = st.builds(
    Data, st.sampled_from("abcdefgh"), st.integers(1, 9), st.integers(0, 2), st.just(1)
)  # fmt: skip
DELETES = st.builds(
    Delete,
    st.sampled_from([POSITION, EQUALITY]),
    st.integers(1, 9),
    st.integers(0, 2),
    st.sampled_from([1, GLOBAL]),
    st.none() | st.sampled_from("abcdefgh"),
    st.booleans(),
).map(lambda each: each if each.content == POSITION else replace(each, of=None, is_vector=False))


def applies(delete: Delete, file: Data, deletes: list[Delete]) -> bool:
    """Iceberg's rules, one pair at a time; those that name a file are left to it, whatever their number."""
    if delete.of is not None:
        others = any(is_vector_of(each, file) for each in deletes) and not delete.is_vector
        return delete.of == file.path and not others
    if delete.content == POSITION:
        is_there = delete.sequence >= file.sequence and delete.partition == file.partition
        return is_there and not any(is_vector_of(each, file) for each in deletes)
    is_there = delete.spec == GLOBAL or delete.partition == file.partition
    return delete.sequence > file.sequence and is_there


def is_vector_of(delete: Delete, file: Data) -> bool:
    has_path = delete.is_vector and delete.of is not None
    return has_path and delete.of == file.path and delete.sequence >= file.sequence


@given(
    files=st.lists(DATA, max_size=8, unique_by=lambda file: file.path),
    deletes=st.lists(DELETES, max_size=6),
    removed=st.sets(st.sampled_from("abcdefgh")),
    new=st.none() | st.integers(1, 9),
)
def test_what_applies_to_a_file_that_stays_is_never_dropped(
    files: list[Data], deletes: list[Delete], removed: set[str], new: int | None
) -> None:
    stays = np.array([file.path not in removed for file in files], dtype=bool)
    dropped = dropped_deletes(view(files, deletes), stays, new, {GLOBAL})
    live = [file for file in files if file.path not in removed]
    live += [] if new is None else [Data("new", new, partition) for partition in range(3)]
    for delete, is_dropped in zip(deletes, dropped.tolist(), strict=True):
        assert is_dropped == (not any(applies(delete, file, deletes) for file in live))
