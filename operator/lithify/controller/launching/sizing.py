"""Memory and CPU requests of a run's pods, from its policy and from the speed of earlier runs.

Pure. The number of executors follows from `contract.executors`. Sizes are in bytes.
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
"""Seconds of work below which a run's speed says little: it opened files and hardly read them."""

EXECUTOR_HEAP = 512 * MIB
"""Close to the least that Spark accepts: data never passes through a JVM."""
EXECUTOR_JVM = 512 * MIB
"""Total memory of an executor's JVM: it never fills its heap."""
_WORKER = 160 * MIB
"""A Python worker before its first merge, with its share of the process that it was forked from."""
_WORKER_SHARE = 1.5
"""Process memory per byte that a merge may hold: allocators keep freed memory."""
_LEAST_HEAP = 512 * MIB
_HEAP_SHARE = 4
"""Python holds a driver's plan; its JVM holds the tasks that it sends."""
_DRIVER_SHARE = 250
"""Millicores that a driver requests per core: it plans for a moment and then waits for tasks."""
_EXECUTOR_SHARE = 500
"""Millicores that an executor requests per core: so it fits beside driver and operator on a node of two CPUs.
It has no limit, and uses the rest of the node."""


def sizing_of(spark: SparkTemplate, bytes_per_second: float | None) -> ExecutorSizing:
    """The sizing that a policy asks for, with the speed learned from the table, if known."""
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
    """Bytes per second of one task slot in the last run of a table that measured it; None if none did."""
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
    """The memory of an executor: the policy's value, and at least enough for a task in each slot.

    Args:
        spark: the policy's template.
        factor: of raised memory.
        task: memory of one task's merge, raised.
    """
    asked = int(quantity_bytes(spark.executor.memory) * factor)
    return max(asked, least_executor_memory(spark.executor.cores, task))


def least_executor_memory(cores: int, task: int) -> int:
    """Memory of the JVM and of a Python worker in each slot."""
    return EXECUTOR_JVM + cores * worker_memory(task)


def worker_memory(task: int) -> int:
    """Memory of a Python worker whose merge may hold that many bytes; docs/sizing.md has the measurements."""
    return _WORKER + int(_WORKER_SHARE * task)


def driver_memory(spark: SparkTemplate, factor: float) -> int:
    """The memory of the driver's pod."""
    return int(quantity_bytes(spark.driver.memory) * factor)


def driver_cpu_request(cores: int) -> str:
    """CPU request of a driver's pod; it may use all its cores."""
    return f"{cores * _DRIVER_SHARE}m"


def executor_cpu_request(cores: int) -> str:
    """Default CPU request of an executor's pod; it may use the rest of its node."""
    return f"{cores * _EXECUTOR_SHARE}m"


def driver_heap(memory: int) -> int:
    """The heap of the driver's JVM, a part of its pod's memory; the rest is for Python, which plans."""
    return max(_LEAST_HEAP, memory // _HEAP_SHARE)


def mebibytes(size: int) -> int:
    """A size in whole MiB, rounded up."""
    return -(-size // MIB)
