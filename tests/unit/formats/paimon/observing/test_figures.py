"""What is due in a table and why, what a full compaction takes, and when that changes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pyarrow as pa
import pytest

from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.table_statistics import (
    DueWork,
    blocked_buckets,
    delete_percent,
    size_amplification_percent,
    work_in,
)
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.observing import Filter
from support.cases import case
from support.live_files import live_files
from support.merge_trees import HOUR_MILLIS, MIDNIGHT, MIDNIGHT_MILLIS, SMALL_FILE, file, stack

HOUR_SECONDS = HOUR_MILLIS // 1000
POLICY = MergeTreeOptions(run_trigger=3, size_amplification_percent=10_000, small_file_size=SMALL_FILE)
STEEP = ((0, 1), (0, 10), (0, 100), (5, 10_000))
"""Four runs, each far larger than all before it: only their number is too high."""
CALM = ((0, 10), (5, 10_000))
TOP = ((5, 10_000),)


def bucket(path: str, files: Sequence[DataFile]) -> Bucket:
    partition, _, name = path.rpartition("/")
    return Bucket(BucketId(partition.encode(), int(name.rpartition("-")[2]), path), tuple(files), 4)


def figures(
    buckets: Sequence[Bucket], policy: MergeTreeOptions = POLICY, now: datetime = MIDNIGHT
) -> pa.Table:
    paths = {(each.id.partition, each.id.bucket): each.id for each in buckets}
    partitions = {each.id.partition: each.id.path.rpartition("/")[0] for each in buckets}

    def path_of(partition: bytes, number: int) -> BucketId:
        return paths.get((partition, number)) or BucketId(
            partition, number, f"{partitions[partition]}/bucket-0"
        )

    return Judge(policy, now, pa.Array.to_pylist, path_of, "db.t").figures(live_files(buckets))


def spec_of(partition: bytes) -> dict[str, str]:
    return dict([partition.decode().split("=")]) if partition else {}


def work(
    buckets: Sequence[Bucket],
    policy: MergeTreeOptions = POLICY,
    wanted: Filter = Filter(),  # noqa: B008  # frozen
    now: datetime = MIDNIGHT,
) -> DueWork:
    return work_in(figures(buckets, policy, now), spec_of, wanted, policy, now)


class TestFindings:
    def test_one_finding_a_trigger_and_its_worst_bucket(self) -> None:
        found = work(
            [
                bucket("dt=a/bucket-0", stack(*STEEP)),
                bucket("dt=b/bucket-3", stack((0, 1), (0, 4), *STEEP[1:])),
                bucket("dt=c/bucket-0", stack(*CALM)),
            ]
        )
        (finding,) = found.findings
        assert (finding.trigger, finding.bucket, finding.buckets) == ("SortedRuns", "dt=b/bucket-3", 2)
        assert finding.detail == "bucket 3 of dt=b has 5 sorted runs, due above 3"
        assert finding.bytes == 10_111 + 10_115
        assert finding.files == 4 + 5

    def test_the_trigger_of_most_buckets_comes_first(self) -> None:
        alike = stack((0, 100), (0, 100), (0, 100), (5, 10**6))
        found = work(
            [
                bucket("bucket-0", stack(*STEEP)),
                bucket("bucket-1", alike),
                bucket("bucket-2", alike),
            ]
        )
        assert [(each.trigger, each.buckets) for each in found.findings] == [
            ("SizeRatio", 2),
            ("SortedRuns", 1),
        ]

    @pytest.mark.parametrize(
        ("policy", "runs", "detail"),
        [
            case(POLICY, STEEP, "bucket 7 has 4 sorted runs, due above 3", id="sorted runs"),
            case(
                replace(POLICY, force_level0=True),
                CALM,
                "bucket 7 has 1 level-0 file, compacted as soon as there is one",
                id="forced level 0",
            ),
            case(
                replace(POLICY, size_amplification_percent=1),
                STEEP,
                "in bucket 7, newer runs have 111 B, the oldest has 9.8Ki, the limit is 1 %",
                id="size amplification",
            ),
            case(
                replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
                CALM,
                "in bucket 7, the top level was last written at 2026-03-01 00:00:00 UTC, the interval is 1 h",
                id="interval",
            ),
        ],
    )
    def test_detail_is_a_sentence_that_says_the_same_at_every_look(
        self, policy: MergeTreeOptions, runs: tuple[tuple[int, int], ...], detail: str
    ) -> None:
        for hours in (2, 3):
            found = work([bucket("bucket-7", stack(*runs))], policy, now=MIDNIGHT + timedelta(hours=hours))
            assert [finding.detail for finding in found.findings] == [detail]

    def test_calm_buckets_have_no_findings(self) -> None:
        found = work([bucket("bucket-0", stack(*CALM)), bucket("bucket-1", stack(*TOP))])
        assert (found.findings, found.next_trigger) == ((), None)
        assert found.full_bytes == 10_010, "a bucket that is in the top level needs no full compaction"
        assert (found.partitions_due, found.full_partitions) == ((), ())


class TestFilter:
    BUCKETS = (
        bucket("dt=a/bucket-0", stack(*STEEP)),
        bucket("dt=b/bucket-0", stack(*STEEP)),
        bucket("dt=b/bucket-1", stack(*STEEP)),
        bucket("dt=c/bucket-0", stack(*CALM)),
    )

    def test_only_selected_partitions_count(self) -> None:
        found = work(self.BUCKETS, wanted=Filter(Selection(({"dt": "b"}, {"dt": "c"}))))
        assert [finding.buckets for finding in found.findings] == [2]
        assert found.partitions_due == ({"dt": "b"},)
        assert found.full_partitions == ({"dt": "b"}, {"dt": "c"})

    def test_only_selected_buckets_count(self) -> None:
        files = stack(*STEEP)
        every = [
            bucket("dt=b/bucket-0", files),
            bucket("dt=b/bucket-1", files),
            bucket("dt=c/bucket-1", files),
        ]
        (finding,) = work(every, wanted=Filter(Selection(({"dt": "b"},), frozenset({1})))).findings
        assert (finding.buckets, finding.bucket) == (1, "dt=b/bucket-1")

    def test_a_filter_that_selects_nothing(self) -> None:
        found = work(self.BUCKETS, wanted=Filter(Selection(({"dt": "z"},))))
        assert found == DueWork((), (), (), 0, None)

    def test_lists_of_partitions_are_bounded_and_the_largest_come_first(self) -> None:
        buckets = [
            bucket(f"dt={number:03}/bucket-0", stack(*STEEP[:3], (5, 10_000 + number)))
            for number in range(300)
        ]
        found = work(buckets, wanted=Filter(Selection((dict[str, str](),))))
        assert [len(found.partitions_due), len(found.full_partitions)] == [256, 256]
        assert found.partitions_due[:2] == ({"dt": "299"}, {"dt": "298"})
        assert found.findings[0].buckets == 300

    @pytest.mark.parametrize(
        ("minutes", "idle"), [case(59, [], id="written to lately"), case(60, ["a"], id="just idle")]
    )
    def test_full_compactions_wait_for_a_partition_to_be_idle(self, minutes: int, idle: list[str]) -> None:
        now = MIDNIGHT + timedelta(minutes=minutes)
        older = stack(*TOP, created=MIDNIGHT_MILLIS - HOUR_MILLIS)
        buckets = [bucket("dt=a/bucket-0", stack(*STEEP)), bucket("dt=a/bucket-1", older)]

        found = work(buckets, wanted=Filter(idle_seconds=HOUR_SECONDS), now=now)

        assert [spec["dt"] for spec in found.full_partitions] == idle
        assert found.full_bytes == (10_111 if idle else 0)
        assert found.findings, "minor compactions do not wait"
        assert found.next_trigger == (None if idle else MIDNIGHT + timedelta(hours=1))

    def test_writers_have_their_clocks_in_another_zone(self) -> None:
        """Files say the time on the wall of who wrote them: 10:00 there is 05:00 UTC."""
        zone = timezone(timedelta(hours=5))
        files = stack(*STEEP, created=MIDNIGHT_MILLIS + 10 * HOUR_MILLIS)
        now = (MIDNIGHT + timedelta(hours=5, minutes=30)).astimezone(zone)
        found = work([bucket("dt=a/bucket-0", files)], wanted=Filter(idle_seconds=HOUR_SECONDS), now=now)
        assert found.next_trigger == MIDNIGHT + timedelta(hours=6)


class TestBlocked:
    def test_the_list_is_bounded_but_for_those_that_are_held(self) -> None:
        overlapping = stack((4, 10), (4, 10))
        buckets = [bucket(f"dt=a/bucket-{number}", overlapping) for number in range(300)]
        held = {f"dt=a/bucket-{number}": str(number) for number in (0, 98, 99)}

        found = blocked_buckets(figures(buckets), held)

        names = [each.bucket for each in found]
        assert names == sorted(names)
        assert len(names) == 256 + 2, "one of those that are held is among the first, too"
        assert [each.fingerprint for each in found if each.bucket.endswith(("-98", "-99"))] == ["98", "99"]
        (first, *_) = found
        assert (first.is_corrupt, first.fingerprint) == (True, fingerprint_of([("L4-0", 4), ("L4-1", 4)]))
        assert "L4-" in first.problem

    def test_held_buckets_have_no_work(self) -> None:
        interval = replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS))
        buckets = [bucket("dt=a/bucket-0", stack(*STEEP)), bucket("dt=b/bucket-0", stack(*CALM))]
        every = Selection((dict[str, str](),), held={"dt=a/bucket-0": "1", "dt=b/bucket-0": "2"})
        assert work(buckets, interval, Filter(every)) == DueWork((), (), (), 0, None)
        one, none = (Filter(replace(every, held=held)) for held in ({"dt=a/bucket-0": "1"}, {}))
        assert work(buckets, interval, one) == work(buckets[1:], interval, none)

    def test_a_partition_is_not_idle_while_a_held_bucket_is_written_to(self) -> None:
        older = stack(*CALM, created=MIDNIGHT_MILLIS - HOUR_MILLIS)
        buckets = [bucket("dt=a/bucket-0", stack(*CALM)), bucket("dt=a/bucket-1", older)]
        held = Filter(Selection(held={"dt=a/bucket-0": "1"}), HOUR_SECONDS)
        assert work(buckets, wanted=held).full_partitions == ()


class TestTime:
    INTERVAL = replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS))
    NIGHT = replace(POLICY, off_peak=OffPeak(22, 6, 50))

    def test_an_interval_fires_at_the_time_that_was_told(self) -> None:
        buckets = [bucket("bucket-0", stack(*CALM)), bucket("bucket-1", stack(*TOP))]
        before = work(buckets, self.INTERVAL, now=MIDNIGHT + timedelta(minutes=5))
        assert before.findings == ()
        assert before.next_trigger == MIDNIGHT + timedelta(hours=1, milliseconds=1)

        after = work(buckets, self.INTERVAL, now=before.next_trigger)
        assert [finding.trigger for finding in after.findings] == ["OptimizationInterval"]
        assert after.next_trigger is None

    @pytest.mark.parametrize(
        ("now", "offset", "expected"),
        [
            case(
                datetime(2026, 3, 1, 12, 34, tzinfo=UTC), 0, datetime(2026, 3, 1, 22, tzinfo=UTC), id="begin"
            ),
            case(datetime(2026, 3, 1, 22, tzinfo=UTC), 0, datetime(2026, 3, 2, 6, tzinfo=UTC), id="end"),
            case(
                datetime(2026, 3, 1, 23, tzinfo=UTC), 330, datetime(2026, 3, 2, 0, 30, tzinfo=UTC), id="zone"
            ),
        ],
    )
    def test_off_peak_hours_change_what_a_full_bucket_says(
        self, now: datetime, offset: int, expected: datetime
    ) -> None:
        local = now.astimezone(timezone(timedelta(minutes=offset)))
        assert work([bucket("bucket-0", stack(*STEEP))], self.NIGHT, now=local).next_trigger == expected
        assert work([bucket("bucket-0", stack(*CALM))], self.NIGHT, now=local).next_trigger is None


class TestCounts:
    def test_figures_of_a_bucket_count_its_files_and_runs(self) -> None:
        files = [
            *stack((0, 100), (0, 120), created=MIDNIGHT_MILLIS + 5),
            file("m-0", (0, 9), level=3, size=SMALL_FILE - 1),
            file("m-1", (10, 19), level=3, size=SMALL_FILE),
        ]
        (found,) = figures([bucket("dt=a/bucket-0", files)]).to_pylist()
        assert (found["path"], found["partition_path"]) == ("dt=a/bucket-0", "dt=a")
        assert (found["files"], found["bytes"], found["rows"]) == (4, 219 + 2 * SMALL_FILE, 40)
        assert (found["small_files"], found["level0_files"], found["sorted_runs"]) == (3, 2, 3)
        assert found["created_millis"] == MIDNIGHT_MILLIS + 5

    @pytest.mark.parametrize(
        ("buckets", "percent"),
        [
            case([TOP], 0, id="nothing but the top"),
            case([((0, 10), (4, 15), (5, 10))], 250, id="all below the top counts"),
            case([((0, 10), (3, 20))], 50, id="the top is the highest level that has files"),
            case([((0, 300), (5, 100)), TOP], 2, id="a small bucket weighs little"),
            case([((0, 10), (0, 10))], None, id="nothing above level 0"),
            case([((0, 10**6),), ((0, 10), (5, 10))], 100, id="buckets of level 0 alone do not count"),
            case([((0, 10), (5, 0))], None, id="an empty top"),
            case([((0, 2**60), (5, 1))], 10**9, id="sizes that no table has"),
            case([], None, id="no files"),
        ],
    )
    def test_size_amplification_counts_all_buckets_with_levels(
        self, buckets: list[tuple[tuple[int, int], ...]], percent: int | None
    ) -> None:
        found = [bucket(f"bucket-{number}", stack(*runs)) for number, runs in enumerate(buckets)]
        assert size_amplification_percent(figures(found)) == percent

    @pytest.mark.parametrize(
        ("deletes", "percent"),
        [
            case([[0, 0]], 0, id="none"),
            case([[5, 0], [0]], 16, id="some"),
            case([[10]], 100, id="nothing but deletes"),
            case([[5], [0, None]], None, id="a file without a count"),
            case([], 0, id="no files"),
        ],
    )
    def test_share_of_deletes(self, deletes: list[list[int | None]], percent: int | None) -> None:
        buckets = [
            bucket(f"bucket-{number}", [file(f"f{each}", deletes=count) for each, count in enumerate(counts)])
            for number, counts in enumerate(deletes)
        ]
        assert delete_percent(figures(buckets)) == percent


class TestPostponedRows:
    """Rows without a bucket make a table due at once, and are no merge tree."""

    HELD_BACK = Bucket(BucketId(b"dt=a", -2, "dt=a/bucket-postpone"), tuple(stack((0, 30), (0, 12))), -2)

    def test_any_postponed_file_is_a_finding(self) -> None:
        found = work([self.HELD_BACK, bucket("dt=a/bucket-0", stack(*CALM))])
        (finding,) = found.findings
        assert (finding.trigger, finding.bucket) == ("PostponedFiles", "dt=a/bucket-postpone")
        assert finding.detail == "dt=a has 2 postponed files of 42 B, which readers do not see yet"
        assert (finding.bytes, finding.files) == (42, 2)

    def test_a_full_compaction_would_read_them(self) -> None:
        assert work([self.HELD_BACK]).full_bytes == 42

    def test_their_number_is_no_number_of_sorted_runs(self) -> None:
        found = figures([self.HELD_BACK], replace(POLICY, run_trigger=1))
        assert found["trigger"].to_pylist() == ["PostponedFiles"]
        assert found["path"].to_pylist() == ["dt=a/bucket-postpone"]

    def test_one_that_a_run_could_not_move_is_held(self) -> None:
        print_ = fingerprint_of((file.name, file.level) for file in self.HELD_BACK.files)
        held = Filter(Selection(held={"dt=a/bucket-postpone": print_}))
        assert work([self.HELD_BACK], wanted=held).findings == ()
