"""Injected time: only the edges read the machine's clock or sleep."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the time and sleeps."""

    def now(self) -> datetime:
        """Returns the current time, aware, in the time zone of the run."""
        ...

    def sleep(self, seconds: float) -> None:
        """Waits."""
        ...


class SystemClock:
    """The machine's clock, read in one time zone."""

    def __init__(self, zone: tzinfo | None = None) -> None:
        self._zone = zone

    def now(self) -> datetime:
        """The current time in the clock's zone, by default the machine's."""
        return datetime.now(UTC).astimezone(self._zone)

    def sleep(self, seconds: float) -> None:
        """Waits."""
        time.sleep(seconds)


def find_zone(name: str | None) -> ZoneInfo:
    """The time zone of that name, UTC for None.

    Raises:
        ValueError: the name is unknown.
    """
    try:
        return ZoneInfo("UTC" if name is None else name)
    except (LookupError, OSError, ValueError) as error:
        # An OSError where it is a directory of zones, for example Europe.
        raise ValueError(f"'{name}' is not a time zone such as Europe/Berlin") from error


def earliest(*moments: datetime | None) -> datetime | None:
    """The earliest of some moments, without those that never come (None); None if none comes."""
    return min((moment for moment in moments if moment is not None), default=None)


def wall_millis(moment: datetime) -> int:
    """The local time of a moment in its zone, as milliseconds since 1970 without a zone.

    Paimon stores creation times of files this way.
    """
    return epoch_millis(moment.replace(tzinfo=UTC))


def epoch_millis(moment: datetime) -> int:
    """A moment as whole milliseconds since the epoch; seconds as a float would sometimes be off by one."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_of(millis: int) -> datetime:
    """The moment of milliseconds since the epoch, in UTC; the inverse of `epoch_millis`."""
    return _EPOCH + timedelta(milliseconds=millis)


def epoch_of_wall(millis: int, zone: tzinfo | None) -> int:
    """The moment (milliseconds since the epoch) of local time `millis` in that zone; see `wall_millis`.

    Where clocks are set back there are two, and the first counts.
    """
    return epoch_millis(moment_of(millis).replace(tzinfo=zone))
