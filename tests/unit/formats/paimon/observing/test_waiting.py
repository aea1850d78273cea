"""Why files are not compacted yet: each situation that an on-call person asks about has its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.observe.summing import idle_wait
from lithify.engine.pack.options import PackingOptions
from lithify.formats.paimon.model import Bucket, DataFile
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.due_work_clustering import ClusteringJudge
from lithify.formats.paimon.observing.due_work_packing import PackingJudge
from lithify.formats.paimon.observing.table_statistics import selected_buckets, work_in
from lithify.formats.paimon.observing.waiting import Rules, minor_waits
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions, HistoryOptions
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionField, PartitionSpec, PartitionValues
from support.cases import case
from support.live_files import live_files, path_of
from support.merge_trees import HOUR_MILLIS, MIDNIGHT, MIDNIGHT_MILLIS, repeatable, stack
from support.small_files import file, marked

LEVELS = MergeTreeOptions(run_trigger=3, size_amplification_percent=10_000, small_file_size=200)
GENTLE = replace(LEVELS, force_level0=True, level0_trigger=6, level0_millis=HOUR_MILLIS)
LEFT = replace(LEVELS, has_vectors=True, force_level0=True, writers_compact=True)
EVERY_6_HOURS = replace(LEVELS, early_full=EarlyFull(interval_millis=6 * HOUR_MILLIS))
PACKED = PackingOptions(small_file_size=200, min_files=5, delete_ratio=0.2)
ORDERED = replace(PACKED, is_ordered=True, delete_ratio=None)
CLUSTERED = ClusteringOptions(("a",), history=HistoryOptions(24 * HOUR_MILLIS, 5))

Files = Sequence[DataFile]


def figures_of(rules: Rules, files: Sequence[Files], now: datetime) -> pa.Table:
    """The figures of a partition for each sequence of files."""
    fixed = (rules.policy, now, pa.Array.to_pylist, path_of, "db.t")
    judge = Judge(*fixed)
    if rules.clustering is not None:
        judge = ClusteringJudge(*fixed, rules.clustering)
    elif rules.packing is not None:
        judge = PackingJudge(*fixed, rules.packing)
    buckets = [
        Bucket(path_of(f"dt={number}".encode(), 0), tuple(each), 4) for number, each in enumerate(files)
    ]
    return judge.figures(live_files(buckets))


EVERYTHING = Filter()


def values_of(partition: bytes) -> PartitionValues:
    name, text = partition.decode().split("=")
    return PartitionValues(PartitionSpec(0, (PartitionField(name, "STRING", str),)), (text,), (text,))


def waits(
    rules: Rules,
    *files: Files,
    wanted: Filter = EVERYTHING,
    now: datetime = MIDNIGHT,
) -> tuple[str, ...]:
    figures = figures_of(rules, files, now)
    return minor_waits(figures, selected_buckets(figures, values_of, wanted.selection), wanted, rules, now)


def only(*days: str) -> Filter:
    return Filter(Selection(partitions=tuple({"dt": day} for day in days)))


SMALL = (file("a"), file("b"), file("c"))
OLDER = tuple(replace(each, created_millis=MIDNIGHT_MILLIS - HOUR_MILLIS // 2) for each in SMALL)
DUE = stack((0, 1), (0, 10), (0, 100), (5, 10_000))


@pytest.mark.parametrize(
    ("rules", "files", "said"),
    [
        case(
            Rules(LEVELS, PACKED),
            [SMALL, OLDER],
            ["for 1 h", "2 partitions", "2026-03-01 00:30:00 UTC"],
            id="a small remainder is too young",
        ),
        case(Rules(LEVELS, PACKED), [SMALL[:1]], ["alone"], id="a single small file"),
        case(
            Rules(LEVELS, PACKED),
            [[marked(file("a", 900, rows=100), deleted=20), marked(file("b", 900, rows=100), deleted=1)]],
            ["21 deleted rows", "at most 20 %", "full compaction"],
            id="the share of deleted rows is below the threshold",
        ),
        case(
            Rules(LEVELS, ORDERED),
            [SMALL],
            ["5 or more", "side by side"],
            id="files of a bucket keep their order",
        ),
        case(
            Rules(LEVELS, PackingOptions(), CLUSTERED),
            [stack((0, 10), (0, 10)), stack((5, 10))],
            ["1 partition", "for 1 d", "2026-03-02 00:00:00 UTC"],
            id="a clustered partition is not idle",
        ),
        case(
            Rules(GENTLE),
            [stack((0, 10), (0, 10)), stack((0, 10), (5, 100))],
            ["at most 2 level-0 files", "from 6 on", "1 h old", "2026-03-01 01:00:00 UTC"],
            id="a gentle lookup compaction waits",
        ),
        case(
            Rules(EVERY_6_HOURS),
            [stack((0, 10), (5, 100)), stack((5, 100))],
            ["optimization-interval", "1 bucket", "2026-03-01 06:00:00 UTC"],
            id="the interval has not ended",
        ),
        case(
            Rules(LEFT),
            [stack((4, 10), (5, 100))],
            ["1 bucket", "writers", "write-only"],
            id="writers with deletion vectors compact, too",
        ),
        case(
            Rules(LEVELS, writers_count=True),
            [stack((0, 10), (5, 100))],
            ["full-compaction.delta-commits", "writers", "write-only"],
            id="writers count their commits",
        ),
    ],
)
def test_what_files_wait_for(rules: Rules, files: Sequence[Files], said: list[str]) -> None:
    (sentence,) = waits(rules, *files)
    assert [text for text in said if text not in sentence] == []


@pytest.mark.parametrize(
    ("rules", "files"),
    [
        case(Rules(LEVELS), [stack((0, 10), (5, 100))], id="levels by their runs alone"),
        case(Rules(LEVELS, PACKED), [[file("large", 900)]], id="large files"),
        case(Rules(LEVELS, ORDERED), [SMALL[:1]], id="a bucket with one file"),
        case(Rules(LEVELS, PackingOptions(), CLUSTERED), [stack((5, 10))], id="all is in the top level"),
        case(
            Rules(LEVELS, PackingOptions(), replace(CLUSTERED, history=None)),
            [stack((0, 10), (0, 10))],
            id="no option for idle partitions",
        ),
        case(Rules(GENTLE), [stack((5, 100))], id="nothing in level 0"),
        case(Rules(LEFT), [stack((5, 100))], id="nothing to do for writers"),
    ],
)
def test_nothing_is_said_where_files_wait_for_nothing(rules: Rules, files: Sequence[Files]) -> None:
    assert waits(rules, *files) == ()


class TestPartitionsOfThePolicy:
    def test_those_with_work_that_it_leaves_out_are_counted(self) -> None:
        (sentence,) = waits(Rules(LEVELS), DUE, DUE, stack((5, 1)), wanted=only("2"))
        assert "2 partitions outside the policy's partitions" in sentence
        assert sentence.endswith("dt=0")

    def test_that_none_has_files_is_said(self) -> None:
        sentences = waits(Rules(LEVELS), stack((5, 1)), wanted=only("9"))
        assert sentences == ("none of the policy's partitions has files",)

    def test_nothing_is_said_of_those_without_work(self) -> None:
        assert waits(Rules(LEVELS), stack((5, 1)), stack((5, 1)), wanted=only("1")) == ()

    def test_buckets_that_are_held_are_not_among_those_left_out(self) -> None:
        held = Filter(Selection(partitions=({"dt": "1"},), held={"dt=0/bucket-0": "f"}))
        assert waits(Rules(LEVELS), DUE, stack((5, 1)), wanted=held) == ()


class TestFullCompactions:
    def full(self, files: Sequence[Files], idle_seconds: int | None, now: datetime = MIDNIGHT) -> str:
        wanted, rules = Filter(idle_seconds=idle_seconds), Rules(LEVELS, PACKED)
        work = work_in(figures_of(rules, files, now), values_of, wanted, LEVELS, now)
        return idle_wait(wanted, work.busy_partitions, work.idle_from)

    def test_partitions_that_are_not_idle_are_counted(self) -> None:
        sentence = self.full([SMALL, OLDER], 2 * 86400)
        assert "for 2 d (partitionIdleSeconds): 2 other partitions" in sentence
        assert sentence.endswith("2026-03-02 23:30:00 UTC")

    def test_nothing_is_said_when_all_are_idle_or_need_not_be(self) -> None:
        assert self.full([SMALL], 60, MIDNIGHT + timedelta(minutes=2)) == self.full([SMALL], None) == ""


@repeatable
@given(st.integers(0, HOUR_MILLIS // 1000 - 1), st.integers(0, 999_999))
def test_sentences_stay_the_same_while_nothing_changes(seconds: int, micros: int) -> None:
    """Otherwise each look would write the status."""
    later = MIDNIGHT + timedelta(seconds=seconds, microseconds=micros)
    clustered = Rules(LEVELS, PackingOptions(), CLUSTERED)
    for rules, files in (
        (Rules(LEVELS, PACKED), SMALL),
        (Rules(GENTLE), stack((0, 1), (5, 9))),
        (clustered, SMALL),
    ):
        assert waits(rules, files, now=later) == waits(rules, files)
    assert TestFullCompactions().full([SMALL], 86400, later) == TestFullCompactions().full([SMALL], 86400)
