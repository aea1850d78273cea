"""When windows are open: over midnight, by days, and where clocks are changed."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.clock import find_zone
from lithify.controller.deciding.windows import opening
from lithify.controller.deciding.zones import moment_of
from lithify.resources.windows import Day, Window
from support.cases import case
from support.deciding.situations import BRIEFLY, ZONES, moments, windows

BERLIN = ZoneInfo("Europe/Berlin")


def window(start: str, end: str, *days: str) -> Window:
    return Window(start=start, end=end, days=tuple(Day(day) for day in days))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def berlin(text: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN, fold=fold).astimezone(UTC)


class TestOpening:
    @pytest.mark.parametrize(
        ("found", "now", "is_open", "until"),
        [
            case([], "2026-03-10 12:00", True, None, id="no windows, always open"),
            case([window("09:00", "17:00")], "2026-03-10 08:59:59", False, "2026-03-10 09:00", id="before"),
            case([window("09:00", "17:00")], "2026-03-10 09:00", True, "2026-03-10 17:00", id="start is in"),
            case([window("09:00", "17:00")], "2026-03-10 17:00", False, "2026-03-11 09:00", id="end is out"),
            case(
                [window("22:00", "06:00")], "2026-03-10 23:00", True, "2026-03-11 06:00", id="before midnight"
            ),
            case(
                [window("22:00", "06:00")], "2026-03-11 05:00", True, "2026-03-11 06:00", id="after midnight"
            ),
            case(
                [window("22:00", "06:00", "Fri")],
                "2026-03-14 05:00",
                True,
                "2026-03-14 06:00",
                id="on Saturday morning the window of Friday is open",
            ),
            case(
                [window("22:00", "06:00", "Fri")],
                "2026-03-13 05:00",
                False,
                "2026-03-13 22:00",
                id="on Friday morning that of Thursday would be, and there is none",
            ),
            case(
                [window("09:00", "10:00", "Mon")],
                "2026-03-09 10:00",
                False,
                "2026-03-16 09:00",
                id="a week until the next",
            ),
            case(
                [window("09:00", "12:00"), window("11:00", "15:00")],
                "2026-03-10 10:00",
                True,
                "2026-03-10 15:00",
                id="windows that overlap are one",
            ),
            case(
                [window("12:00", "15:00"), window("09:00", "12:00")],
                "2026-03-10 10:00",
                True,
                "2026-03-10 15:00",
                id="windows that touch are one, whatever their order",
            ),
            case(
                [window("00:00", "12:00"), window("12:00", "00:00")],
                "2026-03-10 10:00",
                True,
                None,
                id="windows that fill the day never close",
            ),
            case(
                [window("01:30", "03:30")],
                "2026-03-29 03:10",
                True,
                "2026-03-29 03:30",
                id="the hour in which clocks jump ahead shortens it",
            ),
            case(
                [window("02:30", "04:00")],
                "2026-03-29 01:59",
                False,
                "2026-03-29 03:00",
                id="a start that is left out is the end of the gap",
            ),
            case(
                [window("02:10", "02:20", "Sun")],
                "2026-03-28 12:00",
                False,
                "2026-04-05 02:10",
                id="a window within the gap is left out",
            ),
            case(
                [window("01:30", "03:30")],
                "2026-10-25 01:30",
                True,
                "2026-10-25 03:30",
                id="the hour that comes twice makes it longer",
            ),
        ],
    )
    def test_windows_open_and_close_by_the_clocks_of_berlin(
        self, found: list[Window], now: str, is_open: bool, until: str | None
    ) -> None:
        answer = opening(found, BERLIN, berlin(now))
        assert (answer.is_open, answer.until) == (is_open, until and berlin(until))

    def test_the_hour_that_comes_twice_lasts_two_hours(self) -> None:
        start = berlin("2026-10-25 01:30")
        answer = opening([window("01:30", "03:30")], BERLIN, start)
        assert answer.until == start + timedelta(hours=3)

    def test_the_window_that_opens_next_is_named(self) -> None:
        late, early = window("22:00", "23:00"), window("09:00", "10:00")
        assert opening([late, early], BERLIN, berlin("2026-03-10 11:00")).next_window is late

    @BRIEFLY
    @given(st.lists(windows, min_size=1, max_size=3), ZONES, moments)
    def test_agrees_with_the_clock_on_the_wall(
        self, found: list[Window], zone_name: str, now: datetime
    ) -> None:
        zone = ZoneInfo(zone_name)
        local = now.astimezone(zone)
        if local.utcoffset() != (now - timedelta(days=2)).astimezone(zone).utcoffset():
            return
        if local.utcoffset() != (now + timedelta(days=2)).astimezone(zone).utcoffset():
            return
        assert opening(found, zone, now).is_open == any(on_the_wall(one, local) for one in found)

    @BRIEFLY
    @given(st.lists(windows, min_size=1, max_size=3), ZONES, moments, st.floats(0, 1))
    def test_nothing_changes_before_until_and_something_does_then(
        self, found: list[Window], zone_name: str, now: datetime, share: float
    ) -> None:
        zone = ZoneInfo(zone_name)
        answer = opening(found, zone, now)
        if answer.until is None:
            return
        assert answer.until > now
        between = now + (answer.until - now) * share
        if between < answer.until:
            assert opening(found, zone, between) == answer
        assert opening(found, zone, answer.until - timedelta(seconds=1)).is_open == answer.is_open
        assert opening(found, zone, answer.until).is_open != answer.is_open


def on_the_wall(one: Window, local: datetime) -> bool:
    """The same by looking at the clock, for days on which it is not changed."""
    start, end, clock = time.fromisoformat(one.start), time.fromisoformat(one.end), local.time()
    today, yesterday = list(Day)[local.weekday()], list(Day)[local.weekday() - 1]

    def starts_on(day: Day) -> bool:
        return not one.days or day in one.days

    if start < end:
        return starts_on(today) and start <= clock < end
    return (starts_on(today) and clock >= start) or (starts_on(yesterday) and clock < end)


class TestZones:
    @pytest.mark.parametrize("name", ["Mars/Phobos", "Europe", "../etc/passwd", "Europe/Berlin/", "a" * 64])
    def test_unknown_zones_are_refused(self, name: str) -> None:
        with pytest.raises(ValueError, match="time zone"):
            find_zone(name)

    def test_without_a_name_it_is_utc(self) -> None:
        assert find_zone(None).key == "UTC"

    @pytest.mark.parametrize(
        ("wall", "moment"),
        [
            case("2026-03-29 01:59", "2026-03-29 00:59", id="before the gap"),
            case("2026-03-29 02:00", "2026-03-29 01:00", id="start of the gap"),
            case("2026-03-29 02:30", "2026-03-29 01:00", id="inside the gap"),
            case("2026-03-29 03:00", "2026-03-29 01:00", id="end of the gap"),
            case("2026-10-25 02:30", "2026-10-25 00:30", id="the first of two"),
            case("2026-10-25 03:00", "2026-10-25 02:00", id="after the repeated hour"),
        ],
    )
    def test_local_times_are_moments_also_where_clocks_change(self, wall: str, moment: str) -> None:
        local = datetime.fromisoformat(wall)
        assert moment_of(local.date(), local.time(), BERLIN) == utc(moment)
