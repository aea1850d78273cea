"""The oracle itself: its process, schemas, metadata and maintenance, as README.md says."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table, build
from infrastructure.oracle.model import Row
from infrastructure.oracle.sample_tables import COLUMNS, plain_rows

pytestmark = pytest.mark.oracle


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
        with Oracle.start(timezone="Asia/Tokyo", heap="256m", jvm_args=["-XX:+UseSerialGC"]) as other:
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

    def test_nested_types_come_back_as_declared(self, oracle: Oracle, tmp_path: Path) -> None:
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

    def test_special_values_come_back_as_written(self, oracle: Oracle, tmp_path: Path) -> None:
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


class TestMetadata:
    def test_files_have_their_partition_bucket_and_statistics(self, oracle: Oracle, rich: Table) -> None:
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

    def test_deltas_list_added_and_deleted_files(self, oracle: Oracle, rich: Table) -> None:
        assert {entry.kind for entry in oracle.files_of_delta(rich, 1)} == {"ADD"}
        snapshot = oracle.compact(rich).snapshots[0]
        kinds = [entry.kind for entry in oracle.files_of_delta(rich, snapshot)]
        assert (kinds.count("ADD"), kinds.count("DELETE")) == (4, 16)
        assert oracle.files_of_changelog(rich, snapshot) == []

    def test_timed_plans_report_entries_and_times(self, oracle: Oracle, rich: Table) -> None:
        bench = oracle.bench_plan(rich, repeat=3)
        assert bench.entries == len(oracle.files(rich))
        assert len(bench.cpu_nanos) == len(bench.nanos) == 3
        assert min(bench.nanos) > 0
        assert min(bench.cpu_nanos) >= 0
        assert bench.cpu_nanos_before > 0

    def test_key_values_are_read_file_by_file(self, oracle: Oracle, plain: Table) -> None:
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
    result = subprocess.run(
        ["ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=True
    )
    return result.stdout.split()
