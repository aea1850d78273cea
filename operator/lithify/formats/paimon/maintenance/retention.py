"""Decides which snapshots and changelogs may expire: from ids, times, options and the positions of consumers.

Called by `snapshot_expiry`. Pure. Without a floor the result is that of Java 1.4 (`ExpireSnapshotsImpl`):
snapshots go from the oldest on, first those that are more than `snapshot.num-retained.max`, whatever their
age, then those older than `snapshot.time-retained`; never the newest `snapshot.num-retained.min`, none that a
consumer has still to read, and at most `snapshot.expire.limit` at a time.

The floor protects readers that have opened a snapshot and still plan. A reader opens the newest one, so what
counts is not the age of a snapshot but how long ago the next one replaced it: the newest snapshot of a table
that was idle for a week is a week old, and a reader may have opened it a second ago. Java counts the age of
the snapshot itself (of the next one from 2.1 on), and by number without any age.

Changelogs that outlive their snapshots go by options of their own (`ExpireChangelogImpl`), from the oldest
on, never the newest of them, and none that a consumer has still to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from lithify.formats.paimon.options.retention_options import ChangelogRetention, RetentionOptions


@dataclass(frozen=True, slots=True)
class SnapshotTimes:
    """The snapshots of a branch, or its changelogs that have outlived their snapshots.

    Attributes:
        earliest: the oldest one, as the EARLIEST hint or a listing says.
        latest: the newest one.
        millis: commit times by id; an id that is missing here has no file.
    """

    earliest: int
    latest: int
    millis: Mapping[int, int]


def expiry_end(
    snapshots: SnapshotTimes,
    options: RetentionOptions,
    *,
    now_millis: int,
    floor_millis: int,
    consumer: int | None = None,
) -> int:
    """The id of an existing snapshot, before which all may expire; the earliest one if none may.

    Args:
        snapshots: the existing ones.
        options: how long they are kept.
        now_millis: the present time.
        floor_millis: how long ago a snapshot must have been replaced by the next one.
        consumer: the lowest snapshot that a consumer has still to read; None without consumers.
    """
    end = snapshots.latest - options.least + 1
    if consumer is not None:
        end = min(end, consumer)
    end = min(end, snapshots.earliest + options.limit)
    end = _of_age(snapshots, options, now_millis - options.millis, end)
    end = _replaced_before(snapshots, now_millis - floor_millis, end)
    return max((each for each in snapshots.millis if each <= end), default=snapshots.earliest)


def changelog_end(
    changelogs: SnapshotTimes,
    options: ChangelogRetention,
    *,
    latest: int,
    limit: int,
    now_millis: int,
    consumer: int | None = None,
) -> int:
    """The id of an existing changelog, before which all may expire; the earliest one if none may.

    Args:
        changelogs: those that have outlived their snapshots.
        options: how long they are kept.
        latest: the newest snapshot of the table.
        limit: number of changelogs that may go at a time.
        now_millis: the present time.
        consumer: the lowest snapshot that a consumer has still to read; None without consumers.
    """
    end = min(latest - options.least + 1, changelogs.earliest + limit, changelogs.latest)
    if consumer is not None:
        end = min(end, consumer)
    start = max(latest - options.most + 1, changelogs.earliest)
    young = (
        number
        for number in range(start, end + 1)
        if changelogs.millis.get(number, -1) >= now_millis - options.millis
    )
    end = next(young, end)
    return max((each for each in changelogs.millis if each <= end), default=changelogs.earliest)


def _of_age(snapshots: SnapshotTimes, options: RetentionOptions, before_millis: int, end: int) -> int:
    """The first snapshot that is too young, of those that count as allowed by number."""
    start = max(snapshots.latest - options.most + 1, snapshots.earliest)
    for number in range(start, end):
        millis = snapshots.millis.get(number)
        if millis is not None and millis >= before_millis:
            return number
    return end


def _replaced_before(snapshots: SnapshotTimes, before_millis: int, end: int) -> int:
    """The first snapshot that was still the newest one at a moment, or later."""
    numbers = [each for each in sorted(snapshots.millis) if snapshots.earliest <= each <= end]
    for number, following in pairwise(numbers):
        if snapshots.millis[following] > before_millis:
            return number
    return end
