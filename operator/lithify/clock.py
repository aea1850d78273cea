"""Time, injected: nothing below the edges asks the machine what time it is or waits by itself."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Clock(Protocol):
    """Tells the time and lets it pass."""

    def now(self) -> datetime:
        """The current time, aware, in the time zone of the run."""
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
        ValueError: nobody knows a zone of that name.
    """
    try:
        return ZoneInfo("UTC" if name is None else name)
    except (LookupError, OSError, ValueError) as error:
        # An OSError where it is a directory of zones, such as Europe.
        raise ValueError(f"'{name}' is not a time zone such as Europe/Berlin") from error


def wall_millis(moment: datetime) -> int:
    """What a clock on the wall shows at that moment, as milliseconds since 1970 without a zone.

    Paimon stores creation times of files this way.
    """
    return epoch_millis(moment.replace(tzinfo=UTC))


def epoch_millis(moment: datetime) -> int:
    """A moment as whole milliseconds since the epoch; seconds as a float lose a millisecond now and then."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def epoch_of_wall(millis: int, zone: tzinfo | None) -> int:
    """When a clock on the wall in that zone shows `millis` (see `wall_millis`), in milliseconds of the epoch.

    Where clocks are set back it does so twice, and the first time counts.
    """
    return epoch_millis((_EPOCH + timedelta(milliseconds=millis)).replace(tzinfo=zone))
