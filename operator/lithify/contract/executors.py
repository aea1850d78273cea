"""Computes the number of executors of a run, and the Spark settings for it.

Pure. The operator uses it with the size that it expects a run to read; the driver uses it again with the
planned size, before executors are started. Sizes are in bytes.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.resources.modelling import part

BYTES_PER_SECOND = 16 << 20
"""Default throughput of one task slot (read, merge, write), until a table's own is known. In
docs/benchmarks.md one core writes twice as much to a local disk; object stores and wide rows take longer."""


@part()
class ExecutorSizing:
    """Parameters of the number of executors.

    Attributes:
        fewest: minimum number of executors.
        most: maximum number of executors.
        cores: task slots of each executor.
        target_seconds: target duration of a run.
        bytes_per_second: throughput of one task slot.
        dynamic: whether idle executors end.
    """

    fewest: int
    most: int
    cores: int
    target_seconds: int
    bytes_per_second: float = BYTES_PER_SECOND
    dynamic: bool = False


def executor_count(sizing: ExecutorSizing, planned: int, tasks: int | None = None) -> int:
    """The number of executors that processes the planned bytes in about the target time.

    Args:
        sizing: bounds and speed.
        planned: bytes to read; 0 if unknown.
        tasks: number of tasks; None if unknown. No more executors are started than the tasks can keep busy,
            even if the policy asks for more.
    """
    slots = -int(-planned // (sizing.bytes_per_second * sizing.target_seconds))
    wanted = max(sizing.fewest, min(sizing.most, -(-slots // sizing.cores)))
    return wanted if tasks is None else max(1, min(wanted, -(-tasks // sizing.cores)))


def executor_conf(sizing: ExecutorSizing, planned: int, tasks: int | None = None) -> dict[str, str]:
    """The Spark settings for the number of executors."""
    count = executor_count(sizing, planned, tasks)
    conf = {"spark.executor.instances": str(count)}
    if not sizing.dynamic:
        return conf
    most = executor_count(replace(sizing, fewest=sizing.most), planned, tasks)
    return conf | {
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": str(min(sizing.fewest, count)),
        "spark.dynamicAllocation.initialExecutors": str(count),
        "spark.dynamicAllocation.maxExecutors": str(most),
    }
