"""Commits of compactions to real tables: what readers see, and what other writers did meanwhile."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType

from lithify.errors import AttemptFenced
from lithify.formats.iceberg.commit.changes import GroupChange
from lithify.formats.iceberg.commit.rules import NEW_DELETE, REPLACED_INPUT, REPLACED_KEPT
from lithify.formats.iceberg.data_files.schema import Schema as IcebergSchema
from lithify.formats.iceberg.deletes.position_files import PATH, POSITION
from lithify.formats.iceberg.manifests.manifest_lists import ListOwner, read_list, write_list
from lithify.formats.iceberg.model import DataFile, NewDeleteFile
from lithify.formats.iceberg.table.opening import open_iceberg_table
from support.cases import case
from support.iceberg_commits import (
    Group,
    Planned,
    commit,
    delete_equal,
    delete_positions,
    plan,
    rewritten,
    view_of,
    write_data,
)
from support.iceberg_tables import NAME, SCHEMA, Lakehouse, metadata_of, rows, with_fields

pytestmark = pytest.mark.thorough


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    return Lakehouse(tmp_path)


def made(lakehouse: Lakehouse, version: int = 2, files: int = 4, **properties: str) -> Table:
    """A table with as many files of two rows each: 0 and 1, 2 and 3..."""
    given = {"format-version": str(version), **properties}
    table = lakehouse.table(properties=given)
    for number in range(files):
        table.append(rows(2 * number, 2 * number + 1))
    return table


def ids(lakehouse: Lakehouse, **options: Any) -> list[int]:
    """The ids of all rows, as pyiceberg reads them."""
    found: list[int] = lakehouse.catalog().load_table(NAME).scan(**options).to_arrow()["id"].to_pylist()
    return sorted(found)


def summary(lakehouse: Lakehouse) -> dict[str, str]:
    head = open_iceberg_table(lakehouse.address()).head()
    assert head is not None
    return dict(head.summary)


def new_deletes(planned: Planned, file: DataFile, positions: list[int]) -> NewDeleteFile:
    """Writes a position delete file, as a task does for a file that stays."""
    schema = IcebergSchema(0, (PATH, POSITION)).file_schema()
    written = write_data(
        planned.table, pa.table([[file.path] * len(positions), positions], schema=schema), file.partition
    )
    return NewDeleteFile(written.path, "parquet", written.size, written.rows, file.partition, file.path)


def path_of(planned: Planned, row: int) -> str:
    return planned.of(row)[0].path


def metadata_files(lakehouse: Lakehouse) -> set[str]:
    folder = Path(metadata_of(lakehouse.catalog().load_table(NAME))["location"].removeprefix("file://"))
    return {path.name for path in (folder / "metadata").iterdir()}


class TestSnapshot:
    @pytest.mark.parametrize("version", [1, 2])
    def test_rows_stay_and_files_become_one(self, lakehouse: Lakehouse, version: int) -> None:
        table = made(lakehouse, version)
        planned = plan(lakehouse.address())
        outcome = commit(planned, rewritten(planned, planned.files))

        after = lakehouse.catalog().load_table(NAME)
        assert (outcome.committed, outcome.conflicts, outcome.tries) == ((Group("g"),), {}, 1)
        assert ids(lakehouse) == [*range(8)]
        assert len(list(after.scan().plan_files())) == 1
        head, former = after.current_snapshot(), table.current_snapshot()
        assert head is not None
        assert former is not None
        assert (str(head.snapshot_id), head.parent_snapshot_id) == (outcome.snapshot, former.snapshot_id)

    @pytest.mark.parametrize("version", [1, 2])
    def test_other_writers_go_on(self, lakehouse: Lakehouse, version: int) -> None:
        made(lakehouse, version)
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files[:3]))
        table = lakehouse.catalog().load_table(NAME)
        table.append(rows(100))
        table.delete(EqualTo("id", 3))
        assert ids(lakehouse) == [0, 1, 2, 4, 5, 6, 7, 100]

    def test_former_snapshots_can_still_be_read(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        former = table.current_snapshot()
        assert former is not None
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files))
        assert ids(lakehouse, snapshot_id=former.snapshot_id) == [*range(8)]

    def test_its_summary_has_icebergs_figures_and_says_who_committed(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files[:3])
        commit(planned, change, run="run-7")

        found, size = summary(lakehouse), sum(each.size for each in change.inputs)
        kept = sum(each.size for each in planned.files[3:])
        assert {name: found[name] for name in _FIGURES} == {
            "operation": "replace",
            "added-data-files": "1",
            "deleted-data-files": "3",
            "added-records": "6",
            "deleted-records": "6",
            "added-files-size": str(change.outputs[0].size),
            "removed-files-size": str(size),
            "changed-partition-count": "1",
            "total-data-files": "2",
            "total-records": "8",
            "total-files-size": str(change.outputs[0].size + kept),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
            "engine-name": "lithify",
            "lithify.run": "run-7",
        }

    def test_rows_of_kept_files_are_deleted_by_new_delete_files(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        (kept,) = planned.of(2)
        deletes = new_deletes(planned, kept, [0])
        change = replace(rewritten(planned, planned.of(4, 6)), kept=(kept,), deletes=(deletes,))
        lakehouse.catalog().load_table(NAME).append(rows(50))
        commit(planned, change)

        assert ids(lakehouse) == [0, 1, 3, 4, 5, 6, 7, 50]
        found = summary(lakehouse)
        assert {name: found[name] for name in _DELETE_FIGURES} == {
            "added-delete-files": "1",
            "added-position-delete-files": "1",
            "added-position-deletes": "1",
            "total-delete-files": "1",
            "total-position-deletes": "1",
            "added-files-size": str(change.outputs[0].size + deletes.size),
        }
        (live,) = view_of(planned.table).deletes.select(["sequence_number", "referenced"]).to_pylist()
        assert live == {"sequence_number": planned.start.sequence + 2, "referenced": kept.path}

    def test_delete_files_alone_are_committed(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        kept = planned.of(2, 4)
        deletes = tuple(new_deletes(planned, each, [1]) for each in kept)
        outcome = commit(planned, GroupChange(Group("g"), (), (), kept, deletes))

        assert (outcome.committed, ids(lakehouse)) == ((Group("g"),), [0, 1, 2, 4, 6, 7])
        assert summary(lakehouse)["changed-partition-count"] == "1"

    def test_delete_files_go_with_the_file_that_was_kept(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        (kept,) = planned.of(2)
        commit(planned, GroupChange(Group("g"), (), (), (kept,), (new_deletes(planned, kept, [0]),)))
        again = plan(lakehouse.address())
        commit(again, rewritten(again, again.of(2, 3, 4)))

        assert ids(lakehouse) == [0, 1, 3, 4, 5, 6, 7]
        assert summary(lakehouse)["total-delete-files"] == "0"

    def test_new_files_have_the_sequence_number_of_the_planned_snapshot(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        lakehouse.catalog().load_table(NAME).append(rows(50))
        commit(planned, rewritten(planned, planned.files))

        view = view_of(open_iceberg_table(lakehouse.address()))
        found = dict(zip(view.data["record_count"].to_pylist(), _sequences(view), strict=True))
        assert found == {8: (4, 6), 1: (5, 5)}

    def test_a_group_whose_rows_are_all_deleted_leaves_no_file(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        before = plan(lakehouse.address())
        delete_positions(lakehouse.address(), {path_of(before, 0): [0, 1]})
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.of(0))
        commit(planned, change)
        assert change.outputs == ()
        assert ids(lakehouse) == [*range(2, 8)]

    def test_metadata_fields_that_nobody_knows_are_carried(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        statistics = [{"snapshot-id": 1, "statistics-path": "x", "blob-metadata": []}]
        with_fields(table, {"statistics": statistics, "field-of-the-future": {"a": [1]}})
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files))
        found = open_iceberg_table(lakehouse.address()).metadata.json
        assert (found["statistics"], found["field-of-the-future"]) == (statistics, {"a": [1]})

    def test_logs_are_continued_as_long_as_the_table_says(self, lakehouse: Lakehouse) -> None:
        properties = {
            "write.metadata.previous-versions-max": "3",
            "write.metadata.delete-after-commit.enabled": "true",
        }
        table = made(lakehouse, **properties)
        oldest = metadata_of(table)["metadata-log"][0]["metadata-file"].rpartition("/")[2]
        planned = plan(lakehouse.address())
        before = metadata_files(lakehouse)
        commit(planned, rewritten(planned, planned.files))

        found = open_iceberg_table(lakehouse.address()).metadata.json
        logged = [entry["metadata-file"] for entry in found["metadata-log"]]
        assert len(logged) == 3
        assert logged[-1] == table.metadata_location
        assert found["snapshot-log"][-1]["snapshot-id"] == found["current-snapshot-id"]
        assert oldest in before
        assert oldest not in metadata_files(lakehouse)

    def test_a_branch_gets_the_snapshot_and_main_stays(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        head = table.current_snapshot()
        assert head is not None
        table.manage_snapshots().create_branch(head.snapshot_id, "audit").commit()
        planned = plan(lakehouse.address(f"{NAME}$branch_audit"))
        outcome = commit(planned, rewritten(planned, planned.files))

        refs = lakehouse.catalog().load_table(NAME).metadata.refs
        assert refs["main"].snapshot_id == head.snapshot_id
        assert str(refs["audit"].snapshot_id) == outcome.snapshot
        assert ids(lakehouse, snapshot_id=int(outcome.snapshot)) == [*range(8)]

    @pytest.mark.parametrize("version", [2, 3])
    def test_manifests_that_nobody_counted_are_counted_after_an_upgrade(
        self, lakehouse: Lakehouse, version: int
    ) -> None:
        """Later versions require the counts, and row ids follow from them."""
        table = made(lakehouse, 1)
        head = open_iceberg_table(lakehouse.address()).head()
        assert head is not None
        listed = Path(str(head.manifest_list).removeprefix("file://"))
        names = [
            f"{status}_{what}" for status in ("added", "existing", "deleted") for what in ("files", "rows")
        ]
        manifests = [replace(each, **dict.fromkeys(names)) for each in read_list(listed.read_bytes())]
        listed.write_bytes(write_list(manifests, ListOwner(1, head.id, head.parent)).content)
        with_fields(table, {"format-version": version, "last-sequence-number": 0, "next-row-id": 0})

        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.of(0, 2)))

        view = view_of(open_iceberg_table(lakehouse.address()))
        assert all((each.added_files, each.existing_rows) != (None, None) for each in view.manifests)
        assert sorted(view.data["record_count"].to_pylist()) == [2, 2, 4]
        first = [
            *zip(*(view.data[name].to_pylist() for name in ("first_row_id", "record_count")), strict=True)
        ]
        taken = [row for start, count in first if start is not None for row in range(start, start + count)]
        assert len(set(taken)) == (8 if version > 2 else 0)

    def test_an_upgraded_table_of_version_3_assigns_row_ids(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        with_fields(table, {"format-version": 3, "next-row-id": 0})
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files[:3]))

        opened = open_iceberg_table(lakehouse.address())
        newest = opened.metadata.json["snapshots"][-1]
        assert (newest["first-row-id"], newest["added-rows"]) == (0, opened.metadata.next_row_id)
        assert opened.metadata.next_row_id >= 8
        given = view_of(opened).data.select(["first_row_id", "record_count"]).to_pylist()
        spans = sorted((each["first_row_id"], each["first_row_id"] + each["record_count"]) for each in given)
        assert all(stop <= start for (_, stop), (start, _) in pairwise(spans))
        assert ids(lakehouse) == [*range(8)]

    def test_manifests_are_merged_as_the_table_says(self, lakehouse: Lakehouse) -> None:
        made(lakehouse, **{"commit.manifest.min-count-to-merge": "2"})
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files[:2]))
        view = view_of(open_iceberg_table(lakehouse.address()))
        assert len(view.manifests) == 1
        assert ids(lakehouse) == [*range(8)]

    def test_manifests_stay_apart_if_the_table_does_not_want_them_merged(self, lakehouse: Lakehouse) -> None:
        given = {"commit.manifest.min-count-to-merge": "2", "commit.manifest-merge.enabled": "false"}
        made(lakehouse, **given)
        planned = plan(lakehouse.address())
        untouched = {each.path for each in view_of(planned.table).manifests[:2]}
        commit(planned, rewritten(planned, planned.files[2:]))
        view = view_of(open_iceberg_table(lakehouse.address()))
        assert untouched < {each.path for each in view.manifests}
        new = [each for each in view.manifests if each.path not in untouched]
        assert [(each.added_files, each.deleted_files) for each in new] == [(1, 0), (0, 2)]

    def test_partitions_stay(self, lakehouse: Lakehouse) -> None:
        schema = Schema(NestedField(1, "id", LongType()), NestedField(2, "name", StringType()))
        spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"))
        table = lakehouse.table(schema=schema, partition_spec=spec)
        for number in range(3):
            table.append(pa.table({"id": [number, number + 10], "name": ["a", "b"]}, schema=SCHEMA))
        planned = plan(lakehouse.address())
        ours = [file for file in planned.files if file.partition.values == ("a",)]
        stripped = rewritten(planned, ours)
        commit(planned, stripped)
        found = lakehouse.catalog().load_table(NAME).scan(row_filter=EqualTo("name", "a"))
        assert len(list(found.plan_files())) == 1
        assert sorted(found.to_arrow()["id"].to_pylist()) == [0, 1, 2]
        assert ids(lakehouse) == [0, 1, 2, 10, 11, 12]


_FIGURES = (
    *("operation", "added-data-files", "deleted-data-files", "added-records", "deleted-records"),
    *("added-files-size", "removed-files-size", "changed-partition-count", "total-data-files"),
    *("total-records", "total-files-size", "total-delete-files", "total-position-deletes"),
    *("total-equality-deletes", "engine-name", "lithify.run"),
)
_DELETE_FIGURES = (
    *("added-delete-files", "added-position-delete-files", "added-position-deletes"),
    *("total-delete-files", "total-position-deletes", "added-files-size"),
)


def _sequences(view: Any) -> list[tuple[int, int]]:
    names = ("sequence_number", "file_sequence_number")
    return list(zip(*(view.data[name].to_pylist() for name in names), strict=True))


class TestConflicts:
    def test_appends_are_no_conflict(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        others = lakehouse.catalog().load_table(NAME)

        def append(number: int) -> None:
            if number in (1, 3):
                others.append(rows(100 + number))

        outcome = commit(planned, rewritten(planned, planned.files), meanwhile=append)
        assert outcome.tries > 1
        assert ids(lakehouse) == [*range(8), 101, 103]

    def test_a_group_loses_a_file_and_the_others_commit(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        first = rewritten(planned, planned.of(0, 2), "first")
        second = rewritten(planned, planned.of(4, 6), "second")
        lakehouse.catalog().load_table(NAME).delete(EqualTo("id", 3))

        outcome = commit(planned, first, second)

        assert outcome.committed == (Group("second"),)
        assert outcome.conflicts == {Group("first"): REPLACED_INPUT}
        assert ids(lakehouse) == [0, 1, 2, 4, 5, 6, 7]

    @pytest.mark.parametrize("moment", [-1, 1], ids=["before the first try", "between two tries"])
    def test_a_kept_file_that_others_replace_meanwhile_is_a_conflict(
        self, lakehouse: Lakehouse, moment: int
    ) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        (kept,) = planned.of(2)
        change = GroupChange(Group("g"), (), (), (kept,), (new_deletes(planned, kept, [0]),))

        def replace_file(number: int) -> None:
            if number == moment:
                lakehouse.catalog().load_table(NAME).delete(EqualTo("id", 3))

        replace_file(-1)
        outcome = commit(planned, change, meanwhile=replace_file)

        assert outcome.conflicts == {Group("g"): REPLACED_KEPT}
        assert ids(lakehouse) == [0, 1, 2, 4, 5, 6, 7]

    @pytest.mark.parametrize(
        ("moment", "names_file"),
        [
            case(None, True, id="before the first try"),
            case(1, True, id="between two tries"),
            case(None, False, id="for a whole partition"),
        ],
    )
    def test_rows_that_others_delete_meanwhile_stay_deleted(
        self, lakehouse: Lakehouse, moment: int | None, names_file: bool
    ) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        change, address = rewritten(planned, planned.of(0, 2)), lakehouse.address()

        def delete(number: int) -> None:
            if number == moment:
                delete_positions(address, {path_of(planned, 2): [1]}, names_file=names_file)

        if moment is None:
            moment = -1
            delete(-1)
        outcome = commit(planned, change, meanwhile=delete)

        assert outcome.conflicts == {Group("g"): NEW_DELETE}
        assert ids(lakehouse) == [0, 1, 2, 4, 5, 6, 7]

    def test_a_delete_is_found_although_others_commit_after_it(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        delete_positions(lakehouse.address(), {path_of(planned, 2): [1]})
        lakehouse.catalog().load_table(NAME).append(rows(50))
        outcome = commit(planned, rewritten(planned, planned.of(0, 2)))
        assert outcome.conflicts == {Group("g"): NEW_DELETE}

    def test_deletes_of_other_files_are_no_conflict(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        delete_positions(lakehouse.address(), {path_of(planned, 6): [0]})
        outcome = commit(planned, rewritten(planned, planned.of(0, 2)))
        assert outcome.conflicts == {}
        assert ids(lakehouse) == [0, 1, 2, 3, 4, 5, 7]

    @pytest.mark.parametrize("appends", [0, 1, 2])
    def test_later_equality_deletes_apply_to_new_files(self, lakehouse: Lakehouse, appends: int) -> None:
        """Iceberg's own commit drops the delete if exactly one append follows (apache/iceberg#10962)."""
        made(lakehouse)
        planned = plan(lakehouse.address())
        delete_equal(lakehouse.address(), pa.table({"id": pa.array([2], pa.int64())}))
        for number in range(appends):
            lakehouse.catalog().load_table(NAME).append(rows(50 + number))

        outcome = commit(planned, rewritten(planned, planned.files))

        view = view_of(open_iceberg_table(lakehouse.address()))
        new = view.data.filter(pa.array([each == 8 for each in view.data["record_count"].to_pylist()]))
        assert outcome.conflicts == {}
        assert view.deletes["sequence_number"].to_pylist() == [5]
        assert new["sequence_number"].to_pylist() == [4]

    @pytest.mark.parametrize(
        ("changes", "word"),
        [
            case({"format-version": 3, "next-row-id": 0}, "format version", id="upgrade"),
            case("schema", "schema", id="schema"),
            case("spec", "partition spec", id="spec"),
        ],
    )
    def test_another_definition_of_the_table_is_planned_again(
        self, lakehouse: Lakehouse, changes: Any, word: str
    ) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        table = lakehouse.catalog().load_table(NAME)
        if changes == "schema":
            with table.update_schema() as schema:
                schema.add_column("more", LongType())
        elif changes == "spec":
            with table.update_spec() as spec:
                spec.add_identity("name")
        else:
            with_fields(table, changes)
            planned = Planned(open_iceberg_table(lakehouse.address()), planned.start, planned.files)
        outcome = commit(planned, change)
        assert outcome.snapshot is None
        assert word in outcome.conflicts[Group("g")]

    def test_an_expired_start_is_said(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        table.append(rows(9))
        table.maintenance.expire_snapshots().by_id(planned.start.snapshot).commit()
        outcome = commit(planned, change)
        assert "expired" in outcome.conflicts[Group("g")]
        assert ids(lakehouse) == [*range(8), 9]

    def test_a_rollback_is_said(self, lakehouse: Lakehouse) -> None:
        table = made(lakehouse)
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        former = table.history()[-2].snapshot_id
        table.manage_snapshots().set_current_snapshot(former).commit()
        outcome = commit(planned, change)
        assert "rolled back" in outcome.conflicts[Group("g")]
        assert ids(lakehouse) == [*range(6)]

    def test_of_two_compactions_of_the_same_files_one_commits(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        one, other = plan(lakehouse.address()), plan(lakehouse.address())
        changes = rewritten(one, one.files), rewritten(other, other.files)
        assert commit(one, changes[0]).conflicts == {}
        assert commit(other, changes[1]).conflicts == {Group("g"): REPLACED_INPUT}
        assert ids(lakehouse) == [*range(8)]

    def test_nothing_is_left_of_outrun_and_refused_tries(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        planned = plan(lakehouse.address())
        others = lakehouse.catalog().load_table(NAME)

        def fenced(number: int) -> None:
            if number == 1:
                others.append(rows(100))
            if number == 2:
                raise AttemptFenced("journal", "condemned")

        before = metadata_files(lakehouse)
        with pytest.raises(AttemptFenced):
            commit(planned, rewritten(planned, planned.files), meanwhile=fenced)
        added = metadata_files(lakehouse) - before
        assert len(added) == 3  # the append's manifest, list and metadata


class TestDeletes:
    def test_deletes_of_removed_files_go_with_them(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        first = plan(lakehouse.address())
        delete_positions(lakehouse.address(), {path_of(first, 0): [0]})
        delete_positions(lakehouse.address(), {path_of(first, 6): [0]})
        planned = plan(lakehouse.address())

        commit(planned, rewritten(planned, planned.of(1, 2)))

        view, found = view_of(open_iceberg_table(lakehouse.address())), summary(lakehouse)
        assert view.deletes["referenced"].to_pylist() == [path_of(first, 6)]
        assert (found["removed-delete-files"], found["removed-position-deletes"]) == ("1", "1")
        assert ids(lakehouse) == [1, 2, 3, 4, 5, 7]

    def test_deletes_of_a_partition_stay_while_a_live_file_may_need_them(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        first = plan(lakehouse.address())
        both = {path_of(first, 0): [0], path_of(first, 6): [0]}
        delete_positions(lakehouse.address(), both)
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.of(1, 2)))
        assert len(view_of(open_iceberg_table(lakehouse.address())).deletes) == 1
        assert ids(lakehouse) == [1, 2, 3, 4, 5, 7]

    def test_deletes_that_nothing_can_need_are_dropped(self, lakehouse: Lakehouse) -> None:
        made(lakehouse)
        first = plan(lakehouse.address())
        both = {path_of(first, 0): [0], path_of(first, 6): [0]}
        delete_positions(lakehouse.address(), both)
        lakehouse.catalog().load_table(NAME).append(rows(50))
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, [file for file in planned.files if file.sequence < 5]))
        assert len(view_of(open_iceberg_table(lakehouse.address())).deletes) == 0
        assert ids(lakehouse) == [1, 2, 3, 4, 5, 7, 50]
