"""Which delete files a commit drops, as a table of cases and against trying all pairs of files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.iceberg.commit.dropping import covered_deletes, dropped_deletes
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
    ],
)
def test_deletes_go_only_if_no_live_file_can_need_them(
    delete: Delete, new: int | None, is_dropped: bool
) -> None:
    files = [Data("a", 5), Data("b", 7), Data("gone", 1)]
    stays = np.array([True, True, False])
    assert dropped_deletes(view(files, [delete]), stays, new, {GLOBAL}).tolist() == [is_dropped]


@pytest.mark.parametrize(
    ("delete", "exposed", "is_dropped"),
    [
        case(Delete(EQUALITY, 8), "", True, id="all files are covered"),
        case(Delete(EQUALITY, 8), "b", False, id="one is not"),
        case(Delete(EQUALITY, 7), "b", True, id="one is not, and is newer"),
        case(Delete(EQUALITY, 9), "", False, id="newer than the plan"),
        case(Delete(EQUALITY, 8, partition=1), "b", True, id="one of another partition is not"),
        case(Delete(EQUALITY, 8, partition=1, spec=GLOBAL), "b", False, id="of all partitions"),
        case(Delete(POSITION, 8), "", False, id="a position delete"),
    ],
)
def test_equality_deletes_go_only_if_positions_are_known_of_all_their_files(
    delete: Delete, exposed: str, is_dropped: bool
) -> None:
    files = [Data("a", 5), Data("b", 7)]
    mask = np.array([each.path in exposed for each in files])
    assert covered_deletes(view(files, [delete]), mask, None, 8, {GLOBAL}).tolist() == [is_dropped]


DATA = st.builds(
    Data, st.sampled_from("abcdefgh"), st.integers(1, 9), st.integers(0, 2), st.just(1)
)  # fmt: skip
DELETES = st.builds(
    Delete,
    st.sampled_from([POSITION, EQUALITY]),
    st.integers(1, 9),
    st.integers(0, 2),
    st.sampled_from([1, GLOBAL]),
    st.none(),
)


def applies(delete: Delete, file: Data) -> bool:
    """Iceberg's rules, one pair at a time."""
    if delete.content == POSITION:
        return delete.sequence >= file.sequence and delete.partition == file.partition
    is_there = delete.spec == GLOBAL or delete.partition == file.partition
    return delete.sequence > file.sequence and is_there


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
        assert is_dropped == (not any(applies(delete, file) for file in live))
