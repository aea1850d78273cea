"""What summaries of observed tables say of all groups together, in any format. Pure.

Called by adapters, with the figures of a table's groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.amounts import count_of, moment_text, seconds_text
from lithify.clock import epoch_millis, moment_of
from lithify.columns.column_groups import flagged, integers, listed, taken, whole
from lithify.formats.protocol.model import TriggerVerdict
from lithify.formats.protocol.observation import Finding, OtherCompactor
from lithify.formats.protocol.observing import Filter
from lithify.formats.protocol.partition import PartitionFilter, PartitionValues

COMPACTOR_WINDOW = timedelta(days=2)
"""How long a compaction by others tells of the next one: more than a day, so that a nightly job is always
named."""

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


def selected(
    figures: pa.Table, wanted: PartitionFilter, values_of: Callable[[str], PartitionValues | None]
) -> pa.Table:
    """The figures of the partitions that a filter selects.

    Args:
        figures: figures with the column `group`.
        wanted: the filter.
        values_of: the partition of a group; None for a group that is none, which only a filter for all takes.
    """
    if wanted.selects_all:
        return figures
    found = (values_of(group) for group in listed(figures["group"]))
    chosen = [each is not None and wanted.selects(each) for each in found]
    return flagged(figures, np.array(chosen, dtype=bool))


def largest(
    figures: pa.Table, values_of: Callable[[str], PartitionValues | None]
) -> tuple[Mapping[str, str], ...]:
    """The partitions of some groups by their `bytes`, largest first; see `selected` for the arguments."""
    order = np.argsort(-integers(figures["bytes"]), kind="stable")
    groups = listed(taken(figures.select(["group"]), order[: MOST_PARTITIONS + 1])["group"])
    found = (values_of(group) for group in groups)  # at most one group is no partition
    return tuple(each.by_name for each in found if each is not None and each.by_name)[:MOST_PARTITIONS]


def findings(
    due: pa.Table,
    verdicts: Callable[[Mapping[str, Any]], Sequence[TriggerVerdict]],
    path_of: Callable[[str], str],
    size: str,
) -> tuple[Finding, ...]:
    """One finding per trigger, of the groups for which it is the most telling one; the largest first.

    Args:
        due: the figures of due groups, with the columns `group` and `due_files`.
        verdicts: the verdict of each trigger on a group, the most telling first, given its row.
        path_of: the path of a group for people.
        size: the column with the bytes that count.
    """
    found: dict[str, list[tuple[Mapping[str, Any], str]]] = {}
    for row in due.to_pylist():
        fired = next((each for each in verdicts(row) if each.fired), None)
        if fired is not None:
            found.setdefault(str(fired.trigger), []).append((row, fired.detail))
    every = (_finding(trigger, rows, path_of, size) for trigger, rows in found.items())
    return tuple(sorted(every, key=lambda each: (-each.bytes, each.trigger)))


def _finding(
    trigger: str, rows: Sequence[tuple[Mapping[str, Any], str]], path_of: Callable[[str], str], size: str
) -> Finding:
    first, detail = max(rows, key=lambda each: each[0][size])
    return Finding(
        trigger=trigger,
        bucket=path_of(first["group"]),
        detail=detail,
        buckets=len(rows),
        bytes=sum(row[size] for row, _ in rows),
        files=sum(row["due_files"] for row, _ in rows),
    )


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


def forgotten_at(others: Iterable[OtherCompactor], now: datetime) -> datetime | None:
    """When the first of the compactions seen is too old to tell of another one; None for never."""
    seen = (each.last_seen for each in others if each.last_seen is not None and each.last_seen <= now)
    return min((moment + COMPACTOR_WINDOW for moment in seen), default=None)


def earliest(figures: pa.Table, now: datetime, *moments: datetime | None) -> datetime | None:
    """When something changes without a commit: a group becomes idle, or has waited long enough.

    Args:
        figures: figures of groups, with `valid_until` as `Judge.figures` has it.
        now: the time of the observation.
        moments: when something else does, such as the first group becoming idle; None for never.
    """
    ends = integers(whole(figures["valid_until"]).drop_null())
    later = ends[ends > epoch_millis(now)]
    waited = [moment_of(int(later.min()))] if len(later) else []
    return min([*waited, *(moment for moment in moments if moment is not None)], default=None)
