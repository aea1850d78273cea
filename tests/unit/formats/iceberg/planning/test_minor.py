"""Minor units are planned where equality deletes or position files pile up on files that stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lithify.columns.column_groups import Numbers
from lithify.formats.iceberg.planning.figures import OTHER_SPECS, Figures, PartitionDeletes
from lithify.formats.iceberg.planning.minor import NEVER, minor_fingerprint
from lithify.formats.iceberg.planning.options import PlanningOptions
from lithify.formats.iceberg.planning.plan import RewritePlan, rewrites_by
from lithify.formats.iceberg.planning.statistics import group_statistics
from lithify.formats.iceberg.planning.triggers import verdicts
from support.cases import case

NOW = 10_000
OPTIONS = PlanningOptions(
    target_size=100,
    min_size=0,
    max_size=180,
    equality_files=3,
    equality_millis=1_000,
    position_files=2,
    shared_files=3,
    dead_vector_bytes=50,
).at(NOW)
WHOLE = 100
LARGE = 1_000
"""The size of a file that is rewritten."""

DataFile = tuple[int, int, int]
"""Partition, data sequence number and size."""
Delete = tuple[int, int, int]
"""Partition, data sequence number and commit time."""


def planned(
    files: Sequence[DataFile],
    deletes: Sequence[Delete],
    positions: Sequence[int] = (),
    options: PlanningOptions = OPTIONS,
    shared: Sequence[Delete] = (),
    vectors: Sequence[int] = (),
    puffins: Sequence[tuple[int, int]] = (),
) -> RewritePlan:
    def column(rows: Sequence[tuple[int, ...]], number: int) -> Numbers:
        return np.array([row[number] for row in rows], dtype=np.int64)

    none = np.zeros(len(files), dtype=np.int64)

    def given(some: Sequence[Delete]) -> PartitionDeletes:
        return PartitionDeletes(np.arange(len(some)), *(column(some, number) for number in range(3)))

    figures = Figures(
        sizes=column(files, 2),
        rows=none + 100,
        partitions=column(files, 0),
        delete_files=none,
        deleted_rows=none,
        vector_rows=none,
        is_doubled=none > 0,
        millis=none,
        sequences=column(files, 1),
        position_files=np.array([*positions, *[0] * len(files)][: len(files)], dtype=np.int64),
        takes_positions=~np.isin(np.arange(len(files)), vectors) & (column(files, 0) != OTHER_SPECS),
        equality=given(deletes),
        shared=given(shared),
        puffins=column(puffins, 0) if puffins else none,
        dead_bytes=column(puffins, 1) if puffins else none,
    )
    return rewrites_by(figures, options, None)


def kept(plan: RewritePlan) -> list[int]:
    return np.flatnonzero(plan.minor.files).tolist()


FRESH, OLD = NOW - 10, NOW - 2_000


@pytest.mark.parametrize(
    ("files", "deletes", "expected"),
    [
        case([(0, 1, WHOLE)], [(0, 2, FRESH)] * 2, [], id="too few"),
        case([(0, 1, WHOLE)], [(0, 2, FRESH)] * 3, [0], id="enough of them"),
        case([(0, 1, WHOLE)], [(0, 2, OLD)], [0], id="one that is old"),
        case([(0, 1, WHOLE)], [(0, 2, 0)], [0], id="one whose snapshot has expired"),
        case([(0, 2, WHOLE)], [(0, 2, OLD)] * 3, [], id="none applies to files of the same commit"),
        case([(0, 1, WHOLE), (0, 5, WHOLE)], [(0, 2, OLD)], [0], id="newer files are left out"),
        case([(0, 1, WHOLE), (1, 1, WHOLE)], [(1, 2, OLD)], [1], id="another partition"),
        case([(0, 1, WHOLE), (2, 1, WHOLE)], [(1, 2, OLD), (3, 2, OLD)], [], id="partitions without data"),
        case([(0, 1, LARGE)], [(0, 2, OLD)] * 3, [], id="files that are rewritten anyway"),
        case([(0, 1, LARGE), (0, 1, WHOLE)], [(0, 2, OLD)], [1], id="files that stay beside rewritten ones"),
        case([(OTHER_SPECS, 1, WHOLE), (0, 9, WHOLE)], [(0, 2, OLD)] * 3, [], id="files of another spec"),
        case([], [(0, 2, OLD)] * 3, [], id="no files"),
    ],
)
def test_units_keep_the_files_to_which_piled_up_equality_deletes_apply(
    files: Sequence[DataFile], deletes: Sequence[Delete], expected: list[int]
) -> None:
    assert kept(planned(files, deletes)) == expected


def test_units_keep_files_with_many_position_files() -> None:
    plan = planned([(0, 1, WHOLE), (0, 1, WHOLE), (1, 1, LARGE)], [], [1, 2, 5])
    assert kept(plan) == [1]


@pytest.mark.parametrize(
    ("files", "shared", "vectors", "expected"),
    [
        case([(0, 1, WHOLE)] * 2, [(0, 2, OLD)] * 2, [], [], id="too few"),
        case([(0, 1, WHOLE)] * 2, [(0, 2, OLD)] * 3, [], [0, 1], id="enough of them, whatever their age"),
        case([(0, 2, WHOLE), (0, 3, WHOLE)], [(0, 2, OLD)] * 3, [], [0], id="of the same commit, not older"),
        case([(0, 1, WHOLE), (1, 1, WHOLE)], [(1, 2, OLD)] * 3, [], [1], id="another partition"),
        case([(0, 1, WHOLE)] * 2, [(0, 2, OLD)] * 3, [1], [0], id="files with vectors need none"),
        case([(0, 1, WHOLE)], [(0, 2, OLD)] * 3, [0], [], id="all files have vectors"),
        case([(0, 1, LARGE), (0, 1, WHOLE)], [(0, 2, OLD)] * 3, [], [1], id="beside rewritten files"),
        case([(OTHER_SPECS, 1, WHOLE)], [(0, 2, OLD)] * 3, [], [], id="files of another spec"),
        case([], [(0, 2, OLD)] * 3, [], [], id="no files"),
    ],
)
def test_units_keep_the_files_to_which_piled_up_shared_position_files_apply(
    files: Sequence[DataFile], shared: Sequence[Delete], vectors: Sequence[int], expected: list[int]
) -> None:
    plan = planned(files, [], shared=shared, vectors=vectors)
    assert kept(plan) == np.flatnonzero(plan.minor.freed).tolist() == expected


def test_shared_position_files_that_are_not_due_are_left_alone() -> None:
    plan = planned([(0, 1, WHOLE), (1, 1, WHOLE)], [(0, 2, OLD)], shared=[(0, 2, OLD), *[(1, 2, OLD)] * 3])
    assert [plan.minor.shared_of(group).tolist() for group in (0, 1)] == [[], [1, 2, 3]]
    assert [plan.minor.deletes_of(group).tolist() for group in (0, 1)] == [[0], [1, 2, 3]]


@pytest.mark.parametrize(
    ("files", "puffins", "expected"),
    [
        case([(0, 1, WHOLE)], [(1, 49)], [], id="too little is dead"),
        case([(0, 1, WHOLE)], [(1, 50)], [0], id="enough is dead"),
        case([(0, 1, WHOLE)] * 3, [(1, 30), (2, 20), (3, 0)], [0, 1], id="two files together"),
        case([(0, 1, WHOLE)] * 2, [(1, 30), (1, 30)], [], id="a Puffin file counts once"),
        case([(0, 1, WHOLE), (1, 1, WHOLE)], [(1, 50), (1, 50)], [0, 1], id="once in each partition"),
        case([(0, 1, LARGE), (0, 1, WHOLE)], [(1, 40), (2, 40)], [], id="of files that are rewritten"),
    ],
)
def test_vectors_move_out_of_half_dead_puffin_files(
    files: Sequence[DataFile], puffins: Sequence[tuple[int, int]], expected: list[int]
) -> None:
    plan = planned(files, [], puffins=puffins)
    assert (np.flatnonzero(plan.minor.moved).tolist(), kept(plan)) == (expected, [])


def test_verdict_names_dead_bytes() -> None:
    found = told(planned([(0, 1, WHOLE)] * 2, [], puffins=[(1, 2000), (2, 4000)]))["DeadVectors"]
    files = "2 files with vectors in Puffin files of which less than half is live"
    assert found == (True, f"{files}, 5.9Ki dead; written again from 50 B on")


def test_equality_deletes_wait_for_ever_if_the_interval_is_off() -> None:
    options = replace(OPTIONS, equality_millis=None).at(NOW)
    assert kept(planned([(0, 1, WHOLE)], [(0, 2, 0)], options=options)) == []


def test_equality_deletes_are_listed_by_group() -> None:
    plan = planned([(0, 1, WHOLE), (1, 1, WHOLE)], [(1, 2, OLD), (0, 2, OLD), (1, 3, FRESH), (0, 1, OLD)])
    assert [plan.minor.equality.of(group).tolist() for group in (0, 1)] == [[1], [0, 2]]
    assert plan.minor.oldest.tolist() == [OLD, OLD]
    assert planned([(0, 1, WHOLE)], []).minor.oldest.tolist() == [NEVER]


def told(plan: RewritePlan) -> dict[str, tuple[bool, str]]:
    (row,) = group_statistics(plan).to_pylist()
    found = verdicts(row, plan.options, is_sorted=False)
    return {str(each.trigger): (each.fired, each.detail) for each in found}


@pytest.mark.parametrize(
    ("deletes", "expected"),
    [
        case(
            [(0, 2, FRESH), (0, 2, FRESH)],
            (False, "2 equality delete files on files that stay, the oldest of 1970-01-01 00:00:09 UTC"),
            id="waiting",
        ),
        case(
            [(0, 2, 0)],
            (True, "1 equality delete file on files that stay, the oldest older than all snapshots"),
            id="old",
        ),
    ],
)
def test_verdict_names_number_and_age(deletes: Sequence[Delete], expected: Any) -> None:
    fired, detail = told(planned([(0, 1, WHOLE)], deletes))["EqualityDeletes"]
    assert (fired, detail.partition("; ")[0]) == expected
    assert detail.endswith("; turned into positions from 3 on, or after 1 s")


def test_verdict_names_files_with_many_position_files() -> None:
    expected = (True, "2 files with 2 position delete files or more, which become one each")
    assert told(planned([(0, 1, WHOLE)] * 2, [], [2, 3]))["PositionFiles"] == expected


@pytest.mark.parametrize(("count", "fired"), [(1, False), (3, True)])
def test_verdict_names_shared_position_files(count: int, fired: bool) -> None:
    found = told(planned([(0, 1, WHOLE)], [], shared=[(0, 2, OLD)] * count))["SharedPositionFiles"]
    files = "1 position delete file" if count == 1 else f"{count} position delete files"
    said = f"{files} about several data files that stay; become one for each data file from 3 on"
    assert found == (fired, said)


def test_file_sizes_do_not_fire_for_files_that_minor_units_keep() -> None:
    options = replace(OPTIONS, min_size=75, min_input_files=5)
    found = told(planned([(0, 1, 10)], [(0, 2, OLD)], options=options))
    assert {name for name, (fired, _) in found.items() if fired} == {"EqualityDeletes"}


def test_fingerprints_differ_by_data_files_and_deletes() -> None:
    given: list[tuple[list[str], list[str]]] = [
        (["a"], ["b"]),
        (["a", "c"], ["b"]),
        (["a"], ["b", "c"]),
        (["a", "b"], []),
    ]
    assert len({minor_fingerprint(*each) for each in given}) == len(given)
    assert minor_fingerprint(["a", "c"], []) == minor_fingerprint(["c", "a"], [])
