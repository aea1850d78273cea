"""A data file that manifests list twice, by a fault of another writer, is refused by its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.runner import InlineRunner
from lithify.errors import CorruptTable
from lithify.formats.iceberg.observing.observer import open_observer
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.observing import Filter, ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from support.iceberg_commits import CLOCK
from support.iceberg_tables import SCHEMA, Lakehouse

pytestmark = pytest.mark.thorough


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two partitions with three small files each; one of `a` is listed twice."""
    made, paths = Lakehouse(tmp_path).named_files(lambda number: [number])
    made.add_files(paths[:1], check_duplicate_files=False)
    return made


def run(tmp_path: Path, **selection: Any) -> Report:
    request = Request(
        Lakehouse(tmp_path).address(), Selection(strategy=Strategy.FULL, **selection), max_rounds=2
    )
    return compact(request, InlineRunner(), CLOCK)


def rows(table: Table) -> list[tuple[str, int]]:
    found = table.refresh().scan().to_arrow().to_pydict()
    return sorted(zip(found["name"], found["id"], strict=True))


def test_its_group_is_blocked_by_its_name_and_the_others_are_compacted(table: Table, tmp_path: Path) -> None:
    before = rows(table)
    assert len(before) == 7

    report = run(tmp_path)

    assert [group.group.partition("/")[0] for group in report.groups] == ["name=b"]
    (blocked,) = report.blocked
    assert (blocked.group.partition("/")[0], blocked.is_corrupt) == ("name=a", True)
    assert "a-0.parquet" in blocked.problem
    assert (report.skipped, rows(table)) == ({}, before)
    again = run(tmp_path, held={blocked.group: blocked.fingerprint})
    assert (again.status, again.held) == ("NothingToDo", (blocked.group,))


@pytest.mark.parametrize("partition", [None, "a"], ids=["whole table", "its partition"])
def test_it_is_the_error_of_a_run_without_other_work(
    table: Table, tmp_path: Path, partition: str | None
) -> None:
    run(tmp_path)
    with pytest.raises(CorruptTable) as refused:
        run(tmp_path, partitions=({"name": partition},) if partition else ())
    assert refused.value.path == f"{table.location()}/data/a-0.parquet"


@pytest.mark.parametrize("others_commit", [False, True], ids=["unchanged", "others append"])
def test_it_is_due_until_a_run_has_found_it(table: Table, tmp_path: Path, *, others_commit: bool) -> None:
    address = replace(Lakehouse(tmp_path).address(), overrides={"min-input-files": "2"})
    watch = open_observer(tmp_path / "cache", 1 << 30, CLOCK, 8)
    seen = watch.observe(ObservationRequest(address, "table"))
    assert seen is not None
    blocked = compact(Request(address), InlineRunner(), CLOCK).blocked
    held = {each.group: each.fingerprint for each in blocked}
    if others_commit:
        table.append(pa.table([[9], ["b"]], schema=SCHEMA))
    look = ObservationRequest(address, "table", seen.table_uuid, seen.snapshot)

    found = watch.observe(replace(look, wanted=Filter(Selection(held=held))))

    assert [(each.trigger, each.buckets) for each in seen.findings] == [("FileSizes", 2)]
    assert found is not None
    assert {each.group: each.fingerprint for each in found.blocked} == held
    assert len(held) == 1
    assert [each.bucket for each in found.findings] == (["name=b"] if others_commit else [])
