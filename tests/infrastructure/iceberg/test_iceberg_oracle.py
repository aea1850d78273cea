"""What the Java side answers: plans, scans, commits that SQL has no words for, times."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.iceberg import tables
from infrastructure.iceberg.model import EqualityDeletes, PositionDeletes, ScanTask
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from infrastructure.jvm.process import OracleError


def ids(table: SparkTable, at: str = "") -> list[int]:
    return table.read("id", at=at)["id"].to_pylist()


def delete_kinds(tasks: Sequence[ScanTask]) -> set[str]:
    return {each.content for task in tasks for each in task.deletes}


class TestRows:
    def test_rows_come_as_arrow_in_their_order(self, spark_iceberg: SparkIceberg) -> None:
        found = spark_iceberg.sql("SELECT id, named_struct('a', id) AS s FROM range(0, 5) ORDER BY id DESC")
        assert found.schema.field("s").type == pa.struct([pa.field("a", pa.int64(), nullable=False)])
        assert found["id"].to_pylist() == [4, 3, 2, 1, 0]

    def test_metadata_columns_are_rows_of_their_files(self, sql_table: SparkTable) -> None:
        table = sql_table.create(3).append_many(2, 5)
        found = table.read("id", "_file", "_pos", *LINEAGE)
        assert found["_row_id"].to_pylist() == list(range(10))
        assert found["_last_updated_sequence_number"].to_pylist() == [1] * 5 + [2] * 5
        assert found["_pos"].to_pylist() == [*range(5), *range(5)]
        assert len(found["_file"].unique()) == 2

    def test_failures_name_the_java_class(self, spark_iceberg: SparkIceberg) -> None:
        with pytest.raises(OracleError) as refused:
            spark_iceberg.sql("SELECT * FROM nowhere.db.t")
        assert refused.value.type.endswith("AnalysisException")

    def test_versions_are_those_of_the_poms(self, spark_iceberg: SparkIceberg) -> None:
        assert spark_iceberg.call("versions") == {"spark": "4.1.3", "iceberg": "1.11.0"}


class TestPlans:
    def test_scan_lists_deletes_of_each_file(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append_many(3, 10)
        table.delete("id = 12")
        tasks = table.spark.scan(table.name)
        hit = {task.file.data_sequence_number: task.deletes for task in tasks}
        assert [len(hit[number]) for number in (1, 2, 3)] == [0, 1, 0]
        deletes = hit[2][0]
        assert (deletes.content, deletes.record_count) == ("POSITION_DELETES", 1)
        assert deletes.data_sequence_number == 4
        assert len(table.spark.scan(table.name, where="id >= 20")) == 1

    def test_vectors_say_where_they_are(self, sql_table: SparkTable) -> None:
        table = sql_table.create(3).append_many(2, 10)
        table.delete("id IN (3, 13)")
        for task in table.spark.scan(table.name):
            (vector,) = task.deletes
            assert (vector.format, vector.referenced_data_file) == ("PUFFIN", task.file.path)
            assert vector.content_offset is not None
            assert (vector.content_size or 0) > 0
        assert {task.file.first_row_id for task in table.spark.scan(table.name)} == {0, 10}

    def test_scan_of_a_branch_and_of_a_snapshot(self, sql_table: SparkTable) -> None:
        table = tables.with_branches(sql_table)
        first = table.spark.state(table.name).metadata["refs"]["first"]["snapshot-id"]
        assert sum(task.file.record_count for task in table.spark.scan(table.name, branch="side")) == 60
        assert sum(task.file.record_count for task in table.spark.scan(table.name, snapshot_id=first)) == 20

    @pytest.mark.parametrize("partitions", ["none", "identity", "bucket", "truncate", "days"])
    def test_plan_groups_files_by_partition(self, sql_table: SparkTable, partitions: str) -> None:
        table = sql_table.create(2, partitions).append_many(6, 20)
        files = {task.file.path: task.file for task in table.spark.scan(table.name)}
        groups = table.spark.plan_rewrite(table.name, {"min-input-files": "2"})
        assert sorted(path for group in groups for path in group.files) == sorted(files)
        for group in groups:
            assert {tuple(files[path].partition.items()) for path in group.files} == {
                tuple(group.partition.items())
            }
            assert group.bytes == sum(files[path].size for path in group.files)
            assert (group.output_spec_id, group.expected_output_files) == (0, 1)

    def test_plan_obeys_options_and_conditions(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append_many(6, 20)
        assert table.spark.plan_rewrite(table.name, {"min-input-files": "7"}) == []
        (group,) = table.spark.plan_rewrite(table.name, {"min-input-files": "2"}, where="id < 40")
        assert len(group.files) == 2
        by_size = {"min-input-files": "2", "max-file-group-size-bytes": str(group.bytes * 5 // 4)}
        assert len(table.spark.plan_rewrite(table.name, by_size)) == 3

    def test_files_of_older_specs_are_one_group(self, sql_table: SparkTable) -> None:
        table = tables.with_evolved_partitions(sql_table)
        tasks = table.spark.scan(table.name)
        assert {task.file.spec_id for task in tasks} == {0, 1, 2}
        groups = table.spark.plan_rewrite(table.name, {"rewrite-all": "true"})
        specs = {task.file.path: task.file.spec_id for task in tasks}
        assert {frozenset(specs[path] for path in group.files) for group in groups} == {
            frozenset({0, 1}),
            frozenset({2}),
        }

    def test_times_are_those_of_the_operation(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append_many(2, 5)
        timed = table.spark.timed("scan", table=table.name, listed=False)
        assert timed.result == 2
        assert timed.nanos > 0
        assert timed.cpu_nanos >= 0


class TestDeltas:
    def test_equality_deletes_match_null_keys(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append(0, 21)
        nulls = EqualityDeletes(["kind"], "SELECT CAST(NULL AS STRING) AS kind")
        made = table.spark.row_delta(table.name, equality=[nulls])
        (written,) = made.deletes
        assert (written.content, written.equality_ids) == ("EQUALITY_DELETES", [3])
        assert ids(table) == [number for number in range(21) if number % 7]

    def test_several_schemas_in_one_commit(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append(0, 10)
        deletes = [
            EqualityDeletes(["id"], "SELECT 4 AS id"),
            EqualityDeletes(["day", "amount"], "SELECT DATE '2024-02-28' AS day, 1.25 AS amount"),
        ]
        made = table.spark.row_delta(table.name, equality=deletes)
        assert [file.equality_ids for file in made.deletes] == [[1], [2, 4]]
        assert ids(table) == [0, 2, 3, 5, 6, 7, 8, 9]

    def test_deletes_of_partitions_and_global_ones(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append(0, 20)
        table.alter("ADD PARTITION FIELD bucket(4, id)")
        table.append(20, 20)
        key = "SELECT id FROM VALUES (5L), (25L) AS keys(id)"
        table.spark.row_delta(table.name, equality=[EqualityDeletes(["id"], key)])
        assert {5, 25} & set(ids(table)) == {5}
        table.spark.row_delta(table.name, equality=[EqualityDeletes(["id"], key, spec_id=0)])
        assert {5, 25} & set(ids(table)) == set()

    def test_upserts_keep_the_rows_of_their_own_commit(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2, "bucket").append(0, 20)
        table.upsert(10, 20)
        assert ids(table) == list(range(30))
        assert pc.sum(table.read("amount")["amount"]).as_py() > 0
        assert delete_kinds(table.spark.scan(table.name)) == {"EQUALITY_DELETES"}

    @pytest.mark.parametrize(("per_file", "files"), [(True, 2), (False, 1)])
    def test_position_deletes_of_files_and_of_partitions(
        self, sql_table: SparkTable, per_file: bool, files: int
    ) -> None:
        table = sql_table.create(2).append_many(2, 10)
        deletes = [PositionDeletes(task.file.path, [0, 9]) for task in table.spark.scan(table.name)]
        made = table.spark.row_delta(table.name, positions=deletes, per_file=per_file)
        assert len(made.deletes) == files
        assert len(ids(table)) == 16

    def test_second_vector_of_a_file_bricks_scans(self, sql_table: SparkTable) -> None:
        table = sql_table.create(3).append(0, 10)
        (task,) = table.spark.scan(table.name)
        for position in (1, 2):
            table.spark.row_delta(table.name, positions=[PositionDeletes(task.file.path, [position])])
        with pytest.raises(OracleError, match="Can't index multiple DVs"):
            table.spark.scan(table.name)

    def test_files_written_elsewhere_are_appended(self, sql_table: SparkTable, tmp_path: Path) -> None:
        table = sql_table.create(2, properties={"schema.name-mapping.default": _MAPPING})
        path = tmp_path / "elsewhere.parquet"
        pq.write_table(pa.table({"id": pa.array([7, 8]), "kind": pa.array(["x", None])}), path)
        (file,) = table.spark.append_files(table.name, [path]).data
        assert (file.record_count, file.size) == (2, path.stat().st_size)
        assert table.read("id", "kind")["kind"].to_pylist() == ["x", None]

    def test_columns_have_defaults(self, sql_table: SparkTable) -> None:
        table = sql_table.create(3).append(0, 2)
        table.spark.add_column(table.name, "born", "DATE", "2020-02-29")
        table.spark.add_column(table.name, "price", "DECIMAL(9, 2)", "1.50", write_default="2.50")
        (schema,) = table.spark.state(table.name).metadata["schemas"][-1:]
        assert [field.get("write-default") for field in schema["fields"][-2:]] == ["2020-02-29", "2.50"]
        assert [str(row) for row in table.read("price")["price"].to_pylist()] == ["1.50", "1.50"]


class TestRewrites:
    def test_rewrite_reports_and_keeps_rows(self, sql_table: SparkTable) -> None:
        table = tables.with_deletes(sql_table, 3)
        before = table.read("*", *LINEAGE).combine_chunks()
        done = table.spark.rewrite(table.name, {"rewrite-all": "true"})
        assert (done.groups, done.added_files, done.failed_files) == (1, 1, 0)
        assert done.removed_delete_files > 0
        after = table.read("*", *LINEAGE).combine_chunks()
        assert after.drop_columns(LINEAGE[1]) == before.drop_columns(LINEAGE[1])

    def test_commits_between_steps_change_the_table(self, sql_table: SparkTable) -> None:
        table = sql_table.create(2).append_many(3, 10)
        base = table.snapshot_id
        table.delete("id = 1")
        assert len(ids(table)) == 29
        table.rollback(base)
        assert len(ids(table)) == 30
        table.run(f"INSERT OVERWRITE {table.name} {tables.rows(0, 5)}")
        assert len(ids(table)) == 5
        table.expire_snapshots()
        assert len(table.spark.state(table.name).metadata["snapshots"]) == 1
        table.upgrade(3)
        assert table.spark.state(table.name).metadata["format-version"] == 3


_MAPPING = (
    '[{"field-id": 1, "names": ["id"]}, {"field-id": 2, "names": ["day"]}, '
    '{"field-id": 3, "names": ["kind"]}, {"field-id": 4, "names": ["amount"]}]'
)
