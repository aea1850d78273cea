"""One bad bucket does not stop the table: the others are committed, and everybody is told which one it is.

The damage is what was found on real tables: a NaN in a DOUBLE key or sequence field, a data file that is
gone, and one that is cut off. The tables are Java's, and so are the rows before and after.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.engine.run.report import Report
from lithify.engine.run.steps import Commits
from lithify.errors import CommitConflict, CorruptTable, MissingFile, StorageError, UnsupportedTable
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import BlockedGroup, fingerprint_of
from support.cases import case
from support.races import Meanwhile
from support.runs import LITHIFY, run_inline
from support.tables import expire, journals, stray_files

pytestmark = pytest.mark.oracle

COLUMNS = {"dt": "STRING NOT NULL", "k": "DOUBLE NOT NULL", "v": "STRING", "s": "DOUBLE"}
GOOD = ("a-good", "m-good", "z-good")
"""Before, between and after the bad ones."""
BAD = ("b-nan", "c-sequence", "n-lost", "o-cut")
EAGER = {"num-sorted-run.compaction-trigger": "1"}


def rows_of(dt: str, commit: int) -> list[Row]:
    return [
        ["+I", dt, key / 4, f"{commit}-{key}", float(commit)] for key in range(commit * 5, commit * 5 + 20)
    ]


def path_of(dt: str) -> str:
    return f"dt={dt}/bucket-0"


@pytest.fixture
def table(oracle: Oracle, tmp_path: Path) -> Table:
    """Three commits in each partition, and four partitions in which something is wrong."""
    table = Table(tmp_path / "warehouse", "db.t")
    options = {"bucket": "1", "sequence.field": "s", "write-only": "true"}
    keys = {"primary_key": ["dt", "k"], "partition_keys": ["dt"]}
    oracle.create_table(table, COLUMNS, options=options, **keys)
    for commit in range(3):
        oracle.write(table, [row for dt in (*GOOD, *BAD) for row in rows_of(dt, commit)])
    oracle.write(table, [["+I", "b-nan", "NaN", "x", 1.0]])
    oracle.write(table, [["+I", "c-sequence", 0.5, "x", "NaN"]])
    lost_file(table).unlink()
    cut = cut_file(table)
    cut.write_bytes(cut.read_bytes()[:300])
    return table


def lost_file(table: Table) -> Path:
    """The file that is gone, or will be."""
    return _first_file(table, "n-lost")


def cut_file(table: Table) -> Path:
    return _first_file(table, "o-cut")


def _first_file(table: Table, dt: str) -> Path:
    known = table.folder / "first-files.json"
    names: dict[str, str] = json.loads(known.read_text()) if known.exists() else {}
    if dt not in names:
        names[dt] = min(path.name for path in (table.folder / path_of(dt)).glob("data-*"))
        known.write_text(json.dumps(names))
    return table.folder / path_of(dt) / names[dt]


def good_rows(oracle: Oracle, table: Table) -> dict[str, list[Row]]:
    return {dt: oracle.read(table, partition={"dt": dt}) for dt in GOOD}


def levels(oracle: Oracle, table: Table) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for file in oracle.files(table):
        found.setdefault(str(file.partition["dt"]), set()).add(file.level)
    return found


def live_fingerprint(oracle: Oracle, table: Table, dt: str) -> str:
    files = (file for file in oracle.files(table) if file.partition["dt"] == dt)
    return fingerprint_of((file.name, file.level) for file in files)


def blocked_of(report: Report) -> dict[str, BlockedGroup]:
    return {each.group: each for each in report.blocked}


RUNS = [
    case({"full": True}, id="full"),
    case({"full": False, "options": EAGER}, id="minor"),
    case({"full": True, "commits": Commits(most_bytes=1)}, id="a commit for each bucket"),
]


@pytest.mark.parametrize("how", RUNS)
def test_the_others_are_committed(oracle: Oracle, table: Table, how: dict[str, Any]) -> None:
    rows, before = good_rows(oracle, table), levels(oracle, table)

    report = run_inline(table, **how)

    assert report.status == "Compacted"
    assert [group.group for group in report.groups] == [path_of(dt) for dt in GOOD]
    assert report.skipped == {}
    assert sorted(blocked_of(report)) == [path_of(dt) for dt in BAD]
    assert good_rows(oracle, table) == rows
    after = levels(oracle, table)
    assert all(0 not in after[dt] for dt in GOOD)
    assert {dt: after[dt] for dt in BAD} == {dt: before[dt] for dt in BAD}
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_each_is_told_with_its_file_column_and_fingerprint(oracle: Oracle, table: Table) -> None:
    found = blocked_of(run_inline(table))

    nan, sequence, lost, cut = (found[path_of(dt)] for dt in BAD)
    assert [each.is_corrupt for each in (nan, sequence, lost, cut)] == [False, False, True, True]
    for each, words in (
        (nan, ("data-", "column k", "NaN")),
        (sequence, ("data-", "column s", "NaN")),
        (lost, (lost_file(table).name, "does not exist")),
        (cut, (cut_file(table).name, "parquet")),
    ):
        assert [word for word in words if word not in each.problem] == []
    assert {dt: found[path_of(dt)].fingerprint for dt in BAD} == {
        dt: live_fingerprint(oracle, table, dt) for dt in BAD
    }


@pytest.mark.sampled(1, each="dt")
@pytest.mark.parametrize(
    ("dt", "error"),
    [
        case("b-nan", UnsupportedTable, id="NaN in a bound of a key"),
        case("c-sequence", UnsupportedTable, id="NaN in rows"),
        case("n-lost", MissingFile, id="missing file"),
        case("o-cut", CorruptTable, id="file that is cut off"),
    ],
)
@pytest.mark.parametrize("others", ["none", "rest"])
def test_nothing_but_a_bad_bucket_is_its_error(
    oracle: Oracle, table: Table, dt: str, error: type[Exception], others: str
) -> None:
    """Whether or not there are others which have nothing to do."""
    selected = ({"dt": dt}, *([{"dt": "a-good"}] if others == "rest" else []))
    if others == "rest":
        run_inline(table, selection=Selection(({"dt": "a-good"},)))
    snapshots = oracle.snapshots(table)

    with pytest.raises(error) as caught:
        run_inline(table, selection=Selection(selected))

    said = str(caught.value)
    assert [word for word in ("db.t", path_of(dt), "data-") if word not in said] == []
    assert "manifest" not in said
    assert oracle.snapshots(table) == snapshots
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_a_conflict_goes_before_a_bad_bucket(oracle: Oracle, table: Table) -> None:
    """Another attempt may commit the bucket in conflict; the bad one would make it give up."""

    def compact() -> None:
        oracle.compact(table, partitions=[{"dt": "a-good"}])

    with pytest.raises(CommitConflict):
        run_inline(
            table,
            runner=Meanwhile(before=compact),
            selection=Selection(({"dt": "a-good"}, {"dt": "n-lost"})),
            max_rounds=1,
        )


def test_a_file_that_others_compacted_away_is_a_conflict_still(oracle: Oracle, table: Table) -> None:
    def compact() -> None:
        oracle.compact(table, partitions=[{"dt": "a-good"}])
        expire(oracle, table)

    report = run_inline(table, runner=Meanwhile(before=compact))

    assert report.rounds == 2
    assert [group.group for group in report.groups] == [path_of(dt) for dt in GOOD[1:]]
    assert sorted(blocked_of(report)) == [path_of(dt) for dt in BAD]


def test_a_store_that_fails_still_ends_the_run(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(Meanwhile):
        def run(self, *arguments: Any) -> Any:
            raise StorageError("/warehouse", "the disk is gone")

    with pytest.raises(StorageError):
        run_inline(table, runner=Failing())


def test_a_bucket_that_was_bad_before_is_not_tried_again_until_its_files_change(
    oracle: Oracle, table: Table
) -> None:
    first = run_inline(table)
    held = {each.group: each.fingerprint for each in first.blocked}

    second = run_inline(table, selection=Selection(held=held))
    assert (second.status, second.tasks, second.blocked) == ("NothingToDo", 0, ())
    assert second.held == tuple(path_of(dt) for dt in BAD)

    oracle.write(table, rows_of("n-lost", 7))
    with pytest.raises(MissingFile):
        run_inline(table, selection=Selection(held=held))


def test_the_bucket_is_compacted_once_it_is_mended(oracle: Oracle, table: Table) -> None:
    run_inline(table)
    oracle.write(table, rows_of("n-lost", 0), overwrite_partition={"dt": "n-lost"})
    oracle.write(table, rows_of("n-lost", 1))

    report = run_inline(table)

    assert [group.group for group in report.groups] == [path_of("n-lost")]
    assert path_of("n-lost") not in blocked_of(report)
    assert len(oracle.read(table, partition={"dt": "n-lost"})) == 25


def lithify(command: str, table: Table, *words: str) -> subprocess.CompletedProcess[str]:
    named = ["--warehouse", str(table.warehouse), "--table", str(table.name)]
    return subprocess.run([LITHIFY, command, *named, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_inspect_and_plan_show_the_others_and_name_the_bad_ones(table: Table, *, as_json: bool) -> None:
    words = ["--json"] if as_json else []

    inspected = lithify("inspect", table, *words)
    planned = lithify("plan", table, "--strategy", "full", *words)

    assert (inspected.returncode, planned.returncode) == (5, 5)
    for done in (inspected, planned):
        assert [dt for dt in GOOD if path_of(dt) not in done.stdout] == []
        assert (done.stderr, "column k" in done.stdout) == ("", True)
    if as_json:
        # What only rows tell nobody knows before they are read.
        assert [each["bucket"] for each in json.loads(planned.stdout)["blocked"]] == [path_of("b-nan")]
        assert [each["bucket"] for each in json.loads(inspected.stdout)["blocked"]] == [path_of("b-nan")]


@pytest.mark.spark
def test_compact_tells_with_its_exit_code_and_report(table: Table) -> None:
    done = lithify("compact", table, "--strategy", "full", "--master", "local[1]", "--json")

    assert done.returncode == 5
    report = json.loads(done.stdout)
    assert report["status"] == "Compacted"
    assert [each["bucket"] for each in report["buckets"]] == [path_of(dt) for dt in GOOD]
    assert sorted(each["bucket"] for each in report["blocked"]) == [path_of(dt) for dt in BAD]

    alone = lithify("compact", table, "--strategy", "full", "--master", "local[1]", "--partition", "dt=o-cut")
    assert (alone.returncode, alone.stdout) == (1, "")
    assert [word for word in ("db.t", path_of("o-cut"), "data-") if word not in alone.stderr] == []
