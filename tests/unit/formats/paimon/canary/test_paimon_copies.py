"""Copies of Paimon tables: branches that pypaimon reads, and that are dropped with what only they name."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pypaimon import CatalogFactory, Schema

from lithify.clock import Clock, SystemClock
from lithify.engine.run.canary import copy_of, run_of_copy
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.errors import LithifyError, MissingFile, StalePlan, UnsupportedTable
from lithify.formats.paimon.canary.refusals import canary_refusals
from lithify.formats.paimon.canary.table_copies import PaimonCopies
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.strategy import Strategy
from lithify.formats.protocol.tasks import Task
from support.cases import case
from support.small_tables import SmallTable

pytestmark = pytest.mark.thorough

RUN = "run-a"
COPY = copy_of(RUN)


def small(folder: Path, **options: str) -> SmallTable:
    table = SmallTable(folder / "warehouse", options={key.replace("_", "-"): v for key, v in options.items()})
    table.create()
    for start in (0, 5, 10):
        table.append(keys=range(start, start + 20))
    return table


def run(address: TableAddress, **changes: Any) -> Report:
    request = Request(address, Selection(strategy=Strategy.FULL), **{"run": RUN, "canary": True, **changes})
    return compact(request, InlineRunner(), SystemClock(UTC))


def copies(address: TableAddress) -> PaimonCopies:
    return PaimonCopies(open_table(address), address)


def files_of(table: SmallTable) -> set[Path]:
    return {path for path in table.folder.rglob("*") if path.is_file()}


def compacted_copy(table: SmallTable) -> PaimonCopies:
    found = copies(table.address)
    found.make_copy(COPY)
    run(found.address_of(COPY), run=run_of_copy(RUN), canary=False)
    return found


class TestDropping:
    def test_nothing_of_the_copy_stays(self, tmp_path: Path) -> None:
        table = small(tmp_path)
        known = files_of(table)
        found = compacted_copy(table)
        assert files_of(table) > known
        found.drop_copy(COPY, run_of_copy(RUN))
        assert files_of(table) == known
        assert not (table.folder / "branch" / f"branch-{COPY}").exists()

    def test_what_another_branch_names_stays(self, tmp_path: Path) -> None:
        table = small(tmp_path)
        found = compacted_copy(table)
        branches = table.folder / "branch"
        shutil.copytree(branches / f"branch-{COPY}", branches / "branch-evidence")
        needed = {path for path in files_of(table) if "branch" not in path.parts}
        found.drop_copy(COPY, run_of_copy(RUN))
        assert files_of(table) >= needed

    def test_what_a_tag_names_stays(self, tmp_path: Path) -> None:
        table = small(tmp_path)
        found = compacted_copy(table)
        newest = max((table.folder / "branch" / f"branch-{COPY}" / "snapshot").glob("snapshot-*"))
        (table.folder / "tag").mkdir()
        shutil.copy(newest, table.folder / "tag" / "tag-evidence")
        needed = {path for path in files_of(table) if "branch" not in path.parts}
        found.drop_copy(COPY, run_of_copy(RUN))
        assert files_of(table) >= needed

    def test_a_copy_that_never_was_is_no_error(self, tmp_path: Path) -> None:
        table = small(tmp_path)
        known = files_of(table)
        copies(table.address).drop_copy(COPY, run_of_copy(RUN))
        assert files_of(table) == known


class Expiring(InlineRunner):
    """Java's expiry comes while the copy is compacted: it does not know what a branch needs."""

    def __init__(self, table: SmallTable, *, keeps_snapshot: bool = False) -> None:
        self._table = table
        self._keeps_snapshot = keeps_snapshot

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        found = super().run(tasks, clock, progress)
        number = self._table.numbers[-1]
        first = self._table.snapshot(number)
        if not self._keeps_snapshot:
            self._table.append()
            (self._table.folder / "snapshot" / f"snapshot-{number}").unlink()
        (self._table.folder / "manifest" / first["baseManifestList"]).unlink(missing_ok=True)
        return found


@pytest.mark.parametrize(
    ("keeps_snapshot", "kind"),
    [case(False, StalePlan, id="expired: tried again"), case(True, MissingFile, id="lost: corrupt")],
)
def test_metadata_of_the_copy_that_goes_meanwhile(
    tmp_path: Path, keeps_snapshot: bool, kind: type[LithifyError]
) -> None:
    table = small(tmp_path)
    request = Request(table.address, Selection(strategy=Strategy.FULL), run=RUN, canary=True)
    with pytest.raises(kind):
        compact(request, Expiring(table, keeps_snapshot=keeps_snapshot), SystemClock(UTC))
    assert not copies(table.address).has_copy(COPY)


def test_a_copy_of_a_branch_has_the_rows_of_the_branch(tmp_path: Path) -> None:
    table = small(tmp_path)
    found = copies(table.address)
    found.make_copy("audit")
    table.overwrite("a")
    report = run(found.address_of("audit"))
    assert report.canary is not None
    assert report.canary.rows == 60
    assert [path.name for path in (table.folder / "branch").iterdir()] == ["branch-audit"]


def test_both_sides_are_read_with_the_newest_schema(tmp_path: Path) -> None:
    table = small(tmp_path)
    table.set_option("target-file-size", "64 mb")
    report = run(table.address)
    assert report.canary is not None
    assert report.canary.rows == 60


KINDS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("texts", pa.list_(pa.string())),
        ("map", pa.map_(pa.string(), pa.int32())),
        ("row", pa.struct([("x", pa.float64()), ("y", pa.decimal128(20, 4))])),
        ("bytes", pa.binary()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us")),
    ]
)
ROW = {
    "texts": ["a", None],
    "map": [("k", 1)],
    "row": {"x": -0.0, "y": None},
    "bytes": b"\0",
    "day": 1,
    "at": 7,
}


@pytest.mark.parametrize("engine", ["deduplicate", "partial-update"])
def test_rows_of_many_types_are_read(tmp_path: Path, engine: str) -> None:
    catalog = CatalogFactory.create({"warehouse": str(tmp_path)})
    catalog.create_database("db", ignore_if_exists=True)
    options = {"bucket": "1", "write-only": "true", "merge-engine": engine}
    schema = Schema.from_pyarrow_schema(KINDS, primary_keys=["id"], options=options)
    catalog.create_table("db.t", schema, ignore_if_exists=False)
    builder = catalog.get_table("db.t").new_batch_write_builder()
    for number in range(3):
        write, commit = builder.new_write(), builder.new_commit()
        nothing = dict.fromkeys(ROW)
        rows = [{"id": number, **ROW}, {"id": 9, **nothing, "day": number}]
        write.write_arrow(pa.Table.from_pylist(rows, KINDS))
        commit.commit(write.prepare_commit())
    report = run(TableAddress(str(tmp_path), "db.t"))
    assert report.canary is not None
    assert (report.canary.groups, report.canary.rows) == (1, 4)


REFUSED = [
    case({"merge-engine": "first-row"}, "merge-engine = first-row", id="first-row"),
    case({"merge-engine": "aggregation"}, "merge-engine = aggregation", id="aggregation"),
    case(
        {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
        "partial-update.remove-record-on-delete",
        id="deletes of partial updates",
    ),
    case({"ignore-delete": "true"}, "ignore-delete", id="ignored deletes"),
    case({"sequence.snapshot-ordering": "true"}, "sequence.snapshot-ordering", id="order by snapshots"),
    case({"deletion-vectors.enabled": "true"}, "deletion-vectors.enabled", id="deletion vectors"),
    case({"bucket": "-2"}, "bucket = -2", id="postponed buckets"),
    case(
        {"record-level.expire-time": "1 d", "record-level.time-field": "id"},
        "record-level.expire-time",
        id="rows that expire",
    ),
]


@pytest.mark.parametrize(("options", "named"), REFUSED)
def test_tables_that_pypaimon_reads_otherwise_are_refused_by_name(
    tmp_path: Path, options: Mapping[str, str], named: str
) -> None:
    table = SmallTable(tmp_path, options=options)
    table.create()
    known = files_of(table)
    with pytest.raises(UnsupportedTable) as refused:
        run(table.address)
    assert [named in reason for reason in refused.value.reasons] == [True]
    assert files_of(table) == known
    assert run(table.address, canary=False).status == "NothingToDo"


def test_a_plain_table_is_not_refused(tmp_path: Path) -> None:
    assert [*canary_refusals(open_table(small(tmp_path).address))] == []
