"""Small remainders of append tables: batch compactions of Java never touch them, ours do in the end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Table
from lithify.formats.protocol.observation import Observation
from lithify.formats.protocol.observing import ObservationRequest
from lithify.formats.registry import open_observer
from support.runs import ShiftedClock, request, run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

HOURS = timedelta(hours=2)


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Two partitions of three small files, and one of a single file."""
    table = Table(tmp_path / "warehouse", "db.t")
    oracle.create_table(table, {"id": "INT", "dt": "STRING"}, partition_keys=["dt"])
    for number in range(3):
        oracle.write(table, [["+I", number, "a"], ["+I", number, "b"]])
    oracle.write(table, [["+I", 9, "c"]])
    return table


def seen(table: Table, folder: Path, shift: timedelta, **options: str) -> Observation:
    address = request(table, options=options).table
    watch = open_observer("paimon", folder, 1 << 20, ShiftedClock(shift), 8)
    found = watch.observe(ObservationRequest(address, "table"))
    assert found is not None
    return found


def test_they_are_joined_when_the_newest_is_old(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    rows = oracle.read(table)
    java = copy_of(table, tmp_path / "java")
    oracle.compact(java)
    assert len(oracle.files(java)) == 7, "Java leaves them"

    young = seen(table, tmp_path / "young", timedelta())
    assert young.findings == ()
    assert young.next_trigger is not None
    assert run_inline(table, full=False).status == "NothingToDo"

    old = seen(table, tmp_path / "old", HOURS)
    (finding,) = old.findings
    assert (finding.trigger, finding.buckets, old.next_trigger) == ("OldSmallFiles", 2, None)
    report = run_inline(table, full=False, shift=HOURS)

    assert [group.trigger for group in report.groups] == ["OldSmallFiles"] * 2
    assert sorted(file.rows for file in oracle.files(table)) == [1, 3, 3]
    assert oracle.read(table) == rows
    assert run_inline(table, full=False, shift=2 * HOURS).status == "NothingToDo"
    assert stray_files(oracle, table) == set()


@pytest.mark.parametrize("is_stored", [True, False], ids=["the table says so", "the policy says so"])
def test_the_age_can_be_another(oracle: Oracle, table: Table, tmp_path: Path, *, is_stored: bool) -> None:
    age = {"lithify.small-file-age": "3 h"}
    if is_stored:
        oracle.alter_table(table, *({"set_option": [name, value]} for name, value in age.items()))
    given = {} if is_stored else age
    assert run_inline(table, full=False, shift=HOURS, options=given).status == "NothingToDo"
    assert seen(table, tmp_path / "young", HOURS, **given).findings == ()
    (finding,) = seen(table, tmp_path / "old", 2 * HOURS, **given).findings
    assert "none has come for 3 h" in finding.detail
    assert run_inline(table, full=False, shift=2 * HOURS, options=given).status == "Compacted"


def test_a_full_compaction_takes_them_at_once(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)
    assert run_inline(table, full=True).status == "Compacted"
    assert sorted(file.rows for file in oracle.files(table)) == [1, 3, 3]
    assert oracle.read(table) == rows
