"""What a run must not change: row ids, rows under other references, and what others commit beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from infrastructure.iceberg import tables
from infrastructure.iceberg.tables import LINEAGE, SparkTable
from java.iceberg.test_runs import ordered
from lithify.clock import Clock
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Task
from lithify.io.locations import local_path
from support.cases import case
from support.iceberg_runs import CLOCK, address_of, run

IDS = ("id", "_row_id")


def row_ids(table: SparkTable) -> dict[int, int]:
    found = table.read(*IDS).to_pydict()
    assert None not in found["_row_id"]
    assert len(set(found["_row_id"])) == len(found["_row_id"])
    return dict(zip(found["id"], found["_row_id"], strict=True))


@pytest.mark.parametrize("commits_after", [0, 1])
def test_rows_of_an_upgraded_table_get_ids_once(sql_table: SparkTable, commits_after: int) -> None:
    table = sql_table.create(1, properties={"commit.manifest.min-count-to-merge": "3"}).append_many(3, 20)
    table.upgrade(2)
    table.delete("id % 10 = 3")
    table.upgrade(3)
    if commits_after:
        table.delete("id % 10 = 4")
    known = row_ids(table) if commits_after else {}
    before = table.read().combine_chunks()

    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    ids = row_ids(table)
    assert ids == known or not commits_after
    table.append_many(3, 10, first=100)
    table.delete("id % 10 = 5")
    assert run(table).status == "Compacted"
    after = row_ids(table)
    assert {key: value for key, value in after.items() if key < 100} == {
        key: value for key, value in ids.items() if key % 10 != 5
    }


@pytest.mark.parametrize(("is_upgraded", "is_packed"), [(False, True), (True, False)])
def test_row_ids_are_stored_as_differences_if_none_is_null(
    sql_table: SparkTable, is_upgraded: bool, is_packed: bool
) -> None:
    """Spark's readers before Iceberg 1.12 fail at pages of differences in which all values are null."""
    table = sql_table.create(2 if is_upgraded else 3).append_many(3, 200)
    if is_upgraded:
        table.upgrade(3)
    else:
        table.delete("id % 10 = 3")
    before = table.read().combine_chunks(), None if is_upgraded else row_ids(table)

    assert run(table).status == "Compacted"

    (path,) = table.metadata_table("files").filter(pc.field("content") == 0)["file_path"].to_pylist()
    file = pq.read_metadata(local_path(path))
    places = {file.schema.column(number).path: number for number in range(len(file.schema))}
    encodings = file.row_group(0).column(places["_row_id"]).encodings
    assert ("DELTA_BINARY_PACKED" in encodings) is is_packed
    assert (table.read().combine_chunks(), None if is_upgraded else row_ids(table)) == before


def test_merged_manifests_keep_row_ids(sql_table: SparkTable) -> None:
    table = sql_table.create(3, "identity", {"commit.manifest.min-count-to-merge": "2"}).append_many(4, 30)
    table.delete("id % 10 = 3")
    before = table.read("*", *LINEAGE).combine_chunks()

    request = Request(address_of(table), Selection(partitions=({"kind": "a-0"},), strategy=Strategy.FULL))
    assert compact(request, InlineRunner(), CLOCK).status == "Compacted"
    table.run(f"REFRESH TABLE {table.name}")

    assert table.read("*", *LINEAGE).combine_chunks() == before
    table.append(200, 10)
    assert table.read("*", *LINEAGE, at="WHERE id < 200").combine_chunks() == before
    row_ids(table)


@pytest.mark.parametrize("version", [2, 3])
def test_both_zeros_keep_their_signs_in_partitions_of_their_own(sql_table: SparkTable, version: int) -> None:
    table = sql_table.create(version, columns="id BIGINT, kind DOUBLE")
    texts = "VALUES (1, '0.0'), (2, '-0.0'), (3, 'NaN'), (4, NULL)"
    for _ in range(3):
        table.run(f"INSERT INTO {table.name} SELECT col1, CAST(col2 AS DOUBLE) FROM {texts}")
    columns = ("id", "CAST(kind AS STRING) AS text")
    before = table.read(*columns).combine_chunks()

    table.alter("ADD PARTITION FIELD kind")
    assert run(table).status == "Compacted"
    assert table.read(*columns).combine_chunks() == before
    table.run(f"INSERT INTO {table.name} SELECT col1 + 4, CAST(col2 AS DOUBLE) FROM {texts}")
    assert len(run(table).groups) == 4
    found = table.read(*columns).to_pydict()
    assert found["id"] == [*[1] * 3, *[2] * 3, *[3] * 3, *[4] * 3, 5, 6, 7, 8]
    assert [*dict.fromkeys(found["text"])] == ["0.0", "-0.0", "NaN", None]
    assert table.metadata_table("files").num_rows == 4
    assert run(table).status == "NothingToDo"


@pytest.mark.parametrize("version", [2, 3])
def test_other_references_keep_their_rows(sql_table: SparkTable, version: int) -> None:
    table = tables.with_branches(sql_table, version)
    side, first = (table.read(at=f"VERSION AS OF '{name}'").combine_chunks() for name in ("side", "first"))
    start, before = table.snapshot_id, table.read().combine_chunks()

    assert run(table).status == "Compacted"
    compacted = table.snapshot_id
    table.rollback(start)
    assert run(table).status == "Compacted"

    assert table.read().combine_chunks() == before
    for snapshot in (start, compacted):
        assert table.read(at=f"VERSION AS OF {snapshot}").combine_chunks() == before
    table.expire_snapshots()
    run(table)
    assert table.read(at="VERSION AS OF 'side'").combine_chunks() == side
    assert table.read(at="VERSION AS OF 'first'").combine_chunks() == first


class Beside(InlineRunner):
    """Others commit once, after the first tasks and before our commit."""

    def __init__(self, act: Callable[[], object]) -> None:
        self._acts = [act]

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks, then lets the others act."""
        found = super().run(tasks, clock, progress)
        if self._acts:
            self._acts.pop()()
        return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "act",
    [
        case(lambda table: table.upsert(10, 20), id="upsert"),
        case(lambda table: (table.upsert(10, 20), table.append(300, 5)), id="upsert, then an append"),
        case(lambda table: (table.upsert(10, 20), run(table)), id="upsert, and another run"),
        case(lambda table: table.delete("id % 10 = 7"), id="deletes by position"),
        case(
            lambda table: (table.upsert(10, 20), table.procedure("rewrite_data_files")),
            id="upsert, and Spark's",
        ),
    ],
)
@pytest.mark.parametrize("partitions", ["none", "bucket"])
def test_what_others_commit_beside_a_run_stays(
    sql_table: SparkTable, version: int, act: Callable[[SparkTable], object], partitions: str
) -> None:
    table = tables.with_equality_deletes(sql_table, version, partitions)
    twin = SparkTable(table.spark, table.catalog, f"{table.identifier}_twin")
    tables.with_equality_deletes(twin, version, partitions)
    request = Request(address_of(table), Selection(strategy=Strategy.FULL))

    compact(request, Beside(lambda: act(table)), CLOCK)
    table.run(f"REFRESH TABLE {table.name}")
    act(twin)

    expected = twin.read().combine_chunks()
    assert ordered(table.read(), expected) == expected
    run(table)
    assert ordered(table.read(), expected) == expected
