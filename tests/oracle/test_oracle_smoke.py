"""The oracle itself: every operation does what README.md says, on real tables."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oracle.client import Oracle, OracleError, Table, build
from oracle.model import Row

pytestmark = pytest.mark.oracle

COLUMNS = {
    "dt": "STRING NOT NULL",
    "id": "INT NOT NULL",
    "big": "BIGINT",
    "name": "STRING",
    "price": "DECIMAL(20, 4)",
    "at": "TIMESTAMP(6)",
    "day": "DATE",
    "raw": "BYTES",
    "ok": "BOOLEAN",
    "ratio": "DOUBLE",
}
PLAIN = {"id": "INT NOT NULL", "v": "STRING"}


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle.start() as started:
        yield started


@pytest.fixture
def plain(oracle: Oracle, tmp_path: Path) -> Table:
    """A table with an INT key, a STRING value and one bucket."""
    table = Table(tmp_path / "warehouse", "db.plain")
    oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": "1"})
    return table


@pytest.fixture
def rich(oracle: Oracle, tmp_path: Path) -> Table:
    """A partitioned table with two buckets and many types, after inserts, updates and deletes."""
    table = Table(tmp_path / "warehouse", "db.rich")
    oracle.create_table(
        table, COLUMNS, primary_key=["dt", "id"], partition_keys=["dt"], options={"bucket": "2"}
    )
    for version in range(3):
        oracle.write(table, [rich_row(key, version, "+U" if version else "+I") for key in range(version, 20)])
    oracle.write(table, [rich_row(key, 3, "-D") for key in range(0, 20, 5)])
    return table


def rich_row(key: int, version: int, kind: str = "+I") -> Row:
    return [
        kind,
        f"2024-01-0{key % 2 + 1}",
        key,
        key * 10**12,
        f'naïve "{version}"\n',
        f"{key}.2500",
        f"2024-05-06T07:08:09.{version}00001",
        "1969-12-31",
        "AAH/",
        key % 3 == 0,
        "-0.0" if key == 1 else key / 8,
    ]


def rich_expected() -> list[Row]:
    """What is left of `rich`: the newest version of each row, without the deleted ones."""
    rows = [rich_row(key, min(key, 2)) for key in range(20) if key % 5 != 0]
    return sorted(rows, key=lambda row: json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def plain_rows(*keys: int, value: str = "a", kind: str = "+I") -> list[Row]:
    return [[kind, key, value] for key in keys]


class TestProcess:
    def test_lives_on_after_failures(self, oracle: Oracle) -> None:
        with pytest.raises(OracleError, match="Unknown op 'nonsense'") as unknown:
            oracle.call("nonsense")
        assert unknown.value.type == "java.lang.IllegalArgumentException"
        assert "Server.answer" in unknown.value.trace
        with pytest.raises(OracleError, match="create_table: 'warehouse' is missing"):
            oracle.call("create_table")
        assert oracle.call("ping") == "pong"

    def test_starts_and_answers_quickly(self) -> None:
        begin = time.monotonic()
        with Oracle.start(
            build(), timezone="Asia/Tokyo", heap="256m", jvm_args=["-XX:+UseSerialGC"]
        ) as other:
            assert other.call("ping") == "pong"
            assert time.monotonic() - begin < 5
            assert "-Duser.timezone=Asia/Tokyo" in _command_line(other.pid)

    def test_a_dead_process_is_an_error(self) -> None:
        with Oracle.start() as other:
            os.kill(other.pid, signal.SIGKILL)
            with pytest.raises(OracleError, match="the oracle is gone during 'ping'"):
                other.call("ping")
        with pytest.raises(OracleError, match="the oracle is closed"):
            other.call("ping")

    def test_build_does_nothing_when_fresh(self) -> None:
        jar = build() / "lithify-oracle.jar"
        built = jar.stat().st_mtime_ns
        build()
        assert jar.stat().st_mtime_ns == built


class TestSchema:
    def test_create_and_alter(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        oracle.alter_table(
            plain,
            {"add_column": {"name": "n", "type": "SMALLINT", "after": "id"}},
            {"rename_column": ["v", "w"]},
            {"set_option": ["num-sorted-run.compaction-trigger", "3"]},
        )
        oracle.alter_table(plain, {"update_type": ["n", "BIGINT"]})
        schema = oracle.schema(plain)
        assert schema["id"] == 2
        assert [field["name"] for field in schema["fields"]] == ["id", "n", "w"]
        assert schema["options"]["num-sorted-run.compaction-trigger"] == "3"
        assert oracle.read(plain) == [["+I", 1, None, "a"], ["+I", 2, None, "a"]]

    def test_nested_types(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.nested")
        columns = {
            "id": "BIGINT NOT NULL",
            "tags": "ARRAY<STRING NOT NULL>",
            "counts": "MAP<STRING NOT NULL, DECIMAL(5, 2)>",
            "place": "ROW<x DOUBLE, inner ROW<a INT, b ARRAY<INT>> NOT NULL>",
            "bag": "MULTISET<INT NOT NULL>",
        }
        oracle.create_table(table, columns, primary_key=["id"], options={"bucket": "1"})
        rows: list[Row] = [
            ["+I", 1, ["a", "b"], [["k", "1.50"], ["l", None]], [0.5, [7, [1, None]]], [[3, 2]]],
            ["+I", 2, None, [], None, None],
        ]
        oracle.write(table, rows)
        assert oracle.read(table) == rows

    def test_special_values(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.special")
        types = [
            "FLOAT",
            "DOUBLE",
            "TIMESTAMP(9)",
            "TIMESTAMP_LTZ(3)",
            "TIME",
            "CHAR(3)",
            "BINARY(2)",
            "TINYINT",
        ]
        columns = {"id": "INT NOT NULL", **{f"c{i}": name for i, name in enumerate(types)}}
        oracle.create_table(table, columns, primary_key=["id"], options={"bucket": "1"})
        early = ["1900-01-01T00:00:00.5", "00:00:00"]
        late = ["2024-02-29T12:00:00", "23:59:59.999"]
        rows: list[Row] = [
            ["+I", 1, "NaN", "-Infinity", "2024-01-01T00:00:00.000000001", *late, "abc", "AAE=", -128],
            ["+I", 2, "-0.0", "Infinity", "0001-01-01T00:00:00", *early, "äöü", "//8=", 127],
            ["+I", 3, *[None] * 8],
        ]
        oracle.write(table, rows)
        assert oracle.read(table) == rows
        with pytest.raises(OracleError, match="Not a value of TINYINT: 128"):
            oracle.write(table, [["+I", 4, *[None] * 7, 128]])


class TestReadAndWrite:
    def test_merge_on_read(self, oracle: Oracle, rich: Table) -> None:
        assert oracle.read(rich) == rich_expected()
        digest = oracle.digest(rich)
        assert (digest.rows, digest.distinct_keys, len(digest.hash)) == (16, 16, 32)

    def test_kinds(self, oracle: Oracle, plain: Table) -> None:
        for kind in ("+I", "+U"):
            oracle.write(plain, plain_rows(1, 2, kind=kind))
        assert oracle.read(plain, raw_kinds=True) == plain_rows(1, 2, kind="+U")
        assert oracle.read(plain) == plain_rows(1, 2)
        oracle.compact(plain)
        assert oracle.read(plain, raw_kinds=True) == plain_rows(1, 2)

    def test_digest_sees_every_difference_but_order(self, oracle: Oracle, tmp_path: Path) -> None:
        hashes = []
        for i, rows in enumerate([plain_rows(1, 2, 3), plain_rows(3, 1, 2), plain_rows(1, 2, 4)]):
            table = Table(tmp_path, f"db.t{i}")
            oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": "1"})
            oracle.write(table, rows)
            hashes.append(oracle.digest(table).hash)
        assert hashes[0] == hashes[1] != hashes[2]

    def test_digest_is_the_documented_hash(self, oracle: Oracle, rich: Table) -> None:
        texts = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in oracle.read(rich)]
        assert oracle.digest(rich).hash == _multiset_hash(texts)

    def test_time_travel_projection_and_partition(self, oracle: Oracle, rich: Table) -> None:
        oracle.create_tag(rich, "first", snapshot_id=1)
        assert len(oracle.read(rich, snapshot_id=1)) == 20
        assert oracle.digest(rich, tag="first") == oracle.digest(rich, snapshot_id=1)
        narrow = oracle.read(rich, projection=["id"], partition={"dt": "2024-01-02"})
        assert narrow == [["+I", key] for key in (11, 13, 17, 19, 1, 3, 7, 9)]
        assert oracle.digest(rich, projection=["id"]).distinct_keys is None

    def test_snapshot_metadata(self, oracle: Oracle, plain: Table) -> None:
        snapshot = oracle.write(
            plain, plain_rows(1), commit_user="me", commit_identifier=7, watermark=5, properties={"run": "x"}
        )
        stored = oracle.snapshots(plain)[-1]
        assert stored["id"] == snapshot == 1
        assert (stored["commitUser"], stored["commitIdentifier"], stored["watermark"]) == ("me", 7, 5)
        assert stored["properties"] == {"run": "x"}
        assert oracle.write(plain, []) == 0

    def test_overwrite(self, oracle: Oracle, rich: Table) -> None:
        oracle.write(rich, [rich_row(2, 9)], overwrite_partition={"dt": "2024-01-01"})
        ids = {row[2] for row in oracle.read(rich, partition={"dt": "2024-01-01"})}
        assert ids == {2}
        assert len(oracle.read(rich, partition={"dt": "2024-01-02"})) == 8

    def test_prepared_commits_interleave(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        first = oracle.prepare(plain, plain_rows(1, 2, value="first"))
        second = oracle.prepare(plain, plain_rows(2, 3, value="second"))
        assert first.files[0].min_sequence == second.files[0].min_sequence == 2
        assert len(oracle.read(plain)) == 2
        assert oracle.commit_prepared(second.token) == 2
        assert oracle.commit_prepared(first.token) == 3
        values = {row[1]: row[2] for row in oracle.read(plain)}
        assert (values[1], values[3]) == ("first", "second")
        third = oracle.prepare(plain, plain_rows(9))
        assert Path(third.files[0].path).exists()
        oracle.abort_prepared(third.token)
        assert not Path(third.files[0].path).exists()
        with pytest.raises(OracleError, match="No prepared commit"):
            oracle.commit_prepared(third.token)

    def test_dynamic_buckets(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.dynamic")
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(*range(10)))
        before = {file.bucket: file.rows for file in oracle.files(table)}
        assert before == {0: 4, 1: 4, 2: 2}
        hashes = {index.bucket: len(index.hashes) for index in oracle.index_files(table)}
        assert hashes == before
        oracle.write(table, plain_rows(*range(10), value="b"))
        oracle.write(table, plain_rows(100, 101), buckets=[7, 8])
        assert {file.bucket for file in oracle.files(table)} == {0, 1, 2, 7, 8}
        assert oracle.digest(table).distinct_keys == 12
        oracle.compact(table)
        assert oracle.digest(table).rows == 12

    def test_append_table(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.log")
        oracle.create_table(table, PLAIN)
        for i in range(6):
            oracle.write(table, plain_rows(i, i))
        before = oracle.digest(table)
        assert (before.rows, before.distinct_keys) == (12, None)
        compaction = oracle.compact(table)
        assert [len(bucket.before) for bucket in compaction.buckets] == [6]
        assert len(oracle.files(table)) == 1
        assert oracle.digest(table) == before

    def test_generate(self, oracle: Oracle, tmp_path: Path) -> None:
        digests = []
        for name in ("db.a", "db.b"):
            table = Table(tmp_path, name)
            oracle.create_table(
                table, COLUMNS, primary_key=["dt", "id"], partition_keys=["dt"], options={"bucket": "2"}
            )
            snapshots = oracle.generate(
                table,
                rows=3000,
                commits=3,
                seed=7,
                key={"mode": "uniform", "range": 1000},
                columns={
                    "name": {"kind": "low", "values": 5, "prefix": "city-"},
                    "big": {"kind": "sequential", "start": 100},
                    "price": {"kind": "random", "min": -50, "max": 50, "nulls": 0.5},
                    "ok": {"kind": "constant", "value": True},
                },
                delete_ratio=0.1,
            )
            assert snapshots == [1, 2, 3]
            digests.append(oracle.digest(table))
        assert digests[0] == digests[1]
        rows = oracle.read(Table(tmp_path, "db.a"))
        assert 700 < len(rows) < 950
        assert {row[4] for row in rows} == {f"city-{i:012}" for i in range(5)}
        nulls = sum(row[5] is None for row in rows)
        assert 0.3 < nulls / len(rows) < 0.7
        assert oracle.scan(Table(tmp_path, "db.a"), repeat=2).rows == len(rows)


class TestMetadata:
    def test_files(self, oracle: Oracle, rich: Table) -> None:
        files = oracle.files(rich)
        assert {(file.partition["dt"], file.bucket) for file in files} == {
            (dt, bucket) for dt in ("2024-01-01", "2024-01-02") for bucket in (0, 1)
        }
        file = next(f for f in files if f.delete_rows == 0)
        assert Path(file.path).stat().st_size == file.size
        assert file.value_stats.min[1] == file.key_stats.min[0] == file.min_key[0]
        assert file.value_stats_cols is None
        assert len(file.value_stats.max) == len(COLUMNS)
        assert file.file_source == "APPEND"
        assert file.total_buckets == 2
        assert file.max_sequence - file.min_sequence == file.rows - 1
        deletes = [f for f in files if f.delete_rows]
        assert sum(f.rows for f in deletes) == 4
        assert len(oracle.files(rich, snapshot_id=1)) == 4

    def test_deltas(self, oracle: Oracle, rich: Table) -> None:
        assert {entry.kind for entry in oracle.files_of_delta(rich, 1)} == {"ADD"}
        snapshot = oracle.compact(rich).snapshots[0]
        kinds = [entry.kind for entry in oracle.files_of_delta(rich, snapshot)]
        assert (kinds.count("ADD"), kinds.count("DELETE")) == (4, 16)
        assert oracle.files_of_changelog(rich, snapshot) == []

    def test_key_values(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        oracle.write(plain, [["+U", 2, "b"], ["-D", 1, None]])
        first, second = sorted(oracle.files(plain), key=lambda file: file.min_sequence)
        rows = oracle.kv_rows(plain, second.name)
        assert [(row.key, row.sequence, row.kind, row.values) for row in rows] == [
            ([1], 3, "-D", [1, None]),
            ([2], 2, "+U", [2, "b"]),
        ]
        oracle.compact(plain)
        assert [row.kind for row in oracle.kv_rows(plain, first.name)] == ["+I", "+I"]
        with pytest.raises(OracleError, match="is in no manifest"):
            oracle.kv_rows(plain, "data-0.parquet")


class TestCompaction:
    def test_on_a_copy(self, oracle: Oracle, rich: Table, tmp_path: Path) -> None:
        copy = rich.copy_to(tmp_path / "copy")
        before = oracle.digest(rich)
        compaction = oracle.compact(copy)
        assert [len(bucket.before) for bucket in compaction.buckets] == [4, 4, 4, 4]
        assert {file.level for file in oracle.files(copy)} == {5}
        assert oracle.snapshots(copy)[-1]["commitKind"] == "COMPACT"
        assert oracle.digest(copy) == oracle.digest(rich) == before
        assert {file.level for file in oracle.files(rich)} == {0}
        assert oracle.compact(copy).buckets == []

    def test_selection(self, oracle: Oracle, rich: Table) -> None:
        compaction = oracle.compact(rich, partitions=[{"dt": "2024-01-02"}], buckets=[1])
        assert [(b.partition, b.bucket) for b in compaction.buckets] == [({"dt": "2024-01-02"}, 1)]

    def test_prepared_compaction_conflicts(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        oracle.write(plain, plain_rows(2, 3))
        prepared = oracle.compact(plain, commit=False)
        assert prepared.snapshots == []
        assert prepared.token is not None
        oracle.compact(plain)
        with pytest.raises(OracleError, match="File deletion conflicts detected"):
            oracle.commit_prepared(prepared.token)
        live = {Path(file.path) for file in oracle.files(plain)}
        oracle.abort_prepared(prepared.token)
        assert all(path.exists() for path in live)
        assert not Path(prepared.buckets[0].after[0].path).exists()

    def test_abort_spares_upgraded_files(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        prepared = oracle.compact(plain, commit=False)
        change = prepared.buckets[0]
        assert [file.name for file in change.before] == [file.name for file in change.after]
        assert prepared.token is not None
        oracle.abort_prepared(prepared.token)
        assert len(oracle.read(plain)) == 2

    def test_one_manager_round(self, oracle: Oracle, plain: Table) -> None:
        for i in range(7):
            oracle.write(plain, plain_rows(i, i + 1))
        before = oracle.digest(plain)
        first = oracle.manager_round(plain)
        (bucket,) = first.buckets
        assert (bucket.picked, bucket.output_level, bucket.drop_delete) == (True, 5, True)
        assert len(bucket.change.before) == 7
        assert first.snapshots == [8]
        assert oracle.digest(plain) == before
        (again,) = oracle.manager_round(plain).buckets
        assert (again.picked, again.output_level) == (False, None)
        oracle.write(plain, plain_rows(100))
        (upgrade,) = oracle.manager_round(plain, full=True, options={"target-file-size": "1 kb"}).buckets
        assert len(upgrade.upgraded) == 1

    def test_changelog(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.changes")
        options = {"bucket": "1", "changelog-producer": "full-compaction"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(1, 2))
        oracle.compact(table)
        oracle.write(table, [["+U", 1, "b"], ["-D", 2, None]])
        snapshot = oracle.compact(table).snapshots[0]
        assert oracle.changelog(table, from_snapshot=3) == {
            snapshot: [["-U", 1, "a"], ["+U", 1, "b"], ["-D", 2, "a"]]
        }
        assert len(oracle.files_of_changelog(table, snapshot)) == 1

    def test_deletion_vectors(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.vectors")
        options = {"bucket": "1", "deletion-vectors.enabled": "true"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(*range(10)))
        oracle.compact(table)
        oracle.write(table, plain_rows(3, 4, value="b"))
        oracle.compact(table, full=False)
        (index,) = oracle.index_files(table)
        assert index.type == "DELETION_VECTORS"
        assert [vector.cardinality for vector in index.deletion_vectors.values()] == [2]
        assert oracle.digest(table).rows == 10

    def test_bench(self, oracle: Oracle, plain: Table) -> None:
        oracle.generate(plain, rows=20000, commits=4, key={"range": 10000})
        bench = oracle.bench_compact(plain)
        assert bench.input.files == 4
        assert bench.output.rows == oracle.digest(plain).rows
        assert 0 < bench.rewrite_cpu_nanos <= bench.total_nanos
        assert bench.rounds == 1


class TestMaintenance:
    def test_expire_tags_and_rollback(self, oracle: Oracle, plain: Table) -> None:
        for i in range(5):
            oracle.write(plain, plain_rows(i))
        oracle.create_tag(plain, "second", snapshot_id=2)
        oracle.create_branch(plain, "side", tag="second")
        assert oracle.branches(plain) == ["side"]
        assert oracle.expire_snapshots(plain, retain_max=2) == 3
        assert [snapshot["id"] for snapshot in oracle.snapshots(plain)] == [4, 5]
        assert list(oracle.tags(plain)) == ["second"]
        assert len(oracle.read(plain, tag="second")) == 2
        oracle.rollback_to(plain, snapshot_id=4)
        assert len(oracle.read(plain)) == 4
        oracle.delete_tag(plain, "second")
        assert oracle.tags(plain) == {}

    def test_expire_by_age(self, oracle: Oracle, plain: Table) -> None:
        for i in range(3):
            oracle.write(plain, plain_rows(i))
        assert oracle.expire_snapshots(plain, retain_max=100) == 0
        tomorrow = int(time.time() * 1000) + 86_400_000
        assert oracle.expire_snapshots(plain, retain_max=100, retain_min=2, older_than=tomorrow) == 1

    def test_partitions_manifests_and_orphans(self, oracle: Oracle, rich: Table) -> None:
        oracle.drop_partition(rich, {"dt": "2024-01-01"})
        assert len(oracle.read(rich)) == 8
        oracle.compact_manifests(rich)
        orphan = rich.folder / "dt=2024-01-02" / "bucket-0" / "data-orphan-0.parquet"
        orphan.write_bytes(b"x")
        later = int(time.time() * 1000) + 60_000
        found = oracle.remove_orphan_files(rich, older_than=later, dry_run=True)
        assert found.files == [f"file:{orphan}"]
        assert orphan.exists()
        oracle.remove_orphan_files(rich, older_than=later)
        assert not orphan.exists()
        assert len(oracle.read(rich)) == 8


class TestPlanner:
    def test_levels_breaks_ties(self, oracle: Oracle) -> None:
        def file(name: str, **fields: int) -> dict[str, Any]:
            return {"name": name, "level": 0, "size": 1, "minKey": 0, "maxKey": 9, **fields}

        files = [
            file("d", minSequence=0, maxSequence=5),
            file("c", minSequence=1, maxSequence=9, creationTime=2),
            file("b", minSequence=1, maxSequence=9, creationTime=1),
            file("a", minSequence=1, maxSequence=9, creationTime=1),
            file("e", minSequence=0, maxSequence=9, creationTime=9),
            file("y", level=3, minKey=5),
            file("x", level=3, maxKey=4),
        ]
        (levels,) = oracle.levels([{"files": files, "num_levels": 3}])
        assert levels["runs"] == [
            *({"level": 0, "files": [name]} for name in "eabcd"),
            {"level": 3, "files": ["x", "y"]},
        ]
        assert (levels["numberOfLevels"], levels["nonEmptyHighestLevel"]) == (4, 3)
        overlapping = [file("a", level=1), file("b", level=1)]
        with pytest.raises(OracleError, match="case 1: SortedRun is not sorted"):
            oracle.levels([{"files": []}, {"files": overlapping}])

    def test_sections(self, oracle: Oracle) -> None:
        ranges = {"a": (0, 5), "b": (3, 4), "c": (5, 9), "d": (10, 11)}
        files = [{"name": name, "minKey": low, "maxKey": high} for name, (low, high) in ranges.items()]
        (sections,) = oracle.sections([{"files": files}])
        assert [sorted(sorted(run) for run in section) for section in sections] == [
            [["a"], ["b", "c"]],
            [["d"]],
        ]

    def test_pick(self, oracle: Oracle) -> None:
        def runs(*sizes: int) -> list[dict[str, Any]]:
            levels = [0, 0, 0, 4, 5][-len(sizes) :]
            return [
                {"level": level, "files": [{"name": f"f{i}", "size": size}]}
                for i, (level, size) in enumerate(zip(levels, sizes, strict=True))
            ]

        def case(runs: list[dict[str, Any]], strategy: str = "universal", **options: Any) -> dict[str, Any]:
            return {"runs": runs, "num_levels": 6, "strategy": strategy, "options": options}

        offpeak = {"start": 22, "end": 6, "ratio": 1000}
        picks = oracle.pick(
            [
                case(runs(1, 1, 1)),
                case(runs(1, 1, 1), full_interval_millis=10, last_full_millis=0, now_millis=11),
                case(runs(1, 1, 1), full_interval_millis=10, last_full_millis=0, now_millis=10),
                case(runs(1, 1, 1, 10, 1000), size_ratio=1),
                case(runs(1, 1, 1, 10, 1000), offpeak={**offpeak, "hour": 23}),
                case(runs(1, 1, 1, 10, 1000), offpeak={**offpeak, "hour": 12}),
                case(runs(1, 5, 100), "force-up-level-0"),
                case(runs(1, 5, 100), "force-up-level-0", lookup_interval=3, lookup_count=1),
                case(runs(1, 5, 100), "force-up-level-0", lookup_interval=3, lookup_count=2),
                case(runs(7), "full"),
                case(runs(7), "full", force_rewrite_all=True),
                case(runs(7), "full", deletion_vectors=["f0"]),
            ]
        )
        names = [pick and "".join(pick["files"]) for pick in picks]
        assert names == [
            *(None, "f0f1f2", None),
            *("f0f1f2", "f0f1f2f3", "f0f1f2"),
            *("f0", None, "f0"),
            *(None, "f0", "f0"),
        ]
        assert [pick and pick["output_level"] for pick in picks[3:7]] == [3, 4, 3, 3]

    def test_manager(self, oracle: Oracle) -> None:
        files = [
            {
                "name": "new",
                "level": 0,
                "size": 10,
                "minKey": 0,
                "maxKey": 4,
                "maxSequence": 9,
                "deleteRows": 0,
            },
            {
                "name": "old",
                "level": 5,
                "size": 10,
                "minKey": 3,
                "maxKey": 8,
                "maxSequence": 1,
                "deleteRows": 0,
            },
            {
                "name": "big",
                "level": 0,
                "size": 900,
                "minKey": 20,
                "maxKey": 30,
                "maxSequence": 5,
                "deleteRows": 0,
            },
        ]
        options = {"num_levels": 6, "compaction_file_size": 100}
        idle, full = oracle.manager(
            [
                {"files": files, "options": options, "full": False},
                {"files": files, "options": options, "full": True},
            ]
        )
        assert idle is None
        assert full == {
            "output_level": 5,
            "drop_delete": True,
            "rewrites": [{"output_level": 5, "drop_delete": True, "sections": [[["new"], ["old"]]]}],
            "upgrades": [{"name": "big", "output_level": 5}],
        }

    def test_agrees_with_a_real_round(self, oracle: Oracle, plain: Table) -> None:
        for seed in range(8):
            oracle.generate(plain, rows=200 << seed, seed=seed, key={"range": 100_000}, delete_ratio=0.1)
        oracle.manager_round(plain, options={"num-sorted-run.compaction-trigger": "3"})
        for seed in range(4):
            oracle.generate(plain, rows=100, seed=seed, key={"range": 100_000})
        files = [
            {
                "name": file.name,
                "level": file.level,
                "size": file.size,
                "minKey": file.min_key[0],
                "maxKey": file.max_key[0],
                "minSequence": file.min_sequence,
                "maxSequence": file.max_sequence,
                "creationTime": file.creation_time,
                "deleteRows": file.delete_rows,
            }
            for file in oracle.files(plain)
        ]
        for full in (False, True):
            options = {"trigger": 4, "num_levels": 5, "compaction_file_size": 128 << 20}
            (planned,) = oracle.manager([{"files": files, "options": options, "full": full}])
            trigger = {"num-sorted-run.compaction-trigger": "4"}
            (real,) = oracle.manager_round(plain, full=full, options=trigger, commit=False).buckets
            assert planned is not None
            assert (planned["output_level"], planned["drop_delete"]) == (real.output_level, real.drop_delete)
            (rewrite,) = planned["rewrites"]
            names = [name for section in rewrite["sections"] for run in section for name in run]
            assert names == [file.name for file in real.change.before]

    def test_thousands_of_cases(self, oracle: Oracle) -> None:
        source = random.Random(1)
        cases = [
            {
                "files": [
                    {
                        "name": f"f{i}",
                        "level": 0,
                        "size": source.randrange(1, 1000),
                        "minKey": (low := source.randrange(1000)),
                        "maxKey": low + source.randrange(100),
                        "maxSequence": source.randrange(10),
                        "deleteRows": source.randrange(2),
                    }
                    for i in range(source.randrange(1, 12))
                ],
                "options": {"compaction_file_size": 300},
                "full": source.random() < 0.5,
            }
            for _ in range(2000)
        ]
        assert len(oracle.sections(cases)) == len(oracle.manager(cases)) == len(cases)


class TestBundle:
    def test_options_and_types(self, oracle: Oracle) -> None:
        options = oracle.options()
        by_key = {option.key: option for option in options.options}
        trigger = by_key["num-sorted-run.compaction-trigger"]
        assert (trigger.default, trigger.declared_by) == ("5", "org.apache.paimon.CoreOptions")
        assert by_key["write-only"].fallback_keys == ["write.compaction-skip"]
        assert len(by_key) > 300
        assert not any("Options" in name for name in options.unreadable)
        assert options.constants["CoreOptions.FIELDS_PREFIX"] == "fields"
        assert "TIMESTAMP_WITH_LOCAL_TIME_ZONE" in oracle.types()


def _command_line(pid: int) -> list[str]:
    result = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return result.stdout.split()


def _multiset_hash(texts: list[str]) -> str:
    """The formulas of README.md."""
    mask = 2**64 - 1

    def mix(h: int) -> int:
        h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD & mask
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53 & mask
        return h ^ (h >> 33)

    first = second = 0
    for text in texts:
        fnv, polynomial = 0xCBF29CE484222325, 0
        for byte in text.encode():
            fnv = (fnv ^ byte) * 0x100000001B3 & mask
            polynomial = polynomial * 0x9E3779B97F4A7C15 + byte + 1 & mask
        first = first + mix(fnv) & mask
        second = second + mix(polynomial) & mask
    return f"{first:016x}{second:016x}"
