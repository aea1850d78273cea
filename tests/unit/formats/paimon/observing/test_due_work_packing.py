"""What is said of the buckets of append tables is what planning says of each, and for how long that holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.clock import epoch_millis
from lithify.engine.pack.options import PackingOptions
from lithify.formats.paimon.model import LATEST_MILLIS, Bucket, DataFile
from lithify.formats.paimon.observing.due_work_packing import PackingJudge
from lithify.formats.paimon.options.table_options import read_options
from lithify.formats.paimon.planning.bin_packing import PackedUnit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.live_files import live_files, path_of
from support.merge_trees import HOUR_MILLIS, MIDNIGHT, repeatable
from support.packed_files import File, random_files, random_options, with_deletes
from support.small_files import data_file, file, marked

ZONE = ZoneInfo("Asia/Kolkata")


def judge(options: PackingOptions, now: datetime) -> PackingJudge:
    policy = MergeTreeOptions(small_file_size=options.small_file_size)
    return PackingJudge(policy, now, pa.Array.to_pylist, path_of, "db.t", options)


@repeatable
@given(st.integers(0, 1 << 32))
def test_figures_are_those_of_planning_each_bucket(seed: int) -> None:
    rng = Random(seed)
    options = random_options(rng, is_ordered=rng.random() < 0.5)
    marks: Callable[[Sequence[DataFile]], Iterable[DataFile]] = tuple
    if not options.is_ordered and rng.random() < 0.5:
        options, marks = replace(options, delete_ratio=0.2), partial(with_deletes, rng)
    now = MIDNIGHT.astimezone(ZONE)
    buckets = [
        Bucket(
            path_of(f"dt={number}".encode(), 0),
            tuple(
                replace(each, created_millis=each.created_millis - rng.choice([0, 1, HOUR_MILLIS * 9]))
                for each in map(data_file, marks(random_files(rng, options) or [File("one")]))
            ),
            0,
        )
        for number in range(rng.randint(1, 6))
    ]

    figures = judge(options, now).figures(live_files(buckets)).to_pylist()

    assert [row["path"] for row in figures] == [each.id.path for each in buckets]
    for row, bucket in zip(figures, buckets, strict=True):
        minor, full = (
            plan_bucket(bucket, options, strategy, now) for strategy in (Strategy.MINOR, Strategy.FULL)
        )
        assert row["trigger"] == (minor.trigger if isinstance(minor, PackedUnit) else None)
        assert row["full_bytes"] == (full.read_bytes if isinstance(full, PackedUnit) else None)
        until = row["valid_until"]
        assert until == row["next_trigger"]
        if until is not None:
            assert row["trigger"] is None
            just = datetime.fromtimestamp(until / 1000, ZONE)
            before = plan_bucket(bucket, options, Strategy.MINOR, just - timedelta(milliseconds=1))
            after = plan_bucket(bucket, options, Strategy.MINOR, just)
            assert (isinstance(before, PackedUnit), isinstance(after, PackedUnit)) == (False, True)


def test_leftovers_become_due_by_the_wall_clock_of_the_writers() -> None:
    """Creation times are local times of the writers; the table says in which zone."""
    options = replace(PackingOptions(), leftover_millis=HOUR_MILLIS)
    now = MIDNIGHT.astimezone(ZONE)
    wall = epoch_millis(now.replace(tzinfo=MIDNIGHT.tzinfo))
    bucket = Bucket(path_of(b"", 0), tuple(file(name, created=wall) for name in "ab"), 0)
    (row,) = judge(options, now).figures(live_files([bucket])).to_pylist()
    assert row["next_trigger"] == epoch_millis(MIDNIGHT) + HOUR_MILLIS


def test_the_latest_files_and_the_longest_age_are_within_the_calendar() -> None:
    """Metadata may state any creation time that is read, and the table any age."""
    options = read_options({"lithify.small-file-age": "1000000000 d"}, has_primary_key=False).packing
    assert options is not None
    latest = epoch_millis(MIDNIGHT) + options.leftover_millis
    files = tuple(file(name, created=latest) for name in "ab")
    (row,) = judge(options, MIDNIGHT).figures(live_files([Bucket(path_of(b"", 0), files, 0)])).to_pylist()
    assert row["trigger"] is None
    assert row["next_trigger"] == latest + options.leftover_millis
    files = tuple(file(name, created=LATEST_MILLIS) for name in "ab")
    (row,) = judge(options, MIDNIGHT).figures(live_files([Bucket(path_of(b"", 0), files, 0)])).to_pylist()
    assert row["trigger"] == "OldSmallFiles", "the writer's clock was wrong"
    young = replace(options, leftover_millis=1)
    (row,) = (
        judge(young, datetime.max.replace(tzinfo=UTC))
        .figures(live_files([Bucket(path_of(b"", 0), files, 0)]))
        .to_pylist()
    )
    assert row["trigger"] == "OldSmallFiles"


def test_clustered_files_block_their_bucket() -> None:
    """Only clustering moves files of such tables out of level 0, and joining them would undo it."""
    files = [file(name, 10, first=10 * number) for number, name in enumerate("abcdef")]
    files[3] = replace(files[3], level=2)
    bucket = Bucket(path_of(b"", 0), tuple(files), 0)
    (row,) = judge(PackingOptions(), MIDNIGHT).figures(live_files([bucket])).to_pylist()
    assert "level 2" in row["problem"]
    assert (row["trigger"], row["is_corrupt"]) == (None, False)


def test_deleted_rows_are_counted_and_told() -> None:
    options = PackingOptions(small_file_size=70, delete_ratio=0.2)
    files = (file("a", 90), marked(file("b", 90), deleted=5), marked(file("c", 90), deleted=1))
    (row,) = judge(options, MIDNIGHT).figures(live_files([Bucket(path_of(b"dt=1", 0), files, 0)])).to_pylist()
    assert (row["trigger"], row["vector_files"], row["deleted_rows"]) == ("DeletedRows", 2, 6)
    assert row["detail"].startswith("dt=1 has 1 file with deleted rows to drop")
    assert row["full_bytes"] == 180
    unknown = (*files, marked(file("d", 90), deleted=None))
    (row,) = judge(options, MIDNIGHT).figures(live_files([Bucket(path_of(b"", 0), unknown, 0)])).to_pylist()
    assert (row["vector_files"], row["deleted_rows"]) == (3, None)


@pytest.mark.parametrize(
    ("is_ordered", "path", "said"),
    [
        case(False, b"", "the table has 5 files", id="no partitions"),
        case(False, b"dt=1", "dt=1 has 5 files", id="a partition"),
        case(True, b"", "bucket 0 has 5 files", id="a bucket"),
        case(True, b"dt=1", "bucket 0 of dt=1 has 5 files", id="a bucket of a partition"),
    ],
)
def test_the_place_of_small_files_is_said(is_ordered: bool, path: bytes, said: str) -> None:
    files = tuple(file(name, 10, first=10 * number) for number, name in enumerate("abcde"))
    options = PackingOptions(is_ordered=is_ordered)
    bucket = Bucket(path_of(path, 0), files, 0)
    (row,) = judge(options, MIDNIGHT).figures(live_files([bucket])).to_pylist()
    assert row["detail"].startswith(said)
