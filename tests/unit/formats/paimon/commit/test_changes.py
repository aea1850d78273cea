"""What a run does to a bucket, and which changes by others stand against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.formats.paimon.commit.changes import BucketChange
from lithify.formats.paimon.commit.conflict_check import conflict_of
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex, VectorRange
from lithify.formats.paimon.deletion_vectors.maintaining import VectorChange
from lithify.formats.paimon.deletion_vectors.sharing import SharedVectorChange
from lithify.formats.paimon.manifests.entries import (
    ADD,
    DELETE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.rows.binary_row import encode_row, order_key
from lithify.formats.protocol.results import TaskOutputs
from support.manifests import INT, entry, file_meta
from support.properties import examples

BUCKET = BucketId(b"", 0, "bucket-0")
KEY = partial(order_key, types=[INT])


def change(
    removed: Sequence[ManifestEntry] = (),
    upgraded: Sequence[ManifestEntry] = (),
    added: Sequence[FileMeta] = (),
    output_level: int = 5,
) -> BucketChange:
    return BucketChange(BUCKET, tuple(removed), tuple(upgraded), output_level, TaskOutputs(tuple(added)))


A, B, C = entry("a"), entry("b", low=5, high=15), entry("c", 5, 20, 29)


class TestEntries:
    def test_inputs_go_before_outputs_come(self) -> None:
        made = change(removed=[A, B], added=[file_meta("new", 5)]).entries()
        assert [(each.kind, each.file.name, each.file.level) for each in made] == [
            (DELETE, "a", 0),
            (DELETE, "b", 0),
            (ADD, "new", 5),
        ]

    def test_an_upgrade_changes_the_level_and_nothing_else(self) -> None:
        upgraded = entry("a", schema_id=3, created_millis=77, delete_rows=2, value_stats_columns=("x",))
        gone, came = change(upgraded=[upgraded], output_level=4).entries()
        assert gone == replace(upgraded, kind=DELETE)
        assert came == replace(upgraded, kind=ADD, file=replace(upgraded.file, level=4))

    def test_everything_stays_in_its_bucket(self) -> None:
        elsewhere = replace(A, partition=b"p", bucket=7, total_buckets=8)
        made = change(removed=[elsewhere], added=[file_meta("new", 5)]).entries()
        assert {(each.partition, each.bucket, each.total_buckets) for each in made} == {(b"p", 7, 8)}

    def test_the_changelog_has_entries_of_its_own(self) -> None:
        elsewhere = replace(A, partition=b"p", bucket=7, total_buckets=8)
        outputs = TaskOutputs((file_meta("new", 5),), changelog=(file_meta("changes", 5),))
        made = BucketChange(BUCKET, (elsewhere,), (), 5, outputs)
        assert [each.file.name for each in made.entries()] == ["a", "new"]
        assert made.changelog_entries() == [replace(elsewhere, kind=ADD, file=file_meta("changes", 5))]
        assert [(bucket, file.name) for bucket, file in made.placed] == [(BUCKET, "new"), (BUCKET, "changes")]


@dataclass(frozen=True)
class Case:
    """A change, the files that are live when it is to be committed, and what the conflict names."""

    change: BucketChange
    live: Sequence[ManifestEntry]
    names: Sequence[str] | None = None


REWRITE = change(removed=[A, B], added=[file_meta("new", 5, 0, 15)])
UPGRADE = change(upgraded=[A], output_level=5)

CASES = {
    "nothing changed": Case(REWRITE, [A, B, C]),
    "a new file in level 0, whatever its keys": Case(REWRITE, [A, B, C, entry("fresh", 0, 0, 99)]),
    "another run in a level that is not touched": Case(REWRITE, [A, B, entry("mid", 3, 0, 99)]),
    "an input was compacted away": Case(REWRITE, [A, C], ["b"]),
    "all inputs were": Case(REWRITE, [], ["a"]),
    "an input moved to another level": Case(REWRITE, [A, entry("b", 4, 5, 15)], ["b"]),
    "an upgraded file is gone": Case(UPGRADE, [B], ["a"]),
    "an upgraded file was upgraded by somebody else": Case(UPGRADE, [entry("a", 4)], ["a"]),
    "an input has an index now": Case(REWRITE, [entry("a", extra_files=("a.index",)), B], ["a"]),
    "an output overlaps a file of its level": Case(
        REWRITE, [A, B, entry("theirs", 5, 15, 19)], ["new", "theirs"]
    ),
    "an output touches a file by one key": Case(
        REWRITE, [A, B, entry("theirs", 5, -9, 0)], ["new", "theirs"]
    ),
    "an output beside a file of its level": Case(REWRITE, [A, B, entry("theirs", 5, 16, 19)]),
    "an output inside a file of its level": Case(
        REWRITE, [A, B, entry("theirs", 5, -9, 99)], ["new", "theirs"]
    ),
    "an upgraded file overlaps a file of its level": Case(
        UPGRADE, [A, entry("theirs", 5, 9, 9)], ["a", "theirs"]
    ),
    "an upgraded file beside one": Case(UPGRADE, [A, C]),
    "the new level of a file is free of its own old place": Case(
        change(upgraded=[entry("a", 1)], output_level=2), [entry("a", 1)]
    ),
    "outputs overlap each other": Case(
        change(removed=[A], added=[file_meta("x", 5, 0, 5), file_meta("y", 5, 5, 9)]), [A], ["x", "y"]
    ),
    "a rewrite beside an upgrade": Case(
        change(removed=[A], upgraded=[C], added=[file_meta("x", 5, 0, 9)]), [A, C]
    ),
    "outputs in level 0 may overlap": Case(
        change(removed=[A], added=[file_meta("x", 0), file_meta("y", 0)]), [A, B]
    ),
    "the partition was rescaled": Case(REWRITE, [A, B, entry("theirs", buckets=2)], ["1"]),
    "a file does not say of how many buckets": Case(REWRITE, [A, B, entry("theirs", buckets=-1)]),
    "files of others overlap without our doing": Case(
        REWRITE, [A, B, entry("x", 3, 0, 9), entry("y", 3, 9, 9)], ["x", "y"]
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_conflict_names_the_files_that_others_changed(case: Case) -> None:
    problem = conflict_of(case.change, case.live, KEY)
    assert (problem is None) == (case.names is None)
    for name in case.names or ():
        assert name in str(problem)


def test_files_without_keys_share_a_level() -> None:
    """Clustered files of append tables have no keys, and Java does not compare them, either."""
    keyless = encode_row((), ())
    new, other = (replace(file_meta(name, 5), min_key=keyless, max_key=keyless) for name in ("new", "other"))
    theirs = replace(entry("theirs", 5), file=replace(new, name="theirs"))
    problem = conflict_of(change(removed=[A], added=[new, other]), [A, theirs], partial(order_key, types=[]))
    assert problem is None


@pytest.mark.thorough
@settings(max_examples=examples(100), deadline=None)
@given(
    spans=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6), st.integers(0, 2)), max_size=6),
    added=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 6)), max_size=3),
)
def test_a_conflict_is_an_overlap_of_two_files_of_a_level_above_zero(
    spans: list[tuple[int, int, int]], added: list[tuple[int, int]]
) -> None:
    live = [entry(f"live-{n}", level, low, low + width) for n, (low, width, level) in enumerate(spans)]
    new = [file_meta(f"new-{n}", 2, low, low + width) for n, (low, width) in enumerate(added)]
    after = [(level, low, low + width) for low, width, level in spans] + [
        (2, low, low + width) for low, width in added
    ]
    overlaps = any(
        one[0] == other[0] > 0 and one[1] <= other[2] and other[1] <= one[2]
        for number, one in enumerate(after)
        for other in after[:number]
    )
    input_ = entry("input", 0)
    problem = conflict_of(change(removed=[input_], added=new), [*live, input_], KEY)
    assert (problem is not None) == overlaps


def vectors(name: str, *files: str) -> VectorIndex:
    return VectorIndex(name, 1, {file: VectorRange(1, 1, 1) for file in files})


OLD, OTHER, OF_A = vectors("old", "b", "c"), vectors("other", "b", "c"), vectors("of a", "a", "b")


@pytest.mark.parametrize(
    ("before", "now", "after", "problem"),
    [
        pytest.param((OLD,), (OLD,), OLD, None, id="nothing changes"),
        pytest.param((OLD,), (OLD,), vectors("new", "b"), None, id="a vector of a file that stays"),
        pytest.param((OLD,), (OLD,), None, None, id="none is left"),
        pytest.param((OLD,), (OTHER,), OLD, "changed the deletion vectors", id="others have changed them"),
        pytest.param((OLD,), (), None, "changed the deletion vectors", id="others have dropped them"),
        pytest.param((), (OLD,), None, "changed the deletion vectors", id="others have made them"),
        pytest.param(
            (), (), vectors("new", "gone"), "gone is no longer there", id="others have replaced the file"
        ),
        pytest.param((), (), vectors("new", "a"), "a is no longer there", id="the file is an input"),
    ],
)
def test_vectors_need_their_files_and_those_that_were_read(
    before: tuple[VectorIndex, ...],
    now: tuple[VectorIndex, ...],
    after: VectorIndex | None,
    problem: str | None,
) -> None:
    is_new = after is not None and after not in before
    mine = replace(change(removed=[A]), vectors=VectorChange(before, after, is_new=is_new or after is None))
    found = conflict_of(mine, [A, B, C], KEY, now)
    assert found is None if problem is None else problem in (found or "")


@pytest.mark.parametrize(
    ("now", "written", "problem"),
    [
        pytest.param((OF_A, OTHER), vectors("new", "b"), None, id="nothing has changed"),
        pytest.param((OF_A,), vectors("new", "b"), None, id="others have changed another index file"),
        pytest.param((OF_A, OTHER, vectors("third", "c")), vectors("new", "b"), None, id="made another one"),
        pytest.param((OTHER,), vectors("new", "b"), "changed the deletion", id="changed one that was read"),
        pytest.param(
            (OF_A, vectors("third", "a")), None, "changed the deletion", id="deleted rows of an input"
        ),
        pytest.param((OF_A,), vectors("new", "gone"), "gone is no longer there", id="replaced a file"),
    ],
)
def test_vectors_of_a_partition_are_compared_by_file(
    now: tuple[VectorIndex, ...], written: VectorIndex | None, problem: str | None
) -> None:
    """Without buckets, others may delete rows of files that this compaction does not touch."""
    change_of_vectors = SharedVectorChange((OF_A,), () if written is None else (written,))
    mine = replace(change(removed=[A]), vectors=change_of_vectors)
    found = conflict_of(mine, [A, B, C], KEY, now)
    assert found is None if problem is None else problem in (found or "")


def test_rows_that_others_delete_in_an_input_without_vectors_are_a_conflict() -> None:
    mine = replace(change(removed=[A]), vectors=SharedVectorChange())
    assert conflict_of(mine, [A, B, C], KEY, [OTHER]) is None
    assert "changed the deletion" in (conflict_of(mine, [A, B, C], KEY, [vectors("new", "a")]) or "")
