"""What an inspection counts, its JSON, and its picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lithify.cli.inspection import BucketInspection, Inspection, LevelSummary, inspect_bucket
from lithify.cli.render_inspection import bucket_view, inspection_view, levels_picture
from lithify.planning.merge_tree.policy import EarlyFull, MergeTreeOptions
from lithify.tables.format import TableAddress
from lithify.tables.model import DataFile
from unit.cli.conftest import Lithify, named
from unit.cli.screen import lines_of, text_of
from unit.job.orders import BUCKETS, NAME, copy_of, make_orders, run, without_snapshots
from unit.planning.trees import MIDNIGHT, SMALL_FILE, bucket_of, file, stack

POLICY = MergeTreeOptions(run_trigger=3, small_file_size=SMALL_FILE)
ALL_TRIGGERS = replace(
    POLICY,
    early_full=EarlyFull(interval_millis=1, total_size=1, incremental_size=1),
    force_level0=True,
)
EARLY = ["OptimizationInterval", "TotalSize", "IncrementalSize"]
ALWAYS = ["SizeAmplification", "SizeRatio", "SortedRuns"]
FILES = (
    *stack((0, 100), (0, 120), deletes=2),
    file("m-0", (0, 9), level=3, size=SMALL_FILE - 1, deletes=1),
    file("m-1", (10, 19), level=3, size=SMALL_FILE),
    file("top", (0, 99), level=5, size=90_000),
)
MARKED = "[red]dt=1[/red]:bug:/bucket-0"


def inspected(files: Sequence[DataFile] = FILES, policy: MergeTreeOptions = POLICY) -> BucketInspection:
    return inspect_bucket(bucket_of(files), policy, MIDNIGHT)


class TestBucket:
    def test_levels_are_summed_up(self) -> None:
        assert inspected().levels == (
            LevelSummary(level=0, runs=2, files=2, bytes=220, rows=20),
            LevelSummary(level=3, runs=1, files=2, bytes=2 * SMALL_FILE - 1, rows=20),
            LevelSummary(level=5, runs=1, files=1, bytes=90_000, rows=10),
        )

    def test_counts(self) -> None:
        bucket = inspected()
        assert bucket.bucket == "dt=1/bucket-3"
        assert (bucket.sorted_runs, bucket.files, bucket.rows) == (4, 5, 50)
        assert bucket.bytes == 220 + 2 * SMALL_FILE - 1 + 90_000

    def test_small_files_are_those_below_the_limit(self) -> None:
        assert inspected().small_files == 3

    @pytest.mark.parametrize(
        ("deletes", "ratio"),
        [
            pytest.param([0, 0], 0.0, id="none"),
            pytest.param([5, 0], 0.25, id="some"),
            pytest.param([10, 10], 1.0, id="nothing but deletes"),
            pytest.param([5, None], None, id="a file without a count"),
            pytest.param([], 0.0, id="no files"),
        ],
    )
    def test_share_of_deletes(self, deletes: list[int | None], ratio: float | None) -> None:
        files = [file(f"f{number}", deletes=count) for number, count in enumerate(deletes)]
        assert inspected(files).delete_ratio == ratio

    def test_every_trigger_that_is_switched_on_has_its_say(self) -> None:
        def triggers(policy: MergeTreeOptions) -> list[str]:
            return [verdict.trigger.value for verdict in inspected(policy=policy).triggers]

        assert triggers(POLICY) == ALWAYS
        assert triggers(ALL_TRIGGERS) == [*EARLY, *ALWAYS, "ForcedLevel0"]

    @pytest.mark.parametrize(
        ("files", "due"),
        [
            pytest.param(FILES, "SortedRuns", id="more runs than the trigger"),
            pytest.param(stack((0, 1), (5, 900)), None, id="none fires"),
            pytest.param(stack((0, 900), (0, 900), (5, 900)), "SizeRatio", id="similar sizes"),
            pytest.param(
                stack((0, 900), (0, 1000), (5, 900)), "SizeAmplification", id="newer runs weigh more"
            ),
            pytest.param((), None, id="no files"),
        ],
    )
    def test_due_names_the_trigger_of_a_minor_compaction(
        self, files: Sequence[DataFile], due: str | None
    ) -> None:
        bucket = inspected(files)
        assert bucket.due == due
        fired = [verdict.trigger.value for verdict in bucket.triggers if verdict.fired]
        assert fired[:1] == ([due] if due else [])


def inspection(*buckets: BucketInspection, **changes: Any) -> Inspection:
    fields: dict[str, Any] = {
        "table": "db.t",
        "snapshot": "7",
        "primary_key": ("id",),
        "partition_keys": ("dt",),
        "unsupported": (),
        "buckets": buckets,
    }
    return Inspection(**{**fields, **changes})


class TestJson:
    def test_of_a_table(self) -> None:
        plain = json.loads(json.dumps(inspection(inspected()).to_dict()))
        assert {key: value for key, value in plain.items() if key != "buckets"} == {
            "table": "db.t",
            "snapshot": "7",
            "primary_key": ["id"],
            "partition_keys": ["dt"],
            "unsupported": [],
            "blocked": [],
        }
        assert len(plain["buckets"]) == 1

    def test_of_a_bucket(self) -> None:
        (plain,) = json.loads(json.dumps(inspection(inspected()).to_dict()))["buckets"]
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
        assert [trigger["trigger"] for trigger in plain["triggers"]] == ALWAYS
        assert [set(trigger) for trigger in plain["triggers"]] == [{"trigger", "fired", "detail"}] * 3


class TestPicture:
    def test_has_a_buckets_numbers(self) -> None:
        title = text_of(bucket_view(inspected())).strip().splitlines()[0]
        facts = ["dt=1/bucket-3", "4 sorted runs", "5 files", "89.5 KiB", "3 small files", "deletes 10.0%"]
        assert [fact for fact in facts if fact not in title] == []

    def test_does_not_guess_deletes(self) -> None:
        assert "deletes unknown" in text_of(bucket_view(inspected(stack((0, 100), deletes=None))))

    def test_has_a_line_for_each_level(self) -> None:
        lines = [line for line in lines_of(bucket_view(inspected())) if line[0] == "level"]
        assert [line[1:3] for line in lines] == [["0", "▇▇"], ["3", "▇▇"], ["5", "▇"]]
        assert lines[0][3:] == ["2", "files,", "220", "B,", "20", "rows"]

    def test_has_a_line_for_each_trigger(self) -> None:
        bucket = inspected(policy=ALL_TRIGGERS)
        says = {line[0]: line[1] for line in lines_of(bucket_view(bucket)) if line[1] in ("fires", "quiet")}
        assert says == {
            verdict.trigger.value: "fires" if verdict.fired else "quiet" for verdict in bucket.triggers
        }
        details = text_of(bucket_view(bucket))
        assert [verdict.detail for verdict in bucket.triggers if verdict.detail not in details] == []

    @pytest.mark.parametrize(
        ("files", "blocks"), [((1, 40), (1, 40)), ((80, 1), (40, 1)), ((4000, 39), (40, 1))]
    )
    def test_of_many_files_stays_in_its_place(self, files: tuple[int, int], blocks: tuple[int, int]) -> None:
        levels = [LevelSummary(level, 1, count, 1, 1) for level, count in enumerate(files)]
        assert [line[2].count("▇") for line in lines_of(levels_picture(levels))] == list(blocks)

    def test_of_nothing(self) -> None:
        assert text_of(levels_picture([])).strip() == ""

    def test_starts_with_the_table(self) -> None:
        quiet = inspected(stack((0, 1), (5, 900)))
        headline = text_of(inspection_view(inspection(inspected(), quiet), 9)).splitlines()[0]
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
        buckets = [replace(inspected(stack(*[(0, 9)] * n)), bucket=name) for name, n in runs.items()]
        lines = lines_of(inspection_view(inspection(*buckets), limit))
        assert [line[0] for line in lines if line[0] in runs] == shown
        assert [line[2] for line in lines if line[0] == "…"] == ([more] if more else [])

    def test_names_are_not_markup(self) -> None:
        seen = text_of(
            inspection_view(inspection(replace(inspected(), bucket=MARKED), table="db.[b]t[/b]:bug:"), 9)
        )
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

    def test_changes_nothing(self, lithify: Lithify, orders: TableAddress) -> None:
        before = sorted(Path(orders.warehouse).rglob("*"))
        for command in (["inspect"], ["plan"], ["plan", "--strategy", "full"], ["compact"]):
            assert lithify(*command, *named(orders)).code == 0
        assert sorted(Path(orders.warehouse).rglob("*")) == before
