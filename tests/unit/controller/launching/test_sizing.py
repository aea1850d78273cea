"""How many executors a run gets, and how memory is shared out."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.contract.executors import BYTES_PER_SECOND, ExecutorSizing, executor_conf, executor_count
from lithify.controller.launching.sizing import MIB, driver_heap, learned_speed, sizing_of
from lithify.resources.compaction import Compaction, CompactionSpec, CompactionStatus, ResultSummary
from lithify.resources.objects import Metadata, Reference
from lithify.resources.spark_template import ExecutorPods, SparkTemplate
from support.cases import case

GIB = 1 << 30


def sizing(**changes: Any) -> ExecutorSizing:
    """Ten executors at most; a slot does 1 GiB in the time that is aimed at."""
    usual = {"fewest": 2, "most": 10, "cores": 1, "target_seconds": 64, "bytes_per_second": 16.0 * MIB}
    return ExecutorSizing(**{**usual, **changes})


@pytest.mark.parametrize(
    ("changes", "planned", "tasks", "count"),
    [
        case({}, 0, None, 2, id="unknown"),
        case({}, GIB, None, 2, id="little"),
        case({}, 5 * GIB, None, 5, id="so much a slot"),
        case({}, 5 * GIB + 1, None, 6, id="and a byte"),
        case({"cores": 4}, 12 * GIB, None, 3, id="slots of larger executors"),
        case({}, 1 << 50, None, 10, id="much"),
        case({"target_seconds": 640}, 50 * GIB, None, 5, id="more time"),
        case({"bytes_per_second": 32.0 * MIB}, 10 * GIB, None, 5, id="faster slots"),
        case({}, 8 * GIB, 100, 8, id="tasks enough"),
        case({}, 8 * GIB, 3, 3, id="few tasks"),
        case({"cores": 4}, 80 * GIB, 9, 3, id="few tasks for larger executors"),
        case({}, 0, 1, 1, id="one task is never done by two"),
        case({}, 0, 0, 1, id="never none"),
    ],
)
def test_as_many_executors_as_the_time_aimed_at_calls_for(
    changes: dict[str, Any], planned: int, tasks: int | None, count: int
) -> None:
    assert executor_count(sizing(**changes), planned, tasks) == count


@settings(deadline=None)
@given(
    planned=st.integers(0, 1 << 60),
    more=st.integers(0, 1 << 50),
    cores=st.integers(1, 64),
    fewest=st.integers(1, 100),
    span=st.integers(0, 1000),
    tasks=st.none() | st.integers(1, 100_000),
)
def test_more_bytes_never_get_fewer_executors_and_bounds_hold(
    planned: int, more: int, cores: int, fewest: int, span: int, tasks: int | None
) -> None:
    bounds = sizing(cores=cores, fewest=fewest, most=fewest + span)
    count = executor_count(bounds, planned, tasks)
    assert 1 <= count <= executor_count(bounds, planned + more, tasks) <= fewest + span
    if tasks is None:
        assert count >= fewest
    else:
        assert (count - 1) * cores < tasks


@pytest.mark.parametrize(
    ("dynamic", "tasks", "conf"),
    [
        case(False, None, {"instances": "4"}, id="fixed"),
        case(True, None, {"instances": "4", "min": "2", "initial": "4", "max": "10"}, id="dynamic"),
        case(True, 3, {"instances": "3", "min": "2", "initial": "3", "max": "3"}, id="few tasks"),
        case(True, 1, {"instances": "1", "min": "1", "initial": "1", "max": "1"}, id="one task"),
    ],
)
def test_executors_are_counted_in_the_settings_of_spark(
    dynamic: bool, tasks: int | None, conf: dict[str, str]
) -> None:
    expected = {"spark.executor.instances": conf["instances"]}
    if dynamic:
        expected |= {
            "spark.dynamicAllocation.enabled": "true",
            "spark.dynamicAllocation.shuffleTracking.enabled": "true",
            **{f"spark.dynamicAllocation.{name}Executors": conf[name] for name in ("min", "initial", "max")},
        }
    assert executor_conf(sizing(dynamic=dynamic), 4 * GIB, tasks) == expected


def run(minute: int | None = None, read: int = GIB, seconds: int = 64) -> Compaction:
    """A run that ended in some minute, or has not."""
    ended = None if minute is None else datetime(2026, 5, 4, 12, minute, tzinfo=UTC)
    result = ResultSummary(input_bytes=read, slot_seconds=seconds)
    return Compaction(
        metadata=Metadata(name=f"orders-{minute}", namespace="shop"),
        spec=CompactionSpec(table_ref=Reference(name="orders")),
        status=CompactionStatus(completion_time=ended, result=None if minute is None else result),
    )


@pytest.mark.parametrize(
    ("runs", "speed"),
    [
        case([], None, id="no run"),
        case([run()], None, id="not over"),
        case([run(1, read=0)], None, id="nothing done"),
        case([run(1, seconds=9)], None, id="too short to say"),
        case([run(1, seconds=0)], None, id="known from the table only"),
        case([run(1)], 16 * MIB, id="as it was"),
        case([run(2, seconds=128), run(1)], 8 * MIB, id="the last one counts"),
        case([run(2, seconds=1), run(1)], 16 * MIB, id="the last one that says something"),
        case([run(1, read=1, seconds=999)], 1 * MIB, id="stuck for once"),
        case([run(1, read=1 << 50, seconds=10)], 256 * MIB, id="beyond belief"),
    ],
)
def test_speed_is_learned_from_the_last_run(runs: list[Compaction], speed: float | None) -> None:
    assert learned_speed(runs) == speed


def test_policy_says_what_to_aim_at() -> None:
    spark = SparkTemplate(
        executor=ExecutorPods(min_instances=2, max_instances=7, cores=3),
        target_run_seconds=120,
        dynamic_allocation=True,
    )
    expected = ExecutorSizing(fewest=2, most=7, cores=3, target_seconds=120, dynamic=True)
    assert sizing_of(spark, None) == expected
    assert (expected.bytes_per_second, sizing_of(spark, 5.0).bytes_per_second) == (BYTES_PER_SECOND, 5.0)


@settings(deadline=None)
@given(st.integers(768 * MIB, 1 << 45))
def test_drivers_keep_room_for_python(memory: int) -> None:
    assert 512 * MIB <= driver_heap(memory) <= memory - 256 * MIB
