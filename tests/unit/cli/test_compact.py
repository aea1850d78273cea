"""`lithify compact` where there is nothing for Spark to do, and how reports look."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lithify.cli.render_report import report_view
from lithify.engine.run.report import Report
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.results import GroupReport, Totals
from support.orders_table import ALL_THERE, NAME, copy_of, run, without_snapshots
from unit.cli.conftest import Lithify, named
from unit.cli.screen import lines_of, text_of

BUCKET = GroupReport(
    group="dt=1/bucket-0",
    trigger="SortedRuns",
    reason="6 sorted runs, the trigger is 5",
    output_level=4,
    upgraded=2,
    before=Totals(6, 6 << 20, 6000),
    after=Totals(1, 4 << 20, 5000),
    levels_before={0: 8, 5: 1},
    levels_after={4: 3, 5: 1},
)
COMPACTED = Report(
    table="db.t",
    run="run",
    status="Compacted",
    strategy="minor",
    snapshot_before=SnapshotId("7"),
    snapshot_after=SnapshotId("9"),
    rounds=1,
    commit_tries=1,
    groups=(BUCKET,),
    tasks=1,
    core_seconds=2.25,
    peak_task_bytes=256 << 20,
    seconds={"rewrite": 2.0, "commit": 0.5},
)
NOTHING = Report("db.t", "run", "NothingToDo", "minor", snapshot_before=SnapshotId("7"), rounds=1)


def missing(facts: list[str], report: Report) -> list[str]:
    seen = text_of(report_view(report))
    return [fact for fact in facts if fact not in seen]


class TestReport:
    def test_a_bucket_is_one_row_with_its_levels_before_and_after(self) -> None:
        headline, _, bucket, _ = text_of(report_view(COMPACTED)).splitlines()
        facts = [
            "db.t",
            "7 → 9",
            "6 files → 1",
            "6.0Mi → 4.0Mi",
            "6,000 → 5,000 rows",
            "2 files upgraded",
        ]
        assert [fact for fact in facts if fact not in headline] == []
        assert bucket.split() == [
            *("dt=1/bucket-0", "SortedRuns", "6", "→", "1", "6.0Mi", "→", "4.0Mi"),
            *("L0:8", "L5:1", "L4:3", "L5:1"),
        ]

    @pytest.mark.parametrize(
        ("changes", "facts"),
        [
            pytest.param({}, ["1 task,", "2.2 core-seconds", "256.0Mi", "2.0 s", "0.5 s"], id="plain"),
            pytest.param({"tasks": 9, "task_retries": 1}, ["9 tasks (1 retry),"], id="a retry"),
            pytest.param({"tasks": 9, "task_retries": 2}, ["9 tasks (2 retries),"], id="retries"),
            pytest.param({"rounds": 3}, ["3 rounds"], id="rounds"),
        ],
    )
    def test_says_what_it_took(self, changes: dict[str, int], facts: list[str]) -> None:
        assert missing(facts, replace(COMPACTED, **changes)) == []  # type: ignore[arg-type]

    def test_of_a_bucket_that_lost_everything(self) -> None:
        emptied = replace(BUCKET, after=Totals(), levels_after={})
        assert missing(["6 → 0", "empty"], replace(COMPACTED, groups=(emptied,))) == []

    def test_of_buckets_that_were_skipped(self) -> None:
        report = replace(COMPACTED, skipped={"[red]dt=1/bucket-1": "data-[b]0 is no longer in level 0"})
        assert missing(["[red]dt=1/bucket-1", "data-[b]0 is no longer in level 0"], report) == []

    def test_of_many_buckets_is_cut(self) -> None:
        many = tuple(replace(BUCKET, group=f"bucket-{number}") for number in range(27))
        seen = lines_of(report_view(replace(COMPACTED, groups=many)))
        assert sum(line[0].startswith("bucket-") for line in seen) == 20
        assert [line[2] for line in seen if line[0] == "…"] == ["7"]

    def test_of_files_without_levels_says_nothing_of_levels(self) -> None:
        flat = replace(BUCKET, output_level=None, levels_before=None, levels_after=None)
        (line,) = [
            line
            for line in lines_of(report_view(replace(COMPACTED, groups=(flat,))))
            if line[0] == flat.group
        ]
        assert line[-1] == "4.0Mi"

    def test_names_are_not_markup(self) -> None:
        marked = replace(BUCKET, group="[red]dt=1[/red]:bug:/bucket-0")
        report = replace(COMPACTED, table="db.[b]t[/b]", groups=(marked,))
        assert missing(["[red]dt=1[/red]:bug:/bucket-0", "db.[b]t[/b]"], report) == []

    @pytest.mark.parametrize(
        ("report", "facts"),
        [
            pytest.param(
                replace(NOTHING, resting={"no trigger fired": 3, ALL_THERE: 1}),
                ["db.t", "nothing to do", "3 buckets: no trigger fired", f"1 bucket: {ALL_THERE}"],
                id="buckets rest",
            ),
            pytest.param(
                replace(NOTHING, snapshot_before=None, rounds=0),
                ["nothing to do", "no snapshot yet"],
                id="no snapshot",
            ),
            pytest.param(NOTHING, ["nothing to do", "no files"], id="a snapshot without files"),
            pytest.param(
                replace(NOTHING, status="AlreadyCommitted", snapshot_after=SnapshotId("9")),
                ["run run", "snapshot 9 already"],
                id="the run has committed before",
            ),
        ],
    )
    def test_of_nothing_is_a_line(self, report: Report, facts: list[str]) -> None:
        assert missing(facts, report) == []
        assert len(text_of(report_view(report)).splitlines()) == 1

    def test_of_no_files_does_not_speak_of_snapshots(self) -> None:
        assert "snapshot" not in text_of(report_view(NOTHING))


class TestCommand:
    def test_nothing_to_do_as_json(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("compact", *named(orders), "--json", "--run-id", "Nightly-7").json
        assert (found["table"], found["run"], found["strategy"]) == (NAME, "Nightly-7", "minor")
        assert (found["status"], found["snapshot_before"], found["snapshot_after"]) == (
            "NothingToDo",
            "3",
            None,
        )
        assert found["resting"] == {"no trigger fired": 4}

    def test_nothing_to_do_for_people(self, lithify: Lithify, orders: TableAddress) -> None:
        ended = lithify("compact", *named(orders))
        assert (ended.code, ended.err) == (0, "")
        assert "4 buckets: no trigger fired" in ended.out

    def test_settings_are_read_even_where_they_are_not_needed(
        self, lithify: Lithify, orders: TableAddress
    ) -> None:
        words = ["--master", "spark://nowhere:1", "--spark-conf", "spark.a=b=c", "--spark-conf", "spark.d="]
        sizes = ["--task-memory", "64mb", "--task-size", "1gb"]
        assert lithify("compact", *named(orders), *words, *sizes, "--json").json["status"] == "NothingToDo"

    def test_no_snapshot_yet(self, lithify: Lithify, orders: TableAddress, tmp_path: Path) -> None:
        table = without_snapshots(orders, tmp_path / "warehouse")
        found = lithify("compact", *named(table), "--strategy", "full", "--json").json
        assert (found["status"], found["snapshot_before"], found["rounds"]) == ("NothingToDo", None, 0)

    def test_a_run_that_has_committed_is_not_repeated(
        self, lithify: Lithify, orders: TableAddress, tmp_path: Path
    ) -> None:
        table = copy_of(orders, tmp_path / "warehouse")
        run(table, run="r-1")
        words = ["compact", *named(table), "--strategy", "full", "--run-id", "r-1"]
        found = lithify(*words, "--json").json
        assert (found["status"], found["snapshot_after"]) == ("AlreadyCommitted", "4")
        assert "run r-1" in lithify(*words).out
