"""Tables whose files are invented are tables to Java: it lists, prunes, appends, compacts and expires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import DataFile
from lithify.clock import SystemClock
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.planning import plan_run
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.invented.shape import REAL_DAY, TOP_LEVEL, TRIGGER, Shape
from support.invented.table import create, invent, make_invented, orders
from support.tables import expire, stray_files

pytestmark = pytest.mark.oracle

SHAPE = Shape(files=3000, buckets=60, partitions=5, due=0.25, seed=7)
INVENTED_DAY = SHAPE.days[2]


@pytest.fixture(scope="module", params=[False, True], ids=["BIGINT key", "composite key"])
def table(request: pytest.FixtureRequest, oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    return make_invented(oracle, tmp_path_factory.mktemp("warehouse"), SHAPE, composite=request.param)


@pytest.fixture(scope="module")
def files(oracle: Oracle, table: Table) -> list[DataFile]:
    return oracle.files(table)


def by_bucket(files: list[DataFile]) -> Iterator[list[DataFile]]:
    def place(file: DataFile) -> tuple[str, int]:
        return file.partition["dt"], file.bucket

    for _, group in groupby(sorted(files, key=place), key=place):
        yield list(group)


def test_java_lists_every_file_once(files: list[DataFile]) -> None:
    assert len({file.name for file in files}) == len(files) == SHAPE.files
    assert {file.total_buckets for file in files} == {SHAPE.buckets_per_partition}
    assert {file.partition["dt"] for file in files} == set(SHAPE.days)
    assert len(list(by_bucket(files))) == SHAPE.buckets


def test_buckets_are_due_or_quiet_as_the_shape_says(files: list[DataFile]) -> None:
    level0 = [sum(file.level == 0 for file in bucket) for bucket in by_bucket(files)]

    assert [count >= TRIGGER for count in level0] == SHAPE.due_buckets().ravel().tolist()
    assert sum(count >= TRIGGER for count in level0) == 15
    assert max(count for count in level0 if count < TRIGGER) + 1 < TRIGGER, "a quiet bucket is due"


def test_the_top_level_of_each_bucket_is_one_sorted_run(files: list[DataFile]) -> None:
    for bucket in by_bucket(files):
        top = sorted((file for file in bucket if file.level), key=lambda file: file.min_key)
        assert {file.level for file in top} == {TOP_LEVEL}
        assert all(file.min_key < file.max_key for file in top)
        assert all(one.max_key < next_one.min_key for one, next_one in pairwise(top))


def test_statistics_are_those_of_the_keys_and_cover_all_columns(files: list[DataFile]) -> None:
    for file in files:
        key_columns = slice(1, 3) if len(file.min_key) == 2 else slice(2, 3)
        assert (file.key_stats.min, file.key_stats.max) == (file.min_key, file.max_key)
        assert file.value_stats.min[key_columns] == file.min_key
        assert file.value_stats.max[key_columns] == file.max_key
        assert file.value_stats.min[0] == file.value_stats.max[0] == file.partition["dt"]
        assert len(file.value_stats.null_counts) == len(file.value_stats.min) == 12
        assert file.value_stats_cols is None


def test_newer_files_of_level_0_have_larger_sequence_numbers(files: list[DataFile]) -> None:
    for bucket in by_bucket(files):
        in_order = sorted(bucket, key=lambda file: (file.min_sequence, file.max_sequence))
        level0 = [file for file in in_order if file.level == 0]
        assert in_order[len(in_order) - len(level0) :] == level0
        assert all(one.max_sequence < next_one.min_sequence for one, next_one in pairwise(level0))


def test_lists_say_of_manifests_what_java_says_when_it_writes_them_again(
    oracle: Oracle, table: Table
) -> None:
    (ours,) = oracle.manifests(table)["base"]
    base = oracle.snapshots(table)[-1]["baseManifestList"]
    case = {"list": base, "target_size": 8 << 20, "merge_min_count": 1, "full_threshold": 1}

    ((theirs,),) = oracle.merge_manifests(table, [case])

    is_same = (
        "added",
        "deleted",
        "partitions",
        "schema_id",
        "min_bucket",
        "max_bucket",
        "min_level",
        "max_level",
    )
    assert {name: ours[name] for name in is_same} == {name: theirs["manifest"][name] for name in is_same}


def test_our_plan_has_a_unit_for_each_bucket_that_is_due(table: Table) -> None:
    opened = open_table(TableAddress(str(table.warehouse), str(table.name)))
    view = opened.view(Selection())
    assert view is not None

    plan = plan_run(BucketPlanner(opened, view, Strategy.MINOR, SystemClock(None)))

    assert (len(plan.units), len(plan.idle)) == (15, 45)


def test_one_seed_gives_one_table_and_another_seed_another(oracle: Oracle, tmp_path: Path) -> None:
    shape = Shape(files=200, buckets=8, partitions=2)
    one, same, other = (
        [replace(file, path="") for file in oracle.files(make_invented(oracle, tmp_path / name, made))]
        for name, made in (("one", shape), ("same", shape), ("other", replace(shape, seed=1)))
    )

    assert one == same
    assert not {file.name for file in one} & {file.name for file in other}


def test_java_appends_to_invented_buckets_and_expires_the_invented_snapshot(
    oracle: Oracle, tmp_path: Path
) -> None:
    """To go on with the sequence numbers of a bucket, Java looks for its files by the bounds in the list."""
    table = make_invented(oracle, tmp_path, SHAPE)
    invented = oracle.files(table)

    oracle.write(table, orders(INVENTED_DAY, range(100)))

    added = [entry.file for entry in oracle.files_of_delta(table, 2)]
    last = Counter[int]()
    for file in invented:
        if file.partition["dt"] == INVENTED_DAY:
            last[file.bucket] = max(last[file.bucket], file.max_sequence)
    assert len(added) == SHAPE.buckets_per_partition
    assert [file.min_sequence for file in added] == [last[file.bucket] + 1 for file in added]

    assert expire(oracle, table) == 1
    assert {file.name for file in oracle.files(table)} == {file.name for file in [*invented, *added]}
    assert stray_files(oracle, table) == set()


def test_real_files_of_before_and_after_are_read_and_compacted_by_java(
    oracle: Oracle, tmp_path: Path
) -> None:
    table = create(oracle, tmp_path, SHAPE)
    day = {"dt": REAL_DAY}
    oracle.write(table, orders(REAL_DAY, range(50), "before"))

    assert invent(table, SHAPE) == 2

    oracle.write(table, orders(REAL_DAY, range(25, 75), "after"))
    rows = oracle.digest(table, partition=day)
    oracle.compact(table, partitions=[day])
    assert rows.rows == 75
    assert oracle.digest(table, partition=day) == rows
    assert {file.level for file in oracle.files(table) if file.partition == day} == {TOP_LEVEL}
    assert oracle.snapshots(table)[1]["totalRecordCount"] == sum(
        file.rows for file in oracle.files(table, snapshot_id=2)
    )


def test_no_seed_is_used_twice_in_a_table(oracle: Oracle, tmp_path: Path) -> None:
    shape = Shape(files=200, buckets=8, partitions=2)
    table = make_invented(oracle, tmp_path, shape)

    with pytest.raises(FileExistsError):
        invent(table, shape)
    invent(table, replace(shape, seed=1))

    assert len(oracle.files(table)) == 400


def test_shapes_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="do not divide"):
        Shape(files=1000, buckets=10, partitions=3)
    with pytest.raises(ValueError, match="too few"):
        Shape(files=99, buckets=10, partitions=1)
    with pytest.raises(ValueError, match="too many"):
        Shape(files=100_000, buckets=6000, partitions=6000)
