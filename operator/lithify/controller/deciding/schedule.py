"""When full compactions and maintenance recur: by interval, or by a cron schedule.

Used by `due_compactions` and `due_maintenance`. A time of a schedule counts only once it is in the table's
status, as `nextFullTime` or as `nextTime` of the kind: from then on that run is owed, late if necessary, and
once however many times were missed. So neither a new LakeTable nor a new schedule makes all tables due at
once for times in the past.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

from lithify.clock import earliest, find_zone
from lithify.resources.maintenance import RunKind
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable

MOST_AHEAD = timedelta(days=1)
"""The longest plausible wait: a past time further ahead than this was written by a clock that was wrong."""

_SECOND = timedelta(seconds=1)
_FIELDS = 5
_ANY_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """How often work recurs: by a schedule, or if there is none, by an interval.

    Attributes:
        interval_seconds: from the end of one run to the next.
        schedule: as in cron; None for none.
        starting_deadline_seconds: a time that was missed by more is skipped; None for never.
        time_zone: that of the schedule.
    """

    interval_seconds: int
    schedule: str | None = None
    starting_deadline_seconds: int | None = None
    time_zone: str | None = None


@dataclass(frozen=True, slots=True)
class DueTime:
    """Times of recurring work of a table, from its interval or schedule.

    Attributes:
        due: since when one is due; None if none is.
        next: when the next one after that is due; None for never or not known yet.
        changes: when this answer changes by itself, None for never.
    """

    due: datetime | None = None
    next: datetime | None = None
    changes: datetime | None = None


def full_time(table: LakeTable, policy: CompactionPolicySpec, now: datetime) -> DueTime:
    """Whether a full compaction is due by interval or schedule.

    Raises:
        ValueError: the policy has a problem, see `policy_problem`.
    """
    full, status = policy.full, table.status
    if full is None:
        return DueTime()
    recurrence = Recurrence(
        full.interval_seconds or 0, full.schedule, full.starting_deadline_seconds, policy.time_zone
    )
    created = table.metadata.creation_timestamp
    return due_time(recurrence, status.next_full_time, status.last_full_time, created, now)


def due_time(
    recurrence: Recurrence,
    promised: datetime | None,
    last: datetime | None,
    created: datetime | None,
    now: datetime,
) -> DueTime:
    """Whether a run is due.

    Args:
        recurrence: how often it recurs.
        promised: the next time of the schedule, as status says.
        last: when the last run ended.
        created: from when the first interval counts, the creation of the LakeTable; None for long ago.
        now: the present time.

    Raises:
        ValueError: the schedule has a problem, see `policy_problem`.
    """
    last, doubted_until = _plausible(last, now)
    if recurrence.schedule is None:
        found = _by_interval(recurrence, last or created, now)
    else:
        found = _by_schedule(recurrence, recurrence.schedule, promised, last, now)
    return DueTime(found.due, found.next, earliest(found.changes, doubted_until))


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
    for schedule in _schedules(policy):
        try:
            next_time(schedule, zone, _ANY_TIME)
        except ValueError as error:
            problems.append(str(error))
    return "; ".join(problems) or None


def _schedules(policy: CompactionPolicySpec) -> Iterator[str]:
    """The schedules of a policy, each once."""
    rules = [policy.full, *map(policy.maintenance.rule_of, RunKind)]
    found = (rule.schedule for rule in rules if rule is not None)
    yield from dict.fromkeys(schedule for schedule in found if schedule is not None)


def _plausible(last: datetime | None, now: datetime) -> tuple[datetime | None, datetime | None]:
    """When the last run ended; and, if that time is implausible, until when it is."""
    if last is not None and last - MOST_AHEAD > now:
        return None, last - MOST_AHEAD
    return last, None


def _by_interval(recurrence: Recurrence, since: datetime | None, now: datetime) -> DueTime:
    due = (since or _LONG_AGO) + timedelta(seconds=recurrence.interval_seconds)
    return DueTime(due=due) if due <= now else DueTime(next=due, changes=due)


def _by_schedule(
    recurrence: Recurrence,
    schedule: str,
    promised: datetime | None,
    last: datetime | None,
    now: datetime,
) -> DueTime:
    time_zone = recurrence.time_zone
    following = next_time(schedule, time_zone, now)
    none_due = DueTime(next=following, changes=following)
    if promised is None or promised > now:
        return none_due
    first = promised - _SECOND
    if next_time(schedule, time_zone, first) != promised:
        return none_due  # written for another schedule
    deadline = recurrence.starting_deadline_seconds
    grace = None if deadline is None else timedelta(seconds=deadline)
    after = max(first, last or first, first if grace is None else now - grace)
    due = next_time(schedule, time_zone, after)
    if due > now:
        return none_due
    expires = following if grace is None else min(following, due + grace)
    return DueTime(due=due, next=following, changes=expires)


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
