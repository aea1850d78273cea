"""Windows: the parts of the day in which compactions may start.

Used by `hold_reasons`. A window belongs to the day on which it starts, also when it ends on the next one;
clock changes make it longer or shorter, or skip it where clocks jump over all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from lithify.controller.deciding.zones import moment_of
from lithify.resources.windows import Day, Window

_DAY = timedelta(days=1)
_WEEK = 7
# A clock change may skip a window, which then opens a week later.
_DAYS_AHEAD = 2 * _WEEK + 2
_DAYS = tuple(Day)


@dataclass(frozen=True, slots=True)
class Opening:
    """Whether windows are open, and how long that lasts.

    Attributes:
        is_open: whether one of them is open.
        until: when they close, or one opens; None for never.
        next_window: the window that opens then, if they are closed.
    """

    is_open: bool
    until: datetime | None
    next_window: Window | None = None


def opening(windows: Sequence[Window], zone: ZoneInfo, now: datetime) -> Opening:
    """Whether compactions may start at `now` (aware); without windows they always may."""
    if not windows:
        return Opening(is_open=True, until=None)
    closes: datetime | None = None
    for start, end, window in _spans(windows, zone, now):
        if closes is None and start > now:
            return Opening(is_open=False, until=start, next_window=window)
        if closes is not None and start > closes:
            return Opening(is_open=True, until=closes)
        closes = end if closes is None else max(closes, end)
    return Opening(is_open=closes is not None, until=None)


def _spans(
    windows: Sequence[Window], zone: ZoneInfo, now: datetime
) -> Iterator[tuple[datetime, datetime, Window]]:
    """The periods that end after `now`, by their start: of yesterday, today, and two weeks ahead."""
    today = now.astimezone(zone).date()
    for offset in range(-1, _DAYS_AHEAD):
        day = today + offset * _DAY
        spans = []
        for index, window in enumerate(windows):
            if window.days and _DAYS[day.weekday()] not in window.days:
                continue
            starts, ends = time.fromisoformat(window.start), time.fromisoformat(window.end)
            start = moment_of(day, starts, zone)
            end = moment_of(day if starts < ends else day + _DAY, ends, zone)
            if max(start, now.astimezone(UTC)) < end:
                spans.append((start, end, index))
        for start, end, index in sorted(spans):
            yield start, end, windows[index]
