"""What became of a unit, in numbers; and the JSON of a report, which machines rely on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest

from lithify.engine.run.report import Report
from lithify.formats.paimon.compaction.plan import BucketPlan
from lithify.formats.paimon.compaction.reporting import bucket_report, totals
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.model import BucketId, DataFile
from lithify.formats.paimon.planning.details import (
    LEVELS_AFTER,
    LEVELS_BEFORE,
    REACHED_LEVEL,
    REPORTED,
    UPGRADED,
)
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.protocol.details import Detail, as_fields
from lithify.formats.protocol.model import BlockedGroup, SnapshotId
from lithify.formats.protocol.results import GroupReport, Slot, TaskOutputs, Totals, slots_of
from lithify.formats.protocol.strategy import Strategy
from support.manifests import file_meta
from support.merge_trees import MIDNIGHT, SMALL_FILE, bucket_of, file, stack

POLICY = MergeTreeOptions(run_trigger=3, small_file_size=SMALL_FILE)


def unit_of(files: Sequence[DataFile], strategy: Strategy = Strategy.FULL) -> Unit:
    unit = plan_bucket(bucket_of(files), POLICY, strategy, MIDNIGHT)
    assert isinstance(unit, Unit)
    return unit


def new_files(*sizes: int) -> list[FileMeta]:
    return [file_meta(f"new-{number}", 5, size=size, rows=4) for number, size in enumerate(sizes)]


def report_of(unit: Unit, added: Sequence[FileMeta]) -> GroupReport:
    return bucket_report(unit, TaskOutputs(data=tuple(added)), unit.levels)


def details(report: GroupReport) -> dict[str, Any]:
    return as_fields(report.details)


def levels(report: GroupReport) -> tuple[Any, Any]:
    found = details(report)
    return found["levels_before"], found["levels_after"]


class TestGroupReport:
    def test_names_bucket_trigger_and_reason(self) -> None:
        unit = unit_of(stack((0, 100), (0, 100), (5, 900)), Strategy.MINOR)
        report = report_of(unit, new_files(70))
        assert (report.group, details(report)["output_level"]) == ("dt=1/bucket-3", unit.output_level)
        assert (report.trigger, report.reason) == (unit.verdict.trigger, unit.verdict.detail)

    def test_counts_what_was_rewritten_and_what_it_became(self) -> None:
        report = report_of(unit_of(stack((0, 100), (0, 200), (5, 900))), new_files(500, 550))
        assert report.before == Totals(files=3, bytes=1200, rows=30)
        assert report.after == Totals(files=2, bytes=1050, rows=8)
        assert levels(report) == ({0: 2, 5: 1}, {5: 2})

    def test_files_that_only_change_level_are_not_rewritten(self) -> None:
        apart = [
            file("small", (0, 9)),
            file("too", (5, 9)),
            file("lone", (20, 29), level=3, size=SMALL_FILE),
        ]
        report = report_of(unit_of(apart), new_files(150))
        assert details(report)["upgraded"] == 1
        assert report.before == Totals(files=2, bytes=200, rows=20)
        assert levels(report) == ({0: 2, 3: 1}, {5: 2})

    def test_files_that_stay_where_they_are_still_count(self) -> None:
        apart = [
            file("a", (0, 9)),
            file("b", (5, 9)),
            file("stays", (20, 29), level=5, size=SMALL_FILE),
        ]
        report = report_of(unit_of(apart), new_files(150))
        assert (details(report)["upgraded"], report.before.files) == (0, 2)
        assert levels(report) == ({0: 2, 5: 1}, {5: 2})

    def test_runs_below_the_pick_stay(self) -> None:
        files = stack((0, 100), (0, 100), (0, 100), (4, 5_000), (5, 100_000))
        report = report_of(unit_of(files, Strategy.MINOR), new_files(280))
        reached = details(report)["output_level"]
        assert levels(report) == ({0: 3, 4: 1, 5: 1}, {reached: 1, 4: 1, 5: 1})

    def test_nothing_is_left_when_everything_was_deleted(self) -> None:
        report = report_of(unit_of(stack((0, 100), (0, 100))), [])
        assert report.after == Totals()
        assert levels(report) == ({0: 2}, {})


def test_totals_add_up() -> None:
    assert Totals(1, 10, 100) + Totals(2, 20, 200) + Totals() == Totals(3, 30, 300)


def test_totals_of_files_of_either_kind() -> None:
    assert totals([file("a", size=7), file_meta("b", size=8, rows=1)]) == Totals(2, 15, 11)
    assert totals([]) == Totals()


def test_resting_counts_by_reason() -> None:
    reasons = ["no trigger fired", "the bucket is empty", "no trigger fired"]
    rests = [Idle(BucketId(b"", n, f"bucket-{n}"), why) for n, why in enumerate(reasons)]
    view: Any = None
    assert BucketPlan(view, (), tuple(rests)).resting == {"no trigger fired": 2, "the bucket is empty": 1}
    assert BucketPlan(view, (), ()).resting == {}


def bucket(name: str, *, upgraded: int = 0, before: int = 3, after: int = 1) -> GroupReport:
    return GroupReport(
        group=name,
        trigger="Full",
        reason="a full compaction was asked for",
        before=Totals(before, before * 100, before * 10),
        after=Totals(after, after * 100, after * 10),
        details=(
            Detail(REACHED_LEVEL, 5),
            Detail(UPGRADED, upgraded),
            Detail(LEVELS_BEFORE, {0: before}),
            Detail(LEVELS_AFTER, {5: after + upgraded}),
        ),
        other_files=slots_of(changelog=Totals(1, 50, 20), index=Totals()),
    )


NOTHING = Report(
    "db.t",
    "run",
    "NothingToDo",
    "minor",
    snapshot_before=SnapshotId("7"),
    rounds=1,
    resting={"quiet": 4},
    reported=REPORTED,
    noun="bucket",
)
COMPACTED = Report(
    table="db.t",
    run="run",
    status="Compacted",
    strategy="full",
    snapshot_before=SnapshotId("7"),
    snapshot_after=SnapshotId("9"),
    rounds=2,
    commit_tries=3,
    groups=(bucket("dt=1/bucket-0"), bucket("dt=1/bucket-1", upgraded=2, before=5)),
    skipped={"dt=1/bucket-2": "data-0 is no longer in level 0"},
    blocked=(BlockedGroup("dt=1/bucket-3", True, "data-1: it cannot be read", "0011"),),
    held=("dt=1/bucket-4",),
    resting={"quiet": 4},
    tasks=6,
    task_retries=1,
    core_seconds=2.5,
    peak_task_bytes=1 << 28,
    seconds={"plan": 0.1, "rewrite": 2.0},
    orphans_deleted=2,
    uncleaned=("tag-x cannot be read",),
    reported=REPORTED,
    noun="bucket",
)


class TestReport:
    def test_sums_up_its_buckets(self) -> None:
        assert COMPACTED.before == Totals(8, 800, 80)
        assert COMPACTED.after == Totals(2, 200, 20)
        assert COMPACTED.totals == {"upgraded": 2}
        assert COMPACTED.other_files == {Slot.CHANGELOG: Totals(2, 100, 40)}
        assert (NOTHING.before, NOTHING.after, NOTHING.totals) == (Totals(), Totals(), {"upgraded": 0})

    def test_of_a_format_without_details_has_none(self) -> None:
        plain = replace(NOTHING, reported=())
        assert plain.totals == {}
        assert NOTHING.to_dict().keys() - plain.to_dict().keys() == {"upgraded"}

    @pytest.mark.parametrize("report", [NOTHING, COMPACTED], ids=["nothing to do", "compacted"])
    def test_json_has_the_same_fields_whatever_happened(self, report: Report) -> None:
        assert list(report.to_dict()) == [
            "table",
            "run",
            "status",
            "strategy",
            "snapshot_before",
            "snapshot_after",
            "rounds",
            "commits",
            "commit_tries",
            "to_come",
            "buckets",
            "skipped",
            "blocked",
            "held",
            "resting",
            "tasks",
            "task_retries",
            "task_seconds",
            "core_seconds",
            "slot_seconds",
            "peak_task_bytes",
            "seconds",
            "orphans_deleted",
            "uncleaned",
            "canary",
            "before",
            "after",
            "other_files",
            "copied_bytes",
            "upgraded",
        ]

    def test_json_of_a_bucket(self) -> None:
        plain = json.loads(json.dumps(COMPACTED.to_dict()))
        assert plain["buckets"][1] == {
            "bucket": "dt=1/bucket-1",
            "trigger": "Full",
            "reason": "a full compaction was asked for",
            "output_level": 5,
            "upgraded": 2,
            "before": {"files": 5, "bytes": 500, "rows": 50},
            "after": {"files": 1, "bytes": 100, "rows": 10},
            "levels_before": {"0": 5},
            "levels_after": {"5": 3},
            "other_files": {"changelog_files": {"files": 1, "bytes": 50, "rows": 20}},
            "copied_bytes": 0,
        }

    def test_json_holds_everything_that_the_report_does(self) -> None:
        plain = json.loads(json.dumps(COMPACTED.to_dict()))
        for field in fields(Report):
            if field.name not in ("groups", "blocked", "reported", "noun"):
                value = getattr(COMPACTED, field.name)
                assert plain[field.name] == (list(value) if isinstance(value, tuple) else value)
        assert [each["bucket"] for each in plain["buckets"]] == ["dt=1/bucket-0", "dt=1/bucket-1"]
        assert plain["blocked"] == [
            {
                "bucket": "dt=1/bucket-3",
                "is_corrupt": True,
                "problem": "data-1: it cannot be read",
                "fingerprint": "0011",
            }
        ]
        assert (plain["before"]["files"], plain["after"]["rows"], plain["upgraded"]) == (8, 20, 2)
