"""What an inspection counts in a bucket, and what its triggers say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.buckets.statistics import level_statistics
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull
from lithify.formats.paimon.primary_key.inspecting import inspector
from lithify.formats.protocol.inspection import GroupInspection
from support.live_files import files_of_one, live_files
from support.merge_trees import MIDNIGHT, SMALL_FILE, bucket_of, file, random_files, repeatable, stack

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


def inspected(files: Sequence[DataFile] = FILES, policy: MergeTreeOptions = POLICY) -> GroupInspection:
    return inspector(files_of_one(files), policy, MIDNIGHT)(bucket_of(files))


def test_levels_are_summed_up() -> None:
    tree = inspected().blocks["mergeTree"]
    assert tree.figures == {"sorted_runs": 4}
    assert tree.parts == (
        {"level": 0, "runs": 2, "files": 2, "bytes": 220, "rows": 20},
        {"level": 3, "runs": 1, "files": 2, "bytes": 2 * SMALL_FILE - 1, "rows": 20},
        {"level": 5, "runs": 1, "files": 1, "bytes": 90_000, "rows": 10},
    )


def test_files_rows_and_bytes_of_a_bucket_are_counted() -> None:
    bucket = inspected()
    assert (bucket.group, bucket.files, bucket.rows) == ("dt=1/bucket-3", 5, 50)
    assert bucket.bytes == 220 + 2 * SMALL_FILE - 1 + 90_000


def test_small_files_are_those_below_the_limit() -> None:
    assert inspected().small_files == 3


@pytest.mark.parametrize(
    ("deletes", "ratio"),
    [
        pytest.param([0, 0], 0.0, id="none"),
        pytest.param([5, 0], 0.25, id="some"),
        pytest.param([10, 10], 1.0, id="nothing but deletes"),
        pytest.param([5, None], None, id="a file without a count"),
    ],
)
def test_share_of_deletes(deletes: list[int | None], ratio: float | None) -> None:
    files = [file(f"f{number}", deletes=count) for number, count in enumerate(deletes)]
    assert inspected(files).delete_ratio == ratio


def test_every_trigger_that_is_switched_on_has_its_say() -> None:
    def triggers(policy: MergeTreeOptions) -> list[str]:
        return [each.trigger for each in inspected(policy=policy).triggers]

    assert triggers(POLICY) == ALWAYS
    assert triggers(ALL_TRIGGERS) == [*EARLY, *ALWAYS, "ForcedLevel0"]


@pytest.mark.parametrize(
    ("files", "due"),
    [
        pytest.param(FILES, "SortedRuns", id="more runs than the trigger"),
        pytest.param(stack((0, 1), (5, 900)), None, id="none fires"),
        pytest.param(stack((0, 900), (0, 900), (5, 900)), "SizeRatio", id="similar sizes"),
        pytest.param(stack((0, 900), (0, 1000), (5, 900)), "SizeAmplification", id="newer runs weigh more"),
    ],
)
def test_due_names_the_trigger_of_a_minor_compaction(files: Sequence[DataFile], due: str | None) -> None:
    bucket = inspected(files)
    assert bucket.due == due
    fired = [each.trigger for each in bucket.triggers if each.fired]
    assert fired[:1] == ([due] if due else [])


@repeatable
@given(st.randoms(use_true_random=False))
def test_counts_of_every_bucket_are_those_of_its_files(rng: Random) -> None:
    buckets = [
        Bucket(BucketId(partition, number, f"{partition.hex()}/bucket-{number}"), random_files(rng), 4)
        for partition in (b"p", b"q")
        for number in range(2)
    ]
    files = live_files(buckets)
    shuffled = files.take(rng.sample(range(len(files)), len(files)))
    inspect = inspector(shuffled, POLICY, MIDNIGHT)
    for bucket in buckets:
        found, runs = inspect(bucket), build_levels(bucket.files, POLICY.num_levels).runs
        assert (found.files, found.bytes, found.rows) == (
            len(bucket.files),
            bucket.size,
            10 * len(bucket.files),
        )
        assert found.blocks["mergeTree"].figures == {"sorted_runs": len(runs)}
        of_levels = {level: [run for run in runs if run.level == level] for level in {r.level for r in runs}}
        assert found.blocks["mergeTree"].parts == tuple(
            {
                "level": level,
                "runs": len(of_level),
                "files": sum(len(run.files) for run in of_level),
                "bytes": sum(run.size for run in of_level),
                "rows": sum(each.rows for run in of_level for each in run.files),
            }
            for level, of_level in sorted(of_levels.items())
        )


def test_of_nothing_there_are_no_levels() -> None:
    assert level_statistics(files_of_one(())).num_rows == 0
