"""What became of attempts at Iceberg tables, what they left behind, and what a run has committed."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lithify.engine.attempts.attempt import Attempt
from lithify.engine.attempts.clean_up import Fate
from lithify.errors import CommitUnknown, CorruptTable
from lithify.formats.iceberg.attempts.past_runs import find_run, groups_of, snapshots_of
from lithify.formats.iceberg.attempts.remains import IcebergRemains
from lithify.formats.iceberg.attempts.scope import IcebergAttempt, Scope, Scopes, journal_of
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.snapshots import ROLLBACKABLE
from lithify.formats.iceberg.table.table import IcebergTable
from support.cases import case
from support.iceberg_commits import Planned, commit, plan, rewritten, view_of
from support.iceberg_tables import NAME, Lakehouse, metadata_of, rows, with_fields

pytestmark = pytest.mark.thorough


NOW = datetime(2026, 11, 25, tzinfo=UTC)


@pytest.fixture
def lakehouse(tmp_path: Path) -> Lakehouse:
    found = Lakehouse(tmp_path)
    table = found.table()
    for number in range(3):
        table.append(rows(2 * number, 2 * number + 1))
    return found


def begun(planned: Planned) -> IcebergAttempt:
    """An attempt that has written its journal."""
    inputs = {"g": tuple(file.path for file in planned.files)}
    scope = Scope(planned.start.snapshot, planned.start.sequence, "main", inputs)
    return journal_of(planned.table).begin("run", scope, NOW)


def strays_of(table: IcebergTable, attempt: IcebergAttempt) -> list[Path]:
    """Files that an attempt has left in both folders, written here."""
    folder = Path(table.metadata.location.removeprefix("file://"))
    paths = [
        folder / "data" / f"{attempt.prefix}000-0.parquet",
        folder / "metadata" / f"{attempt.prefix}-m0.avro",
    ]
    for path in paths:
        path.write_bytes(b"x")
    return paths


class TestFate:
    def test_an_attempt_whose_base_is_in_the_history_is_harmless(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        lakehouse.catalog().load_table(NAME).append(rows(9))
        remains = IcebergRemains(planned.table)
        assert remains.fate_of(attempt) is Fate.HARMLESS
        assert not remains.has_lost_every_unit(attempt)

    def test_an_attempt_in_a_summary_has_committed(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        commit(planned, rewritten(planned, planned.files), notes={"lithify.attempt": attempt.prefix})
        remains = IcebergRemains(planned.table)
        assert remains.fate_of(attempt) is Fate.COMMITTED
        assert remains.has_lost_every_unit(attempt)

    @pytest.mark.parametrize("marks", [case({name: value}, id=name) for name, value in ROLLBACKABLE.items()])
    def test_inputs_that_a_catalog_may_bring_back_are_not_lost(
        self, lakehouse: Lakehouse, marks: dict[str, str]
    ) -> None:
        """A server removes the marked snapshot in favour of the attempt's own late commit."""
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        commit(planned, rewritten(planned, planned.files), notes=marks)
        remains = IcebergRemains(planned.table)
        assert not remains.has_lost_every_unit(attempt)

        lakehouse.catalog().load_table(NAME).append(rows(9))

        assert remains.has_lost_every_unit(attempt)

    def test_an_attempt_whose_base_is_expired_is_unknown(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        table = lakehouse.catalog().load_table(NAME)
        table.append(rows(9))
        table.maintenance.expire_snapshots().by_id(planned.start.snapshot).commit()
        assert IcebergRemains(planned.table).fate_of(attempt) is Fate.UNKNOWN


class TestSweep:
    def test_deletes_what_nothing_references_and_nothing_else(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        strays = strays_of(planned.table, attempt)
        before = {path for path in Path(lakehouse.warehouse).rglob("*") if path.is_file()} - {*strays}
        assert IcebergRemains(planned.table).sweep(attempt) == 2
        assert {path for path in Path(lakehouse.warehouse).rglob("*") if path.is_file()} == before

    def test_keeps_referenced_files_however_their_folder_is_spelt(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        commit(planned, change)
        name = change.outputs[0].path.rpartition("/")[2]
        scope = Scope(planned.start.snapshot, planned.start.sequence, "main", {})
        attempt = Attempt("run", 1, name[:24], NOW.isoformat(), scope)
        table = lakehouse.catalog().load_table(NAME)
        with_fields(table, {"location": metadata_of(table)["location"].replace("file://", "file:")})

        opened = open_iceberg_table(lakehouse.address())

        assert opened.metadata.location.startswith("file:/")
        assert not opened.metadata.location.startswith("file://")
        assert IcebergRemains(opened).sweep(attempt) == 0
        assert len(view_of(opened).data) == 1

    def test_deletes_files_that_have_the_prefix_within_their_names(self, lakehouse: Lakehouse) -> None:
        """Names of keyed tables begin with a node."""
        planned = plan(lakehouse.address())
        attempt, other = begun(planned), "00000000-0000-4000-8000-"
        folder = Path(planned.table.metadata.location.removeprefix("file://")) / "data"
        mine, foreign = (folder / f"4-B-7-00000-0-{each}-00001.parquet" for each in (attempt.prefix, other))
        for path in (mine, foreign):
            path.write_bytes(b"x")

        assert IcebergRemains(planned.table).sweep(attempt) == 1

        assert (mine.exists(), foreign.exists()) == (False, True)

    @pytest.mark.parametrize("field", ["statistics", "partition-statistics"])
    def test_keeps_files_of_statistics(self, lakehouse: Lakehouse, field: str) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        data, _ = strays_of(planned.table, attempt)
        entry = {"snapshot-id": planned.start.snapshot, "statistics-path": f"file://{data}"}
        with_fields(lakehouse.catalog().load_table(NAME), {field: [entry]})

        assert IcebergRemains(open_iceberg_table(lakehouse.address())).sweep(attempt) == 1

        assert data.exists()

    def test_a_journal_that_names_a_late_sequence_number_endangers_no_live_file(
        self, lakehouse: Lakehouse
    ) -> None:
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        commit(planned, change)
        prefix = change.outputs[0].path.rpartition("/")[2][:24]
        scope = Scope(planned.start.snapshot, (1 << 63) - 1, "main", {"g": ("gone.parquet",)})
        attempt = Attempt("run", 1, prefix, NOW.isoformat(), scope)
        stray = Path(change.outputs[0].path.removeprefix("file://")).with_name(f"{prefix}stray.parquet")
        stray.write_bytes(b"x")

        assert IcebergRemains(planned.table).sweep(attempt) == 1

        assert Path(change.outputs[0].path.removeprefix("file://")).exists()
        assert not stray.exists()

    def test_a_step_reads_no_manifest_from_before_it_when_it_sweeps_its_own_files(
        self, lakehouse: Lakehouse
    ) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        strays = strays_of(planned.table, attempt)
        for manifest in view_of(planned.table).manifests:
            Path(manifest.path.removeprefix("file://")).unlink()

        assert IcebergRemains(planned.table).sweep_own(attempt) == len(strays)

    def test_deletes_nothing_if_a_manifest_cannot_be_read(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        attempt = begun(planned)
        strays = strays_of(planned.table, attempt)
        lakehouse.catalog().load_table(NAME).append(rows(9))
        newest = view_of(planned.table).manifests[0].path
        Path(newest.removeprefix("file://")).write_bytes(b"damaged")
        with pytest.raises(CorruptTable):
            IcebergRemains(planned.table).sweep(attempt)
        assert all(path.exists() for path in strays)


class TestPastRuns:
    def test_a_run_is_found_by_its_id_with_its_figures(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        change = rewritten(planned, planned.files)
        outcome = commit(planned, change, run="run-7", notes={"lithify.groups": '["g/1"]'})
        found = find_run(planned.table, "run-7")
        assert found is not None
        assert (found.snapshot, found.input_files, found.output_files) == (outcome.snapshot, 3, 1)
        assert (found.input_bytes, found.is_complete) == (sum(file.size for file in change.inputs), True)
        assert [*groups_of(snapshots_of(planned.table.refresh(), "run-7"))] == ["g/1"]
        assert find_run(planned.table, "run-8") is None

    def test_a_run_with_groups_to_come_is_not_complete(self, lakehouse: Lakehouse) -> None:
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files), notes={"lithify.to-come": "3"})
        found = find_run(planned.table, "run")
        assert found is not None
        assert not found.is_complete

    def test_expired_snapshots_may_have_been_of_the_run(self, lakehouse: Lakehouse) -> None:
        table = lakehouse.catalog().load_table(NAME)
        for entry in table.history()[:-1]:
            table.maintenance.expire_snapshots().by_id(entry.snapshot_id).commit()
        opened = open_iceberg_table(lakehouse.address())
        with pytest.raises(CommitUnknown):
            find_run(opened, "run", datetime.now(UTC) - timedelta(hours=1))
        assert find_run(opened, "run", datetime.now(UTC) + timedelta(days=1)) is None

    @pytest.mark.parametrize("listed", ["", "{", "7", '{"a": 1}', "[1, null]"])
    def test_summaries_of_others_are_no_groups(self, lakehouse: Lakehouse, listed: str) -> None:
        planned = plan(lakehouse.address())
        commit(planned, rewritten(planned, planned.files), notes={"lithify.groups": listed})
        assert [*groups_of(snapshots_of(planned.table.refresh(), "run"))] == []


class TestScope:
    SCOPE = Scope(10**18, 5, "main", {"g=a/1": ("s3://bucket/t/data/x.parquet",)})

    def test_survives_its_journal(self) -> None:
        text = json.dumps(Scopes().to_json(self.SCOPE))
        assert Scopes().parse(json.loads(text)) == self.SCOPE

    @pytest.mark.parametrize(
        "changed",
        [
            case({"base": -2}, id="base"),
            case({"sequence": "5"}, id="sequence"),
            case({"branch": "../x"}, id="branch"),
            case({"inputs": []}, id="no groups"),
            case({"inputs": {"g": "x"}}, id="no list"),
            case({"inputs": {"g": [7]}}, id="no location"),
            case({"inputs": {"g": ["x" * 9000]}}, id="too long"),
        ],
    )
    def test_forged_ones_are_refused(self, changed: dict[str, Any]) -> None:
        stored = json.loads(json.dumps(Scopes().to_json(self.SCOPE)))
        with pytest.raises(ValueError, match=r"is|has"):
            Scopes().parse({**stored, **changed})
