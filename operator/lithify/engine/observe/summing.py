"""What summaries of observed tables say of all groups together, in any format. Pure.

Called by adapters, with the figures of a table's groups.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of, moment_text, seconds_text
from lithify.clock import moment_of
from lithify.columns.column_groups import flagged, integers
from lithify.formats.protocol.observing import Filter

MOST_PARTITIONS = 256
"""Partitions that an observation lists, the largest first."""


def total(figures: pa.Table, name: str) -> int:
    """The sum of a figure."""
    return int(integers(figures[name]).sum())


def most(figures: pa.Table, name: str, groups: str) -> tuple[int, str | None]:
    """The maximum of a figure, and the first group that has it, by the column `groups`."""
    numbers = integers(figures[name])
    if not len(numbers):
        return 0, None
    row = int(np.argmax(numbers))
    return int(numbers[row]), figures[groups][row].as_py()


def by_idleness(figures: pa.Table, wanted: Filter, now: datetime) -> tuple[pa.Table, pa.Table]:
    """The groups that a full compaction takes, and those that were written to lately, by `millis`."""
    if wanted.idle_seconds is None:
        return figures, figures.slice(0, 0)
    limit = (now - timedelta(seconds=wanted.idle_seconds)).timestamp() * 1000
    is_idle = integers(figures["millis"]) <= limit
    return flagged(figures, is_idle), flagged(figures, ~is_idle)


def first_idle(busy: pa.Table, wanted: Filter) -> datetime | None:
    """When the first of the groups that were written to lately is idle; None if there is none."""
    if not len(busy) or wanted.idle_seconds is None:
        return None
    return moment_of(int(integers(busy["millis"]).min())) + timedelta(seconds=wanted.idle_seconds)


def idle_wait(wanted: Filter, busy: int, until: datetime | None) -> str:
    """What a full compaction waits for; empty if it takes all partitions.

    Args:
        wanted: the filter.
        busy: number of partitions that it leaves out because they are not idle.
        until: when the first of them is idle; None if there is none.
    """
    if until is None or wanted.idle_seconds is None:
        return ""
    return (
        f"a full compaction takes only partitions without writes for {seconds_text(wanted.idle_seconds)} "
        f"(partitionIdleSeconds): {count_of(busy, 'other partition')}, the first until {moment_text(until)}"
    )
