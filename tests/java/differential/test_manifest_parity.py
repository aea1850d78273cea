"""Merged manifests against Java's: the same merges of the same lists, lists as short, everything readable.

What is random is seeded, so a run repeats the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from infrastructure.oracle.client import Table
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.manifests.entry_objects import entries_of
from lithify.formats.paimon.manifests.manifest_lists import from_pypaimon
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import decode_row
from support.manifest_lists import Folder, random_history, random_options
from support.manifests import entry
from support.runs import run_inline
from support.tables import copy_of, expire, stray_files, upserts

if TYPE_CHECKING:
    from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

    from infrastructure.oracle.client import Oracle

pytestmark = pytest.mark.oracle

SEEDS = 100


@pytest.mark.parametrize("partitioned", [True, False], ids=["partitioned", "without partitions"])
def test_merges_of_random_lists_are_javas(oracle: Oracle, tmp_path: Path, partitioned: bool) -> None:
    folder = Folder(tmp_path, partitioned).create()
    lists = []
    for seed in range(SEEDS):
        rng = Random(seed)
        metas = folder.write(f"case-{seed}", random_history(rng, partitioned=partitioned, whole=seed % 3 > 0))
        lists.append((f"case-{seed}", metas, random_options(rng, metas)))

    java = oracle.merge_manifests(Table(tmp_path, folder.name), [question(name, o) for name, _, o in lists])

    kinds = set()
    for (name, metas, options), theirs in zip(lists, java, strict=True):
        ours = merged(folder, metas, options, name)
        assert ours == [without_names(each) for each in theirs], (name, options)
        kinds.add((any("entries" in each for each in ours), any("name" in each for each in ours)))
    assert len(kinds) == 4  # something merged, or left, or both, or neither


def test_rolling_is_javas(oracle: Oracle, tmp_path: Path) -> None:
    folder = Folder(tmp_path, partitioned=False).create()
    history = [[entry(f"f{commit}-{number}") for number in range(1700)] for commit in range(3)]
    metas = folder.write("case", [with_no_partition(entries) for entries in history])
    options = ManifestOptions(target_size=1000, full_threshold=1)

    (java,) = oracle.merge_manifests(Table(tmp_path, folder.name), [question("case", options)])
    ours = merged(folder, metas, options, "case")

    assert ours == [without_names(each) for each in java]


def test_lists_are_as_long_as_those_that_java_leaves(oracle: Oracle, tmp_path: Path) -> None:
    table = partitioned_table(oracle, tmp_path / "ours", **{"manifest.merge-min-count": "4"})
    twin = copy_of(table, tmp_path / "twin")
    lengths = []
    for commit in range(6):
        oracle.write(table, rows(commit))
        oracle.write(twin, rows(commit))
        run_inline(table)
        oracle.compact(twin, full=True)
        lengths.append((summary(oracle, table), summary(oracle, twin)))

    assert all(ours == java for ours, java in lengths), lengths
    assert max(len(ours["base"]) for ours, _ in lengths) < 6
    assert_same_answers(oracle, table, twin)


def test_full_merges_leave_what_java_reads(oracle: Oracle, tmp_path: Path) -> None:
    options = {"manifest.target-file-size": "2 kb", "manifest.full-compaction-threshold-size": "4 kb"}
    table = partitioned_table(oracle, tmp_path / "ours", **options)
    twin = copy_of(table, tmp_path / "twin")
    deletions = []
    for commit in range(6):
        oracle.write(table, rows(commit))
        oracle.write(twin, rows(commit))
        run_inline(table)
        oracle.compact(twin, full=True)
        deletions.append(sum(each["deleted"] for each in oracle.manifests(table)["base"]))

    assert any(after < before for before, after in pairwise(deletions))
    assert_same_answers(oracle, table, twin)
    oracle.compact_manifests(table)
    assert_same_answers(oracle, table, twin)


def test_expiry_by_java_leaves_nothing_behind_and_takes_nothing_away(oracle: Oracle, tmp_path: Path) -> None:
    table = partitioned_table(oracle, tmp_path, **{"manifest.merge-min-count": "2"})
    for commit in range(4):
        oracle.write(table, rows(commit))
        run_inline(table)
    before = oracle.read(table)

    expire(oracle, table)

    assert oracle.read(table) == before
    assert stray_files(oracle, table) == set()


def partitioned_table(oracle: Oracle, warehouse: Path, **options: str) -> Table:
    table = Table(warehouse, "db.t")
    columns = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING"}
    oracle.create_table(
        table, columns, primary_key=["dt", "id"], partition_keys=["dt"], options={"bucket": "2", **options}
    )
    return table


def rows(commit: int) -> list[Any]:
    days = ("a", "b") if commit % 3 else ("c",)
    return [[kind, day, key, text] for day in days for kind, key, text, _ in upserts(range(12), f"c{commit}")]


def assert_same_answers(oracle: Oracle, table: Table, twin: Table) -> None:
    assert oracle.read(table) == oracle.read(twin)
    assert partitions(oracle, table) == partitions(oracle, twin)


def partitions(oracle: Oracle, table: Table) -> list[Any]:
    """What Java's system table says of each partition, but for sizes and times."""
    columns = ["partition", "record_count", "file_count"]
    return oracle.read(Table(table.warehouse, f"{table.name}$partitions"), projection=columns)


def summary(oracle: Oracle, table: Table) -> dict[str, list[dict[str, Any]]]:
    """The newest snapshot's lists, but for names and sizes."""
    return {
        part: [
            {name: value for name, value in each.items() if name not in ("name", "size")} for each in listed
        ]
        for part, listed in oracle.manifests(table).items()
    }


def question(name: str, options: ManifestOptions) -> dict[str, Any]:
    return {
        "list": f"manifest-list-{name}",
        "target_size": options.target_size,
        "merge_min_count": options.merge_min_count,
        "full_threshold": options.full_threshold,
    }


def merged(
    folder: Folder, metas: Sequence[ManifestFileMeta], options: ManifestOptions, name: str
) -> list[dict[str, Any]]:
    """What we make of a list, as the oracle describes it; new manifests without their names and sizes."""
    manifests = folder.manifests()
    result = folder.merger(options).merge(metas, f"{name}-merged")
    return [
        described(folder, manifests, meta, is_new=meta.file_name in result.written)
        for meta in result.manifests
    ]


def described(
    folder: Folder, manifests: Manifests, meta: ManifestFileMeta, *, is_new: bool
) -> dict[str, Any]:
    if not is_new:
        return {"name": meta.file_name}
    stats = from_pypaimon(meta.partition_stats)
    entries = entries_of(manifests.columns_of(meta.file_name))
    return {
        "added": meta.num_added_files,
        "deleted": meta.num_deleted_files,
        "partitions": {
            "min": values(folder, stats.min_values),
            "max": values(folder, stats.max_values),
            "nullCounts": list(stats.null_counts or ()),
        },
        "schema_id": meta.schema_id,
        "min_bucket": meta.min_bucket,
        "max_bucket": meta.max_bucket,
        "min_level": meta.min_level,
        "max_level": meta.max_level,
        "min_row_id": meta.min_row_id,
        "max_row_id": meta.max_row_id,
        "entries": [described_entry(folder, each) for each in entries],
    }


def described_entry(folder: Folder, each: ManifestEntry) -> list[Any]:
    partition = dict(zip(("dt", "n"), values(folder, each.partition), strict=False))
    kind = "ADD" if each.kind == ADD else "DELETE"
    return [kind, partition, each.bucket, each.file.level, each.file.name]


def values(folder: Folder, row: bytes) -> list[Any]:
    raw = decode_row(row, folder.types)
    return [value.decode() if isinstance(value, bytes) else value for value in raw]


def without_names(java: dict[str, Any]) -> dict[str, Any]:
    manifest = java["manifest"]
    if java["entries"] is None:
        return {"name": manifest["name"]}
    return {name: value for name, value in manifest.items() if name not in ("name", "size")} | {
        "entries": java["entries"]
    }


def with_no_partition(entries: Sequence[ManifestEntry]) -> list[ManifestEntry]:
    return [
        ManifestEntry(each.kind, bytes(12), each.bucket, each.total_buckets, each.file) for each in entries
    ]
