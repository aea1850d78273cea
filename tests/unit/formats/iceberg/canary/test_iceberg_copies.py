"""Copies of Iceberg tables: one commit makes them and one drops them, and pyiceberg reads their rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import BucketTransform

from lithify.engine.run.canary import copy_of, run_of_copy
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.canary.rows import foreign_reader
from lithify.formats.iceberg.canary.table_copies import IcebergCopies
from lithify.formats.iceberg.model import Partition
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_commits import CLOCK, delete_equal, delete_positions
from support.iceberg_rest import IcebergRestServer
from support.iceberg_tables import Lakehouse, as_folder_table, metadata_of

pytestmark = pytest.mark.thorough

RUN = "run-a"
COPY = copy_of(RUN)
IDS = pa.schema([pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})])


def made(folder: Path, version: int = 2, **properties: str) -> tuple[TableAddress, Any, list[str]]:
    lakehouse = Lakehouse(folder)
    table, paths = lakehouse.named_files(
        lambda number: [2 * number, 2 * number + 1],
        properties={"format-version": str(version), **properties},
    )
    return lakehouse.address(), table, paths


def copies(address: TableAddress) -> IcebergCopies:
    return IcebergCopies(open_iceberg_table(address), address)


def run(address: TableAddress, **changes: Any) -> Report:
    request = Request(address, Selection(strategy=Strategy.FULL), **{"run": RUN, "canary": True, **changes})
    return compact(request, InlineRunner(), CLOCK)


def files_of(table: Any) -> set[Path]:
    folder = Path(table.location().removeprefix("file://"))
    return {path for path in folder.rglob("*") if path.is_file()}


def rows(table: Any) -> list[dict[str, Any]]:
    found = table.refresh().scan().to_arrow().sort_by([("name", "ascending"), ("id", "ascending")])
    plain: list[dict[str, Any]] = found.to_pylist()
    return plain


class TestRuns:
    @pytest.mark.parametrize("version", [1, 2])
    def test_rows_are_the_same(self, tmp_path: Path, version: int) -> None:
        address, table, _ = made(tmp_path, version)
        before = rows(table)
        report = run(address)
        assert report.canary is not None
        assert (report.canary.groups, report.canary.rows, rows(table)) == (2, 12, before)

    def test_rows_that_are_deleted_by_position_do_not_count(self, tmp_path: Path) -> None:
        address, table, paths = made(tmp_path)
        for path in (paths[0], paths[4]):
            delete_positions(address, {path: [0]})
        report = run(address)
        assert report.canary is not None
        assert report.canary.rows == len(rows(table)) == 10

    @pytest.mark.parametrize("version", [1, 2])
    def test_main_is_named_where_a_table_had_no_references(self, tmp_path: Path, version: int) -> None:
        address, table, _ = made(tmp_path, version)
        bare = {key: value for key, value in metadata_of(table).items() if key != "refs"}
        Path(table.metadata_location.removeprefix("file://")).write_text(json.dumps(bare), "utf-8")
        assert copies(address).make_copy(COPY) is not None
        assert {*metadata_of(table.refresh())["refs"]} == {"main", COPY}


def test_rows_that_change_their_spec_are_compared_as_one_group(tmp_path: Path) -> None:
    address, table, _ = made(tmp_path)
    with table.update_spec() as update:
        update.add_field("id", BucketTransform(2), "id_bucket")
    report = run(address)
    assert report.canary is not None
    assert (report.canary.groups, report.canary.rows) == (1, 12)


def test_a_copy_of_a_branch_has_the_rows_of_the_branch(tmp_path: Path) -> None:
    address, table, _ = made(tmp_path)
    table.manage_snapshots().create_branch(table.current_snapshot().snapshot_id, "audit").commit()
    table.delete(EqualTo("name", "a"))
    branch = TableAddress(
        address.warehouse, f"{address.name}$branch_audit", address.catalog_options, format="iceberg"
    )
    report = run(branch)
    assert report.canary is not None
    assert report.canary.rows == 12
    assert {*table.refresh().metadata.refs} == {"main", "audit"}


def test_a_table_in_a_folder_has_canaries(tmp_path: Path) -> None:
    _, table, _ = made(tmp_path / "lake")
    as_folder_table(table, tmp_path / "folders")
    name = ".".join(table.name()[-3:])
    address = TableAddress(str(tmp_path / "folders"), name, format="iceberg")
    report = run(address)
    assert report.canary is not None
    assert report.canary.rows == 12


def test_a_server_makes_and_drops_the_copy(tmp_path: Path) -> None:
    _, table, _ = made(tmp_path)
    name = table.name()[-3:]
    with IcebergRestServer({name: metadata_of(table)}) as server:
        address = TableAddress("", ".".join(name), server.options, format="iceberg")
        report = run(address)
        metadata = server.tables[name]
    assert report.canary is not None
    assert report.canary.rows == 12
    assert {*metadata["refs"]} == {"main"}
    assert len(metadata["snapshots"]) == len(metadata_of(table)["snapshots"]) + 1


class TestDropping:
    def test_snapshots_of_the_canary_leave_with_their_files(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        known, snapshots = files_of(table), {*table.metadata.snapshots}
        found = copies(address)
        found.make_copy(COPY)
        run(found.address_of(COPY), run=run_of_copy(RUN), canary=False)
        assert len(table.refresh().metadata.snapshots) == len(snapshots) + 1
        found.drop_copy(COPY, run_of_copy(RUN))
        assert {*table.refresh().metadata.snapshots} == snapshots
        assert {path.suffix for path in files_of(table) - known} == {".json"}

    def test_what_a_tag_names_stays(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        found = copies(address)
        found.make_copy(COPY)
        run(found.address_of(COPY), run=run_of_copy(RUN), canary=False)
        head = table.refresh().metadata.refs[COPY].snapshot_id
        table.manage_snapshots().create_tag(head, "evidence").commit()
        found.drop_copy(COPY, run_of_copy(RUN))
        assert {*table.refresh().metadata.refs} == {"main", "evidence"}
        assert table.scan(snapshot_id=head).to_arrow().num_rows == 12

    def test_snapshots_of_others_on_the_copy_stay(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        found = copies(address)
        found.make_copy(COPY)
        table.refresh().delete(EqualTo("name", "a"), branch=COPY)
        before = {*table.refresh().metadata.snapshots}
        found.drop_copy(COPY, run_of_copy(RUN))
        assert {*table.refresh().metadata.snapshots} == before
        assert not found.has_copy(COPY)

    def test_a_copy_that_never_was_is_no_error(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        known = files_of(table)
        copies(address).drop_copy(COPY, run_of_copy(RUN))
        assert files_of(table) == known


class TestRefusals:
    def refused(self, address: TableAddress) -> str:
        with pytest.raises(UnsupportedTable) as refused:
            run(address)
        return "; ".join(refused.value.reasons)

    def test_equality_deletes(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        delete_equal(address, pa.table([[0]], schema=IDS), Partition(0, ("a",)))
        known = files_of(table)
        assert "equality deletes" in self.refused(address)
        assert files_of(table) == known

    def test_files_that_may_not_be_deleted(self, tmp_path: Path) -> None:
        address, _, _ = made(tmp_path, **{"gc.enabled": "false"})
        assert "gc.enabled = false" in self.refused(address)

    def test_metadata_that_pyiceberg_does_not_understand(self, tmp_path: Path) -> None:
        address, table, _ = made(tmp_path)
        schema = metadata_of(table)["schemas"][0]
        field = {"id": 9, "name": "shape", "required": False, "type": "sculpture"}
        unknown = {**metadata_of(table), "schemas": [{**schema, "fields": [*schema["fields"], field]}]}
        with pytest.raises(UnsupportedTable, match="pyiceberg cannot read the table"):
            foreign_reader(address.name, unknown, open_iceberg_table(address).storage)
