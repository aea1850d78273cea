"""Merged manifests beside Java's `compactManifest`: the same live files, and snapshots that say the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.merged_manifests import live, manifests, merge
from support.runs import run_inline
from support.tables import append, copy_of, expire, make_plain, stray_files, upserts

pytestmark = pytest.mark.oracle

OF_A_COMMIT = {
    "id",
    "baseManifestList",
    "baseManifestListSize",
    "deltaManifestList",
    "deltaManifestListSize",
    "commitUser",
    "timeMillis",
    "properties",
    "writerVersion",
    "uuid",
}
"""Fields of a snapshot in which ours and Java's may differ."""

Made = dict[str, Any]


def keyed(oracle: Oracle, warehouse: Path, **options: str) -> Table:
    """A key, two partitions, two buckets, nine commits and compactions in between."""
    table = Table(warehouse, "db.t")
    columns = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    settings = {"bucket": "2", **options}
    oracle.create_table(table, columns, primary_key=["dt", "id"], partition_keys=["dt"], options=settings)
    for commit in range(9):
        day = "abc"[commit % 3]
        oracle.write(table, [["+I", day, key, f"c{commit}"] for key in range(20)])
        if commit % 4 == 3:
            oracle.compact(table, full=True)
    return table


def append_only(oracle: Oracle, warehouse: Path, **options: str) -> Table:
    """No key, partitions by a number that may be null, row ids."""
    table = Table(warehouse, "db.t")
    columns = {"n": "INT", "v": "STRING"}
    settings = {"bucket": "-1", **options}
    oracle.create_table(table, columns, partition_keys=["n"], options=settings)
    for commit in range(8):
        oracle.write(table, [["+I", (None, 10, 2)[each % 3], f"{commit}-{each}"] for each in range(9)])
    return table


def assert_same_as_java(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    """Merges a table, and a copy of it by Java."""
    twin = copy_of(table, tmp_path / "java")
    rows, files = oracle.read(table), live(oracle, table)
    before = oracle.snapshots(table)[-1]

    report = merge(table)
    oracle.compact_manifests(twin)

    assert report.status == "Done"
    assert live(oracle, table) == live(oracle, twin) == files
    assert oracle.read(table) == rows
    ours, java = oracle.snapshots(table)[-1], oracle.snapshots(twin)[-1]
    assert (ours["id"], java["id"]) == (before["id"] + 1,) * 2
    assert other_fields(ours) == other_fields(java)
    base, delta = manifests(oracle, table)
    assert (base, delta) == (report.figures["newManifests"], 0)
    assert stray_files(oracle, table) == set()
    assert merge(table).status == "NothingToDo"


def other_fields(snapshot: Made) -> Made:
    return {name: value for name, value in snapshot.items() if name not in OF_A_COMMIT}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"changelog-producer": "input"},
        {"deletion-vectors.enabled": "true"},
        {"manifest.compression": "snappy"},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_keyed_table_has_the_same_files_as_after_javas_merge(
    oracle: Oracle, tmp_path: Path, options: dict[str, str]
) -> None:
    assert_same_as_java(oracle, keyed(oracle, tmp_path / "ours", **options), tmp_path)


def test_row_ids_of_an_append_table_stay(oracle: Oracle, tmp_path: Path) -> None:
    table = append_only(oracle, tmp_path / "ours", **{"row-tracking.enabled": "true"})
    ids = oracle.read(Table(table.warehouse, f"{table.name}$row_tracking"))
    following = oracle.snapshots(table)[-1]["nextRowId"]

    assert_same_as_java(oracle, table, tmp_path)

    assert oracle.read(Table(table.warehouse, f"{table.name}$row_tracking")) == ids
    assert oracle.snapshots(table)[-1]["nextRowId"] == following == 72
    (base,) = oracle.manifests(table)["base"]
    assert (base["min_row_id"], base["max_row_id"]) == (0, 71)


def test_watermark_statistics_and_properties_are_carried(oracle: Oracle, tmp_path: Path) -> None:
    table = append_only(oracle, tmp_path / "ours")
    oracle.write(table, [["+I", 1, "x"]], watermark=4711)
    assert oracle.snapshots(table)[-1]["watermark"] == 4711
    assert_same_as_java(oracle, table, tmp_path)
    assert oracle.snapshots(table)[-1]["watermark"] == 4711


def test_merge_after_a_compaction_of_ours_is_no_part_of_it(oracle: Oracle, tmp_path: Path) -> None:
    """Java passes the properties of our runs on; ours must not count as a step of the earlier one."""
    table = keyed(oracle, tmp_path / "ours", **{"full-compaction.delta-commits": "2"})
    run_inline(table, run="first")
    merge(table)
    properties = oracle.snapshots(table)[-1]["properties"]
    assert properties["lithify.run"].startswith("merge-manifests-")
    assert set(properties) == {"lithify.run", "lithify.attempt", "lithify.base"}
    assert run_inline(table).status == "NothingToDo"


def test_filter_on_a_partition_opens_fewer_manifests_than_after_javas_merge(
    oracle: Oracle, tmp_path: Path
) -> None:
    """Java merges in the order of commits, so every manifest may have every partition."""
    options = {"manifest.target-file-size": "3 kb"}
    table = Table(tmp_path / "ours", "db.t")
    columns = {"n": "INT NOT NULL", "id": "INT NOT NULL"}
    settings = {"bucket": "1", **options}
    oracle.create_table(table, columns, primary_key=["n", "id"], partition_keys=["n"], options=settings)
    for commit in range(8):
        oracle.write(table, [["+I", day, commit] for day in range(40)])
    twin = copy_of(table, tmp_path / "java")

    merge(table)
    oracle.compact_manifests(twin)

    assert opened_for(oracle, twin, 7) == len(oracle.manifests(twin)["base"]) > 3
    assert opened_for(oracle, table, 7) <= 2
    assert live(oracle, table) == live(oracle, twin)
    assert merge(table).status == merge(twin, is_dry_run=True).status.replace("Planned", "NothingToDo")


def opened_for(oracle: Oracle, table: Table, day: int) -> int:
    """How many manifests may have files of a partition."""
    listed = [each["partitions"] for each in oracle.manifests(table)["base"]]
    return sum(each["min"][0] <= day <= each["max"][0] for each in listed)


def test_streaming_reader_continues_over_a_merge(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "ours", **{"changelog-producer": "input"})
    twin = copy_of(table, tmp_path / "twin")
    for each in (table, twin):
        oracle.consume(each, "reader")
        append(oracle, each, "first")
    assert merge(table).status == "Done"
    for each in (table, twin):
        append(oracle, each, "second")

    ours, java = oracle.consume(table, "reader"), oracle.consume(twin, "reader")

    assert [*ours.values()] == [*java.values()]
    assert len(ours) == 2


def test_old_snapshots_and_tags_keep_their_manifests(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "ours")
    oracle.create_tag(table, "kept", 3)
    newest = len(oracle.snapshots(table))
    before = {each: oracle.read(table, snapshot_id=each) for each in (1, newest)}
    tagged = oracle.read(table, tag="kept")

    merge(table)

    assert {each: oracle.read(table, snapshot_id=each) for each in before} == before
    expire(oracle, table)
    assert oracle.read(table, tag="kept") == tagged
    assert oracle.read(table) == before[newest]
    assert stray_files(oracle, table) == set()


def test_dry_run_writes_nothing_and_says_what_a_run_does(oracle: Oracle, tmp_path: Path) -> None:
    table = keyed(oracle, tmp_path / "ours")
    paths = sorted(table.folder.rglob("*"))

    planned = merge(table, is_dry_run=True)

    assert sorted(table.folder.rglob("*")) == paths
    assert planned.status == "Planned"
    done = merge(table)
    assert done.figures == planned.figures
    removed = sum(
        each["deleted"] for each in oracle.manifests(table, len(oracle.snapshots(table)) - 1)["base"]
    )
    assert done.figures["droppedEntries"] >= 2 * removed > 0


def test_memory_for_a_few_entries_is_enough(oracle: Oracle, tmp_path: Path) -> None:
    table = keyed(oracle, tmp_path / "ours")
    files = live(oracle, table)
    assert merge(table, memory=500).status == "Done"
    assert live(oracle, table) == files


def test_table_with_too_few_manifests_is_left_alone(oracle: Oracle, tmp_path: Path) -> None:
    table = make_plain(oracle, tmp_path / "ours", commits=2)
    assert merge(table).status == "NothingToDo"
    assert len(oracle.snapshots(table)) == 3
    oracle.write(table, upserts(range(3), "more"))
    oracle.write(table, upserts(range(3), "enough"))
    assert merge(table).figures["manifests"] == 5
