"""A clock for commits: only sleeping moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class SleepingClock:
    """Notes how long its users sleep, and does not sleep."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self._now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self._now += timedelta(seconds=seconds)
