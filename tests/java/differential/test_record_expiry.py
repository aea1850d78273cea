"""Rows that expire: our compaction drops the rows that Java drops, and rewrites the files that Java rewrites.

Times lie far before or far after the moment of the test, so that both compactions see the same rows expired.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.model import Row
from lithify.errors import UnsupportedTable
from support.cases import case
from support.comparing.rounds import compacted_by_both
from support.runs import run_inline
from support.tables import stray_files

pytestmark = pytest.mark.oracle

OLD, AHEAD, ANCIENT = "old", "ahead", "ancient"
EXPIRING = {"record-level.expire-time": "1 d", "record-level.time-field": "t"}
TIMES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "INT": {OLD: (0, -5, 1_600_000_000), AHEAD: (2_000_000_000, 2**31 - 1)},
    "BIGINT": {
        OLD: (0, -(2**63), 1_600_000_000, 1_600_000_000_000),
        AHEAD: (4_000_000_000, 999_999_999_999, 4_000_000_000_000, 2**63 - 1),
    },
    **{
        f"TIMESTAMP({digits}){zone}": {
            OLD: ("1969-12-31T23:59:59", "2001-01-01T00:00:00"),
            AHEAD: ("2120-01-01T00:00:00", "2250-12-31T23:59:59"),
            ANCIENT: ("1900-01-01T00:00:00", "1700-01-01T00:00:00"),
        }
        for digits, zone in ((0, ""), (3, ""), (6, ""), (9, ""), (3, " WITH LOCAL TIME ZONE"))
    },
}
KEYS = 12


@dataclass(frozen=True, slots=True)
class Expiring:
    """A table whose rows expire.

    Attributes:
        kind: type of the column with the time.
        options: more table options.
        commits: the ages of each commit's rows, by turns; None for a null.
        changes: schema changes after all commits.
        compacted: after which commits Java compacts fully, while rows do not expire yet.
        kept: the age from which rows expire.
    """

    kind: str = "BIGINT"
    options: Mapping[str, str] = field(default_factory=dict)
    commits: Sequence[Sequence[str | None]] = ((AHEAD, AHEAD, None), (OLD, AHEAD), (AHEAD, OLD, None, OLD))
    changes: Sequence[Mapping[str, Any]] = ()
    compacted: Sequence[int] = ()
    kept: str = EXPIRING["record-level.expire-time"]

    def make(self, oracle: Oracle, warehouse: Path) -> Table:
        """The table, with the option set last."""
        table = Table(warehouse, "db.t")
        columns = {"id": "INT NOT NULL", "v": "STRING", "t": self.kind}
        oracle.create_table(table, columns, ["id"], options={"bucket": "1", **self.options})
        for number, ages in enumerate(self.commits):
            oracle.write(table, self._rows(number, ages))
            if number in self.compacted:
                oracle.manager_round(table, full=True, commit=True)
        options = {**EXPIRING, "record-level.expire-time": self.kept}
        oracle.alter_table(table, *self.changes, *({"set_option": [*each]} for each in options.items()))
        return table

    def _rows(self, commit: int, ages: Sequence[str | None]) -> list[Row]:
        return [
            ["+I", key, f"{commit}-{key}", self._time(ages[key % len(ages)], key)]
            for key in range(commit, KEYS + commit)
        ]

    def _time(self, age: str | None, key: int) -> Any:
        if age is None:
            return None
        times = TIMES[self.kind][age]
        return times[key % len(times)]


MOVING = {"target-file-size": "1 b", "num-sorted-run.compaction-trigger": "3"}
"""Every file counts as large, so that files without neighbours only change level."""
WIDENED = [
    {"rename_column": ["t", "old_t"]},
    {"rename_column": ["old_t", "t"]},
    {"update_type": ["t", "BIGINT"]},
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "table",
    [
        *(case(Expiring(kind), id=kind) for kind in TIMES),
        case(Expiring(compacted=(2,)), id="all files are at the top level"),
        case(Expiring(compacted=(0, 1, 2), commits=((AHEAD,), (OLD,), (AHEAD,))), id="nothing has expired"),
        case(Expiring(commits=((OLD,), (OLD,)), compacted=(1,)), id="all rows of the top level have expired"),
        case(Expiring(options=MOVING, commits=((OLD,),)), id="a large file does not move up in metadata"),
        case(Expiring(options=MOVING, commits=((AHEAD,),)), id="one without expired rows does"),
        case(Expiring(options={"metadata.stats-mode": "none"}, compacted=(2,)), id="without statistics"),
        case(
            Expiring(options={"metadata.stats-mode": "none", "fields.t.stats-mode": "full"}, compacted=(2,)),
            id="statistics of this column only",
        ),
        case(Expiring("INT", changes=WIDENED, compacted=(2,)), id="the column was renamed and widened"),
        case(
            Expiring(
                changes=[{"add_column": {"name": "first", "type": "INT", "first": True}}], compacted=(2,)
            ),
            id="the column was moved",
        ),
        case(
            Expiring("TIMESTAMP(3)", commits=((ANCIENT, OLD), (ANCIENT, AHEAD)), kept="99999 d"),
            id="rows of centuries are kept for centuries",
        ),
        case(Expiring(options={"file.format": "orc"}, compacted=(2,)), id="ORC"),
        case(Expiring("TIMESTAMP(3)", options={"file.format": "avro"}), id="Avro"),
        case(Expiring(options={"ignore-delete": "true"}), id="deletes are passed over"),
        case(Expiring(options={"sequence.field": "t"}), id="ordered by that time"),
        case(Expiring(options={"merge-engine": "partial-update"}), id="partial update"),
        case(
            Expiring(options={"merge-engine": "partial-update"}, compacted=(1,)), id="partial update on top"
        ),
        case(Expiring(options={"merge-engine": "aggregation"}, compacted=(0,)), id="aggregation"),
        case(Expiring(options={"merge-engine": "first-row"}), id="first row"),
        case(Expiring(options={"merge-engine": "first-row"}, compacted=(0,)), id="first row above others"),
    ],
)
def test_rounds_are_those_that_java_makes(oracle: Oracle, table: Expiring, tmp_path: Path) -> None:
    original = table.make(oracle, tmp_path / "original")
    for full in (False, True):
        ours, java = compacted_by_both(oracle, original, tmp_path, full=full)
        assert oracle.read(ours.table) == oracle.read(java.table)
        assert stray_files(oracle, ours.table) == set()


def test_an_older_row_comes_back_as_in_java(oracle: Oracle, tmp_path: Path) -> None:
    """Rows leave before the merge: what had replaced a row is gone, the row is not."""
    table = Expiring(commits=((AHEAD,), (OLD,))).make(oracle, tmp_path)
    run_inline(table)
    assert sorted(row[1:3] for row in oracle.read(table)) == [[key, f"0-{key}"] for key in range(KEYS)]


@pytest.mark.parametrize(
    ("kind", "field", "told"),
    [
        case("STRING", "t", "it must be INT, BIGINT or TIMESTAMP", id="a text"),
        case("DATE", "t", "it must be INT, BIGINT or TIMESTAMP", id="a date"),
        case("BIGINT", "gone", "no such column", id="a column that is not there"),
    ],
)
def test_what_java_refuses_is_refused(
    oracle: Oracle, kind: str, field: str, told: str, tmp_path: Path
) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(table, {"id": "INT NOT NULL", "t": kind}, ["id"], options={"bucket": "1"})
    oracle.write(table, [["+I", 1, None]])
    changes = [{"set_option": [*each]} for each in {**EXPIRING, "record-level.time-field": field}.items()]
    with pytest.raises(OracleError, match="time field"):
        oracle.alter_table(table, *changes)

    newest = max(table.folder.glob("schema/schema-*"))  # as a writer leaves it that does not look
    stored = json.loads(newest.read_text())
    stored["options"] |= {**EXPIRING, "record-level.time-field": field}
    newest.write_text(json.dumps(stored))
    with pytest.raises(UnsupportedTable, match=told):
        run_inline(table)
