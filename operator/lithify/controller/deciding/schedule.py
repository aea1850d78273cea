"""When a table is compacted fully regardless of its triggers: by interval, or by a cron schedule.

Used by `due_compactions`. A time of a schedule counts only once it is in the table's status as
`nextFullTime`: from then on that compaction is owed, late if necessary, and once however many times were
missed. So neither a new LakeTable nor a new schedule makes all tables due at once for times in the past.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

from lithify.clock import find_zone
from lithify.resources.policy import CompactionPolicySpec, FullCompactions
from lithify.resources.table import LakeTable

MOST_AHEAD = timedelta(days=1)
"""The longest plausible wait: a past time further ahead than this was written by a clock that was wrong."""

_SECOND = timedelta(seconds=1)
_FIELDS = 5
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class FullTime:
    """Times of full compactions of a table, from its interval or schedule.

    Attributes:
        due: since when one is due; None if none is.
        next: when the next one after that is due; None for never or not known yet.
        changes: when this answer changes by itself, None for never.
    """

    due: datetime | None = None
    next: datetime | None = None
    changes: datetime | None = None


def full_time(table: LakeTable, policy: CompactionPolicySpec, now: datetime) -> FullTime:
    """Whether a full compaction is due by interval or schedule.

    Raises:
        ValueError: the policy has a problem, see `policy_problem`.
    """
    if policy.full is None:
        return FullTime()
    last, doubted_until = _last_full(table, now)
    if policy.full.schedule is None:
        found = _by_interval(policy.full, last or table.metadata.creation_timestamp, now)
    else:
        zone = policy.time_zone
        found = _by_schedule(policy.full, zone, table.status.next_full_time, last, now)
    changes = [moment for moment in (found.changes, doubted_until) if moment is not None]
    return FullTime(found.due, found.next, min(changes, default=None))


@lru_cache(maxsize=1024)
def next_time(schedule: str, time_zone: str | None, after: datetime) -> datetime:
    """The first time of a schedule after a moment, in UTC.

    As in Debian's cron: where clocks jump ahead, a skipped time comes at the end of the gap; where they are
    put back, a time of the repeated hour comes once, unless minute or hour begin with `*`.

    Raises:
        ValueError: the schedule or the zone cannot be understood, or no such time ever comes.
    """
    for moment in _times(schedule, time_zone, after):
        if moment > after:
            return moment
    raise ValueError(f"the schedule {schedule} has no time that ever occurs")


def policy_problem(policy: CompactionPolicySpec) -> str | None:
    """Why the policy's times cannot be followed, all reasons in one text; None if they can."""
    problems, zone = [], policy.time_zone
    try:
        find_zone(zone)
    except ValueError as error:
        problems.append(str(error))
        zone = None
    try:
        if policy.full is not None and policy.full.schedule is not None:
            next_time(policy.full.schedule, zone, _ANY_TIME)
    except ValueError as error:
        problems.append(str(error))
    return "; ".join(problems) or None


def _last_full(table: LakeTable, now: datetime) -> tuple[datetime | None, datetime | None]:
    """When the table was last compacted fully; and, if that time is implausible, until when it is."""
    last = table.status.last_full_time
    if last is not None and last - MOST_AHEAD > now:
        return None, last - MOST_AHEAD
    return last, None


def _by_interval(full: FullCompactions, since: datetime | None, now: datetime) -> FullTime:
    due = (since or _LONG_AGO) + timedelta(seconds=full.interval_seconds or 0)
    return FullTime(due=due) if due <= now else FullTime(next=due, changes=due)


def _by_schedule(
    full: FullCompactions,
    time_zone: str | None,
    promised: datetime | None,
    last: datetime | None,
    now: datetime,
) -> FullTime:
    schedule = full.schedule or ""
    following = next_time(schedule, time_zone, now)
    none_due = FullTime(next=following, changes=following)
    if promised is None or promised > now:
        return none_due
    first = promised - _SECOND
    if next_time(schedule, time_zone, first) != promised:
        return none_due  # written for another schedule
    deadline = full.starting_deadline_seconds
    grace = None if deadline is None else timedelta(seconds=deadline)
    after = max(first, last or first, first if grace is None else now - grace)
    due = next_time(schedule, time_zone, after)
    if due > now:
        return none_due
    expires = following if grace is None else min(following, due + grace)
    return FullTime(due=due, next=following, changes=expires)


def _times(schedule: str, time_zone: str | None, after: datetime) -> Iterator[datetime]:
    start = after.astimezone(find_zone(time_zone))
    if len(schedule.split()) != _FIELDS:
        raise ValueError(f"the schedule {schedule} does not have five fields")
    try:
        for moment in CronSim(schedule, start):
            yield moment.astimezone(UTC)
    except CronSimError as error:
        text = str(error).lower()
        raise ValueError(
            f"the schedule {schedule} cannot be understood, or never comes: {text}; its fields are minute, "
            "hour, day of month, month and day of week"
        ) from error
