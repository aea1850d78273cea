"""Time zones: converts local times into UTC.

Used by windows and schedules. A local time that exists twice (clocks go back) means the first one; one that
does not exist (clocks go forward) means the moment at which clocks jump over it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_MINUTE = timedelta(minutes=1)


def moment_of(day: date, wall: time, zone: ZoneInfo) -> datetime:
    """The moment (UTC) at which clocks in the zone show that time on that day."""
    local = datetime.combine(day, wall, zone)
    while (moment := local.astimezone(UTC)).astimezone(zone).replace(fold=0) != local:
        local += _MINUTE
    return moment
