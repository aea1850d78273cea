"""What a move of postponed rows commits, and which changes by others stand against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest

from lithify.formats.paimon.commit.changes import BucketChange
from lithify.formats.paimon.commit.conflict_check import admitted
from lithify.formats.paimon.commit.moves import MovedRows
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, VectorRange
from lithify.formats.paimon.manifests.entries import ADD, DELETE, ManifestEntry
from lithify.formats.paimon.manifests.partition_layouts import NO_FILES, PartitionLayout, partition_layouts
from lithify.formats.paimon.model import BucketId
from lithify.formats.protocol.results import TaskOutputs
from support.manifests import entry, file_meta
from unit.formats.paimon.commit.test_changes import KEY

POSTPONED = BucketId(b"", -2, "bucket-postpone")
REAL = [BucketId(b"", number, f"bucket-{number}") for number in range(3)]


def postponed(name: str) -> ManifestEntry:
    return replace(entry(name), bucket=-2, total_buckets=-2)


def real(name: str, bucket: int, newest: int = 7, buckets: int = 3) -> ManifestEntry:
    return replace(entry(name, max_sequence=newest), bucket=bucket, total_buckets=buckets)


A, B = postponed("a"), postponed("b")
MOVE = MovedRows(
    POSTPONED, (A, B), ((REAL[0], file_meta("new-0")), (REAL[2], file_meta("new-2"))), 3, {0: 7, 1: 7}
)


def test_postponed_files_go_and_each_new_file_comes_to_its_bucket() -> None:
    assert [
        (each.kind, each.bucket, each.total_buckets, each.file.name, each.file.level)
        for each in MOVE.entries()
    ] == [
        (DELETE, -2, -2, "a", 0),
        (DELETE, -2, -2, "b", 0),
        (ADD, 0, 3, "new-0", 0),
        (ADD, 2, 3, "new-2", 0),
    ]


@dataclass(frozen=True)
class Case:
    """The files of the partition that are live when the move is committed, and what the conflict names."""

    live: Sequence[ManifestEntry]
    names: Sequence[str] | None = None


CASES = {
    "nothing changed": Case([A, B, real("x", 0), real("y", 1)]),
    "there was no bucket yet": Case([A, B]),
    "more is postponed": Case([A, B, postponed("c"), real("x", 0)]),
    "a bucket was compacted": Case([A, B, real("compacted", 0, 5)]),
    "a bucket that gets no rows was written to": Case([A, B, real("x", 0), real("y", 1, 99)]),
    "others have moved the rows": Case([real("x", 0), real("moved", 0, 30)], ["a"]),
    "others have moved some of them": Case([A, real("x", 0)], ["b"]),
    "the partition is gone": Case([], ["a"]),
    "others have written to a bucket": Case([A, B, real("x", 0), real("theirs", 0, 8)], ["bucket 0"]),
    "others have written to a new bucket": Case([A, B, real("theirs", 2, 0)], ["bucket 2"]),
    "the partition has another number of buckets": Case([A, B, real("x", 1, 7, 4)], ["3 buckets"]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_move_in_conflict_leaves_other_changes_ready(case: Case) -> None:
    live: dict[tuple[bytes, int], list[ManifestEntry]] = {}
    for each in case.live:
        live.setdefault((each.partition, each.bucket), []).append(each)
    other = replace(entry("other"), partition=b"p")
    live[b"p", 0] = [other]
    apart = BucketChange(BucketId(b"p", 0, "p/bucket-0"), (other,), (), 5, TaskOutputs())

    valid = admitted([MOVE, apart], live, KEY, {})
    ready, conflicts = [*valid.ready.values()], valid.conflicts

    if case.names is None:
        assert (ready, conflicts) == ([MOVE, apart], {})
    else:
        assert ready == [apart]
        assert all(name in conflicts[POSTPONED] for name in case.names)


def test_inputs_are_taken_as_the_snapshot_has_them() -> None:
    told = replace(A, file=replace(A.file, key_stats=replace(A.file.key_stats, null_counts=(1,))))
    (found,) = admitted([MOVE], {(b"", -2): [told, B]}, KEY, {}).ready.values()
    assert found.inputs == (told, B)


def test_others_that_change_vectors_conflict_with_a_compaction_but_not_with_a_move() -> None:
    live = {(b"", -2): [A, B], (b"p", 0): [replace(entry("other"), partition=b"p")]}
    apart = BucketChange(BucketId(b"p", 0, "p/bucket-0"), tuple(live[b"p", 0]), (), 5, TaskOutputs())
    others = VectorIndex("index-1", 10, {"other": VectorRange(1, 8, 1)})
    valid = admitted([MOVE, apart], live, KEY, {(b"p", 0): [others]})
    ready, conflicts = [*valid.ready.values()], valid.conflicts
    assert ready == [MOVE]
    assert "deletion vectors" in conflicts[apart.bucket]


def files(*places: tuple[bytes, int, int, int]) -> pa.Table:
    names = ("partition", "bucket", "total_buckets", "max_sequence")
    kinds = (pa.binary(), pa.int32(), pa.int32(), pa.int64())
    columns = [[place[number] for place in places] for number in range(4)]
    return pa.table([*map(pa.array, columns, kinds)], names=names)


def test_the_layout_of_a_partition_is_that_of_its_real_buckets() -> None:
    found = partition_layouts(
        files(
            (b"a", 1, 4, 9),
            (b"a", -2, -2, 100),
            (b"a", 1, 4, 3),
            (b"a", 0, 4, 5),
            (b"b", -2, -2, 7),
            (b"c", 0, 2, 1),
            (b"d", 0, 2, 1),
            (b"d", -2, -2, 1),
            (b"d", 1, 3, 1),
        )
    )
    assert found == {
        b"a": PartitionLayout((4,), {0: 5, 1: 9}),
        b"d": PartitionLayout((2, 3), {0: 1, 1: 1}),
    }
    assert found.get(b"b", NO_FILES) == PartitionLayout()
    assert partition_layouts(files((b"a", 0, 1, 1))) == {}
