"""What the pods of a run ask for: memory and processors, out of a policy and of what earlier runs took.

Pure. How many executors there are follows from `contract.executors`. Sizes are in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from lithify.contract.executors import BYTES_PER_SECOND, ExecutorSizing
from lithify.resources.compaction import Compaction
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import SparkTemplate

MIB = 1 << 20

_SLOWEST, _FASTEST = 1 * MIB, 256 * MIB
_LEAST_LEARNED = 10
"""Seconds of work below which a run says little about the next one: files were opened, hardly read."""

EXECUTOR_HEAP = 512 * MIB
"""Data never passes through a JVM, so its heap is about the least that Spark accepts."""
EXECUTOR_JVM = 512 * MIB
"""What an executor's JVM takes in all: it never fills its heap."""
_WORKER = 160 * MIB
"""A Python worker before it has merged anything, with its share of the one that it was forked from."""
_WORKER_SHARE = 1.5
"""What a merge takes of its process for each byte that it may hold: allocators keep what was freed."""
_LEAST_HEAP = 512 * MIB
_HEAP_SHARE = 4
"""A driver's plan is held by Python; its JVM holds the tasks that it hands out."""
_DRIVER_SHARE = 250
"""Millicores that a driver asks for by each of its cores: it plans for a moment and then waits for tasks."""
_EXECUTOR_SHARE = 500
"""Millicores that an executor asks for by each of its cores: it finds room with driver and operator on
a node of two processors. It has no limit, and uses what the node has left."""


def sizing_of(spark: SparkTemplate, bytes_per_second: float | None) -> ExecutorSizing:
    """The sizing that a policy asks for; the speed is what was learned of the table, if anything."""
    executor = spark.executor
    return ExecutorSizing(
        fewest=executor.min_instances,
        most=executor.max_instances,
        cores=executor.cores,
        target_seconds=spark.target_run_seconds,
        bytes_per_second=bytes_per_second or BYTES_PER_SECOND,
        dynamic=spark.dynamic_allocation,
    )


def learned_speed(runs: Iterable[Compaction]) -> float | None:
    """The bytes a second that one task slot got done in the last run of a table; None if no run says that."""
    known = {
        run.status.completion_time: run.status.result
        for run in runs
        if run.status.completion_time is not None
        and run.status.result is not None
        and run.status.result.slot_seconds >= _LEAST_LEARNED
        and run.status.result.input_bytes > 0
    }
    if not known:
        return None
    last = known[max(known)]
    return max(_SLOWEST, min(_FASTEST, last.input_bytes / last.slot_seconds))


def executor_memory(spark: SparkTemplate, factor: float, task: int) -> int:
    """The memory of an executor: what the policy says, and at least room for a task in each slot.

    Args:
        spark: the policy's template.
        factor: by how much memory is raised.
        task: memory of one task's merge, raised.
    """
    asked = int(quantity_bytes(spark.executor.memory) * factor)
    return max(asked, least_executor_memory(spark.executor.cores, task))


def least_executor_memory(cores: int, task: int) -> int:
    """What the JVM and a Python worker in each slot take."""
    return EXECUTOR_JVM + cores * worker_memory(task)


def worker_memory(task: int) -> int:
    """What a Python worker takes whose merge may hold so many bytes; docs/sizing.md has the measurements."""
    return _WORKER + int(_WORKER_SHARE * task)


def driver_memory(spark: SparkTemplate, factor: float) -> int:
    """The memory of the driver's pod."""
    return int(quantity_bytes(spark.driver.memory) * factor)


def driver_cpu_request(cores: int) -> str:
    """The processor time that a driver's pod reserves; it may use all its cores."""
    return f"{cores * _DRIVER_SHARE}m"


def executor_cpu_request(cores: int) -> str:
    """The processor time that an executor's pod reserves by default; it may use what its node has left."""
    return f"{cores * _EXECUTOR_SHARE}m"


def driver_heap(memory: int) -> int:
    """The heap of the driver's JVM, out of its pod's memory; the rest is for Python, which plans."""
    return max(_LEAST_HEAP, memory // _HEAP_SHARE)


def mebibytes(size: int) -> int:
    """A size in whole MiB, rounded up."""
    return -(-size // MIB)
