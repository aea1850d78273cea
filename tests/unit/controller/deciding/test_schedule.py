"""Full compactions by the clock: cron across changes of clocks, promises, missed times, wrong clocks."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given

from lithify.controller.deciding.schedule import DueTime, full_time, next_time, policy_problem
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTableStatus
from support.cases import case
from support.deciding.situations import CREATED, NOON, ZONES, moments, policy, schedules, table

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


class TestNextTime:
    @pytest.mark.parametrize(
        ("schedule", "after", "expected"),
        [
            case("30 2 * * *", "2026-03-10 12:00", "2026-03-11 01:30", id="a usual day"),
            case("30 2 * * *", "2026-03-11 01:30", "2026-03-12 01:30", id="the time itself is not after it"),
            case("30 2 * * *", "2026-03-28 12:00", "2026-03-29 01:00", id="left out: at the end of the gap"),
            case("30 2 * * *", "2026-03-29 01:00", "2026-03-30 00:30", id="and once only"),
            case("30 2 * * *", "2026-10-24 12:00", "2026-10-25 00:30", id="twice: at the first"),
            case("30 2 * * *", "2026-10-25 00:30", "2026-10-26 01:30", id="and not at the second"),
            case("30 2 * * *", "2026-10-25 01:10", "2026-10-26 01:30", id="also when asked between the two"),
            case("*/30 * * * *", "2026-10-25 00:30", "2026-10-25 01:00", id="every half hour goes on, first"),
            case(
                "*/30 * * * *", "2026-10-25 01:00", "2026-10-25 01:30", id="every half hour goes on, second"
            ),
            case("0 4 29 2 *", "2026-03-10 12:00", "2028-02-29 03:00", id="years ahead"),
            case(
                "0 9 * * mon-fri", "2026-03-13 12:00", "2026-03-16 08:00", id="names in lower case, a range"
            ),
        ],
    )
    def test_next_time_follows_the_clocks_of_berlin(self, schedule: str, after: str, expected: str) -> None:
        assert next_time(schedule, "Europe/Berlin", utc(after)) == utc(expected)

    @given(schedules, ZONES, moments)
    def test_is_the_first_time_after(self, schedule: str, zone: str, after: datetime) -> None:
        found = next_time(schedule, zone, after)
        assert found > after
        assert next_time(schedule, zone, found - SECOND) == found
        assert next_time(schedule, zone, after + (found - after) / 2) == found

    @given(ZONES, moments)
    def test_agrees_with_the_clock_on_the_wall(self, zone: str, after: datetime) -> None:
        shown = next_time("*/20 * * * *", zone, after).astimezone(ZoneInfo(zone))
        assert (shown.minute % 20, shown.second) == (0, 0)
        assert shown - after <= timedelta(minutes=50)


class TestPolicyProblem:
    @pytest.mark.parametrize(
        "fields",
        [
            case({}, id="defaults"),
            case({"timeZone": "Europe/Berlin"}, id="a zone"),
            case({"full": {"intervalSeconds": 60}}, id="an interval"),
            case({"timeZone": "UTC", "full": {"schedule": "30 2 * * Sun"}}, id="a schedule"),
            case({"timeZone": "UTC", "full": {"schedule": "0 4 L * *"}}, id="the last of the month"),
            case({"timeZone": "UTC", "full": {"schedule": "0 4 * * 5#1"}}, id="the first Friday"),
        ],
    )
    def test_what_can_be_followed(self, fields: dict[str, object]) -> None:
        assert policy_problem(policy(**fields)) is None

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            case({"timeZone": "Mars/Phobos"}, "Mars/Phobos", id="unknown zone"),
            case({"timeZone": "Europe"}, "Europe", id="half a zone"),
            case({"timeZone": "UTC", "full": {"schedule": "61 2 * * *"}}, "61 2 * * *", id="no such minute"),
            case({"timeZone": "UTC", "full": {"schedule": "0 0 30 2 *"}}, "0 0 30 2 *", id="no such day"),
            case(
                {"timeZone": "UTC", "full": {"schedule": "a b c d e"}}, "a b c d e", id="no schedule at all"
            ),
            case({"timeZone": "UTC", "full": {"schedule": "0 0 1 1 1 1"}}, "0 0 1 1 1 1", id="six fields"),
            case({"timeZone": "UTC", "full": {"schedule": "* * 1-0 * *"}}, "1-0", id="a range backwards"),
        ],
    )
    def test_what_cannot_is_named(self, fields: dict[str, object], named: str) -> None:
        assert named in (policy_problem(policy(**fields)) or "")

    def test_both_of_two_mistakes_are_named(self) -> None:
        wrong = policy(timeZone="Mars/Phobos", full={"schedule": "61 2 * * *"})
        problem = policy_problem(wrong) or ""
        assert [part for part in ("Mars/Phobos", "61 2 * * *") if part not in problem] == []


class TestInterval:
    DAILY = policy(full={"intervalSeconds": 86400})

    @pytest.mark.parametrize(
        ("last", "expected"),
        [
            case(None, DueTime(due=CREATED + 24 * HOUR), id="counts from the creation"),
            case(NOON - 24 * HOUR, DueTime(due=NOON), id="due to the second"),
            case(
                NOON - 24 * HOUR + SECOND,
                DueTime(next=NOON + SECOND, changes=NOON + SECOND),
                id="a second too early",
            ),
            case(NOON + HOUR, DueTime(next=NOON + 25 * HOUR, changes=NOON + 25 * HOUR), id="clocks differ"),
            case(
                NOON + timedelta(days=365),
                DueTime(due=CREATED + 24 * HOUR, changes=NOON + timedelta(days=364)),
                id="a last time a year ahead is not believed",
            ),
        ],
    )
    def test_full_compaction_is_due_an_interval_after_the_last(
        self, last: datetime | None, expected: DueTime
    ) -> None:
        assert full_time(table(LakeTableStatus(last_full_time=last)), self.DAILY, NOON) == expected

    def test_never_without_an_interval_or_a_schedule(self) -> None:
        assert full_time(table(), policy(), NOON) == DueTime()


class TestPromises:
    """A schedule of 02:30 in Berlin, asked at noon UTC on March 10."""

    NIGHTLY = policy(timeZone="Europe/Berlin", full={"schedule": "30 2 * * *"})
    TODAY, TOMORROW = utc("2026-03-10 01:30"), utc("2026-03-11 01:30")
    NOT_DUE = DueTime(next=TOMORROW, changes=TOMORROW)

    def ask(
        self, promised: datetime | None, last: datetime | None = None, spec: CompactionPolicySpec = NIGHTLY
    ) -> DueTime:
        return full_time(table(LakeTableStatus(next_full_time=promised, last_full_time=last)), spec, NOON)

    @pytest.mark.parametrize(
        ("promised", "last", "due"),
        [
            case(None, None, None, id="nothing promised: a new table waits for the next time"),
            case(TODAY, None, TODAY, id="promised and never done"),
            case(TODAY, TODAY - HOUR, TODAY, id="promised and done before only"),
            case(TODAY, TODAY + HOUR, None, id="promised and kept"),
            case(TODAY - 48 * HOUR, None, TODAY - 48 * HOUR, id="missed three times, due once"),
            case(TODAY - 48 * HOUR, TODAY - HOUR, TODAY, id="missed again since"),
            case(TODAY - 48 * HOUR, TODAY + HOUR, None, id="missed often and done since"),
            case(TODAY - HOUR, None, None, id="promised under another schedule"),
            case(TOMORROW, None, None, id="promised for tomorrow"),
            case(TOMORROW + 4000 * HOUR, None, None, id="promised by a clock that was wrong"),
        ],
    )
    def test_promised_full_compaction_is_due_until_it_has_run(
        self, promised: datetime | None, last: datetime | None, due: datetime | None
    ) -> None:
        assert self.ask(promised, last) == replace(self.NOT_DUE, due=due)

    @pytest.mark.parametrize(
        ("grace", "due", "changes"),
        [
            case(11 * 3600, TODAY, TODAY + 11 * HOUR, id="within the grace"),
            case(10 * 3600 + 1801, TODAY, NOON + SECOND, id="for one more second"),
            case(10 * 3600 + 1800, None, TOMORROW, id="no longer"),
        ],
    )
    def test_missed_by_too_much(self, grace: int, due: datetime | None, changes: datetime) -> None:
        full = {"schedule": "30 2 * * *", "startingDeadlineSeconds": grace}
        spec = policy(timeZone="Europe/Berlin", full=full)
        assert self.ask(self.TODAY - 48 * HOUR, spec=spec) == DueTime(due, self.TOMORROW, changes)

    @given(schedules, ZONES, moments)
    def test_a_promise_is_due_when_its_time_has_come_and_not_before(
        self, schedule: str, zone: str, now: datetime
    ) -> None:
        spec = policy(timeZone=zone, full={"schedule": schedule})
        promised = full_time(table(), spec, now).next
        assert promised is not None
        waiting = table(LakeTableStatus(next_full_time=promised))
        assert full_time(waiting, spec, promised - SECOND).due is None
        assert full_time(waiting, spec, promised).due == promised
        assert full_time(waiting, spec, promised + timedelta(days=40)).due == promised
