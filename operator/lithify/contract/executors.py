"""How many executors a run gets: what it follows from, and what Spark is told of it.

Pure. Used by the operator for what it expects a run to read, and by the driver again for what it has planned,
before executors are started. Sizes are in bytes.
"""

from __future__ import annotations

from dataclasses import replace

from lithify.resources.modelling import part

BYTES_PER_SECOND = 16 << 20
"""What one task slot reads, merges and writes as long as nothing better is known of a table. In
docs/benchmarks.md one core writes twice as much to a local disk; object stores and wide rows take longer."""


@part()
class ExecutorSizing:
    """What the number of executors follows from.

    Attributes:
        fewest: executors.
        most: executors.
        cores: task slots of each.
        target_seconds: about how long a run should take.
        bytes_per_second: what one task slot gets done.
        dynamic: whether executors end when they find nothing to do any more.
    """

    fewest: int
    most: int
    cores: int
    target_seconds: int
    bytes_per_second: float = BYTES_PER_SECOND
    dynamic: bool = False


def executor_count(sizing: ExecutorSizing, planned: int, tasks: int | None = None) -> int:
    """How many executors get so many bytes done in about the time that is aimed at.

    Args:
        sizing: bounds and speed.
        planned: bytes to read; 0 if unknown.
        tasks: into how many tasks they are cut, None if unknown. No more executors are started than these can
            keep busy, even if the policy asks for more.
    """
    slots = -int(-planned // (sizing.bytes_per_second * sizing.target_seconds))
    wanted = max(sizing.fewest, min(sizing.most, -(-slots // sizing.cores)))
    return wanted if tasks is None else max(1, min(wanted, -(-tasks // sizing.cores)))


def executor_conf(sizing: ExecutorSizing, planned: int, tasks: int | None = None) -> dict[str, str]:
    """The Spark settings that say how many executors there are."""
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
