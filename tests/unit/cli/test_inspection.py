"""The JSON of an inspection, and its picture."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.output import SOME_BLOCKED
from lithify.cli.render_inspection import group_view, inspection_dict, inspection_view, levels_picture
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.inspection import (
    GroupInspection,
    LevelSummary,
    MergeTreeShape,
    TableInspection,
)
from lithify.formats.protocol.model import TriggerVerdict
from support.orders_table import BUCKETS, NAME, copy_of, make_orders, run, without_snapshots
from unit.cli.conftest import Lithify, named
from unit.cli.screen import lines_of, text_of

TRIGGERS = (
    TriggerVerdict("TotalSize", fired=False, detail="the bucket has 91619 bytes"),
    TriggerVerdict("SizeAmplification", fired=False, detail="the limit is 200 %"),
    TriggerVerdict("SortedRuns", fired=True, detail="4 sorted runs, the trigger is 3"),
)
LEVELS = (
    LevelSummary(level=0, runs=2, files=2, bytes=220, rows=20),
    LevelSummary(level=3, runs=1, files=2, bytes=1399, rows=20),
    LevelSummary(level=5, runs=1, files=1, bytes=90_000, rows=10),
)
GROUP = GroupInspection(
    group="dt=1/bucket-3",
    files=5,
    bytes=91_619,
    rows=50,
    small_files=3,
    delete_ratio=0.1,
    triggers=TRIGGERS,
    due="SortedRuns",
    merge_tree=MergeTreeShape(LEVELS, sorted_runs=4),
)
QUIET = replace(GROUP, files=2, due=None)
WITHOUT_LEVELS = replace(GROUP, merge_tree=None)
MARKED = "[red]dt=1[/red]:bug:/bucket-0"


def inspection(*groups: GroupInspection, **changes: Any) -> TableInspection:
    fields: dict[str, Any] = {
        "table": "db.t",
        "snapshot": "7",
        "primary_key": ("id",),
        "partition_keys": ("dt",),
        "unsupported": (),
        "groups": groups,
    }
    return TableInspection(**{**fields, **changes})


class TestJson:
    def test_json_of_a_table_lists_its_figures_and_buckets(self) -> None:
        plain = json.loads(json.dumps(inspection_dict(inspection(GROUP))))
        assert {key: value for key, value in plain.items() if key != "buckets"} == {
            "table": "db.t",
            "snapshot": "7",
            "primary_key": ["id"],
            "partition_keys": ["dt"],
            "unsupported": [],
            "blocked": [],
        }
        assert len(plain["buckets"]) == 1

    def test_json_of_a_bucket_lists_its_levels_and_triggers(self) -> None:
        (plain,) = json.loads(json.dumps(inspection_dict(inspection(GROUP))))["buckets"]
        assert list(plain) == [
            "bucket",
            "levels",
            "sorted_runs",
            "files",
            "bytes",
            "rows",
            "small_files",
            "delete_ratio",
            "triggers",
            "due",
        ]
        assert plain["levels"][0] == {"level": 0, "runs": 2, "files": 2, "bytes": 220, "rows": 20}
        assert [trigger["trigger"] for trigger in plain["triggers"]] == [each.trigger for each in TRIGGERS]
        assert [set(trigger) for trigger in plain["triggers"]] == [{"trigger", "fired", "detail"}] * 3

    def test_of_a_bucket_without_levels_has_the_common_figures_alone(self) -> None:
        plain = inspection_dict(inspection(WITHOUT_LEVELS))["buckets"][0]
        left = inspection_dict(inspection(GROUP))["buckets"][0].keys() - plain.keys()
        assert left == {"levels", "sorted_runs"}


class TestPicture:
    def test_has_a_buckets_numbers(self) -> None:
        title = text_of(group_view(GROUP)).strip().splitlines()[0]
        facts = ["dt=1/bucket-3", "4 sorted runs", "5 files", "89.5Ki", "3 small files", "deletes 10.0%"]
        assert [fact for fact in facts if fact not in title] == []

    def test_does_not_guess_deletes(self) -> None:
        assert "deletes unknown" in text_of(group_view(replace(GROUP, delete_ratio=None)))

    def test_has_a_line_for_each_level(self) -> None:
        lines = [line for line in lines_of(group_view(GROUP)) if line[0] == "level"]
        assert [line[1:3] for line in lines] == [["0", "▇▇"], ["3", "▇▇"], ["5", "▇"]]
        assert lines[0][3:] == ["2", "files,", "220", "B,", "20", "rows"]

    def test_has_a_line_for_each_trigger(self) -> None:
        says = {line[0]: line[1] for line in lines_of(group_view(GROUP)) if line[1] in ("fires", "quiet")}
        assert says == {each.trigger: "fires" if each.fired else "quiet" for each in TRIGGERS}
        details = text_of(group_view(GROUP))
        assert [each.detail for each in TRIGGERS if each.detail not in details] == []

    def test_of_a_bucket_without_levels_has_no_picture_of_them(self) -> None:
        seen = text_of(group_view(WITHOUT_LEVELS))
        assert [word for word in ("level", "▇") if word in seen] == []
        assert "dt=1/bucket-3  5 files, 89.5Ki" in seen

    @pytest.mark.parametrize(
        ("files", "blocks"), [((1, 40), (1, 40)), ((80, 1), (40, 1)), ((4000, 39), (40, 1))]
    )
    def test_of_many_files_stays_in_its_place(self, files: tuple[int, int], blocks: tuple[int, int]) -> None:
        levels = [LevelSummary(level, 1, count, 1, 1) for level, count in enumerate(files)]
        assert [line[2].count("▇") for line in lines_of(levels_picture(levels))] == list(blocks)

    def test_no_levels_are_an_empty_picture(self) -> None:
        assert text_of(levels_picture([])).strip() == ""

    def test_starts_with_the_table(self) -> None:
        headline = text_of(inspection_view(inspection(GROUP, QUIET), 9)).splitlines()[0]
        facts = ["db.t", "snapshot 7", "2 buckets", "7 files", "1 bucket due"]
        assert [fact for fact in facts if fact not in headline] == []

    def test_of_a_table_that_nobody_wrote_to(self) -> None:
        assert "no snapshot yet" in text_of(inspection_view(inspection(snapshot=None), 9))

    def test_says_what_is_unsupported(self) -> None:
        seen = text_of(inspection_view(inspection(unsupported=("file.format = [orc]", "[red]x")), 9))
        assert "file.format = [orc]" in seen
        assert "[red]x" in seen

    @pytest.mark.parametrize(
        ("limit", "shown", "more"),
        [(0, [], "3"), (1, ["c"], "2"), (2, ["c", "a"], "1"), (3, ["c", "a", "b"], "")],
    )
    def test_shows_the_busiest_buckets_first(self, limit: int, shown: list[str], more: str) -> None:
        runs = {"b": 2, "c": 5, "a": 2}
        groups = [
            replace(GROUP, group=name, merge_tree=MergeTreeShape(LEVELS, sorted_runs=count))
            for name, count in runs.items()
        ]
        lines = lines_of(inspection_view(inspection(*groups), limit))
        assert [line[0] for line in lines if line[0] in runs] == shown
        assert [line[2] for line in lines if line[0] == "…"] == ([more] if more else [])

    def test_names_are_not_markup(self) -> None:
        seen = text_of(inspection_view(inspection(replace(GROUP, group=MARKED), table="db.[b]t[/b]:bug:"), 9))
        assert "db.[b]t[/b]:bug:" in seen
        assert MARKED in seen


class TestCommand:
    def test_json_has_everything(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("inspect", *named(orders), "--json").json
        assert (found["table"], found["snapshot"], found["unsupported"]) == (NAME, "3", [])
        assert (found["primary_key"], found["partition_keys"]) == (["order_id"], ["dt"])
        assert [bucket["bucket"] for bucket in found["buckets"]] == BUCKETS
        for bucket in found["buckets"]:
            assert bucket["sorted_runs"] == bucket["files"] == bucket["small_files"] == 3
            assert [(level["level"], level["files"]) for level in bucket["levels"]] == [(0, 3)]
            assert bucket["bytes"] == sum(level["bytes"] for level in bucket["levels"]) > 0
            assert bucket["rows"] == sum(level["rows"] for level in bucket["levels"]) > 0
            assert bucket["due"] is None

    def test_sizes_are_those_of_the_files(self, lithify: Lithify, orders: TableAddress) -> None:
        found = lithify("inspect", *named(orders), "--json").json
        files = Path(orders.warehouse).rglob("bucket-*/data-*")
        assert sum(bucket["bytes"] for bucket in found["buckets"]) == sum(f.stat().st_size for f in files)

    def test_looks_at_what_was_selected(self, lithify: Lithify, orders: TableAddress) -> None:
        words = ["--partition", "dt=2026-01-02", "--bucket", "1", "--json"]
        found = lithify("inspect", *named(orders), *words).json
        assert [bucket["bucket"] for bucket in found["buckets"]] == [BUCKETS[3]]

    def test_several_partitions_are_any_of_them(self, lithify: Lithify, orders: TableAddress) -> None:
        words = ["--partition", "dt=2026%2D01-02", "--partition", "/dt=2026-01-01/", "--json"]
        assert len(lithify("inspect", *named(orders), *words).json["buckets"]) == 4

    def test_options_of_the_run_count(self, lithify: Lithify, orders: TableAddress) -> None:
        words = ["--option", "num-sorted-run.compaction-trigger=1", "--json"]
        found = lithify("inspect", *named(orders), *words).json
        assert all(bucket["due"] for bucket in found["buckets"])

    @pytest.mark.parametrize("words", [[], ["--json"]], ids=["text", "json"])
    def test_missing_file_of_a_bucket_with_work_blocks_it(
        self, lithify: Lithify, orders: TableAddress, tmp_path: Path, words: list[str]
    ) -> None:
        table = copy_of(orders, tmp_path / "warehouse")
        lost = min((tmp_path / "warehouse" / "shop.db" / "orders" / BUCKETS[1]).glob("data-*"))
        lost.unlink()
        ended = lithify("inspect", *named(table), "--option", "num-sorted-run.compaction-trigger=1", *words)
        assert ended.code == SOME_BLOCKED
        assert lost.name in ended.out
        if words:
            found = json.loads(ended.out)
            assert [each["bucket"] for each in found["blocked"]] == [BUCKETS[1]]
            assert [each["bucket"] for each in found["buckets"]] == [BUCKETS[0], *BUCKETS[2:]]

    def test_picture_is_cut_and_json_is_not(self, lithify: Lithify, orders: TableAddress) -> None:
        ended = lithify("inspect", *named(orders), "--limit", "1")
        assert (ended.code, ended.err) == (0, "")
        assert [bucket for bucket in BUCKETS if bucket in ended.out] == BUCKETS[:1]
        assert len(lithify("inspect", *named(orders), "--limit", "1", "--json").json["buckets"]) == 4

    def test_sees_what_a_compaction_did(self, lithify: Lithify, orders: TableAddress, tmp_path: Path) -> None:
        table = copy_of(orders, tmp_path / "warehouse")
        run(table, buckets=frozenset({0}))
        found = lithify("inspect", *named(table), "--json").json
        levels = {
            bucket["bucket"]: [each["level"] for each in bucket["levels"]] for bucket in found["buckets"]
        }
        assert levels == dict(zip(BUCKETS, [[5], [0], [5], [0]], strict=True))

    def test_of_a_table_that_nobody_wrote_to(
        self, lithify: Lithify, orders: TableAddress, tmp_path: Path
    ) -> None:
        table = without_snapshots(orders, tmp_path / "warehouse")
        found = lithify("inspect", *named(table), "--json").json
        assert (found["snapshot"], found["buckets"]) == (None, [])
        assert "no snapshot yet" in lithify("inspect", *named(table)).out

    def test_names_are_not_markup(self, lithify: Lithify, tmp_path: Path) -> None:
        table = make_orders(tmp_path, 1, "shop.[red]orders[bold]")
        ended = lithify("inspect", *named(table))
        assert ended.out.startswith("shop.[red]orders[bold] ")

    def test_commands_without_work_change_no_file(self, lithify: Lithify, orders: TableAddress) -> None:
        before = sorted(Path(orders.warehouse).rglob("*"))
        for command in (["inspect"], ["plan"], ["plan", "--strategy", "full"], ["compact"]):
            assert lithify(*command, *named(orders)).code == 0
        assert sorted(Path(orders.warehouse).rglob("*")) == before
