"""Work that recurs by a schedule as in cron: fields and rules. Used by `policy` and `maintenance`."""

from __future__ import annotations

from typing import Any

from lithify.resources.modelling import Rule, matching

FIVE_FIELDS = Rule(
    "!has(self.schedule) || self.schedule.matches('^[^ ]+( [^ ]+){4}$')",
    "a schedule needs five fields separated by single blanks: minute, hour, day of month, month, day of week",
    ".schedule",
)
ONE_RECURRENCE = Rule(
    "!has(self.intervalSeconds) || !has(self.schedule)", "set at most one of intervalSeconds and schedule"
)


def schedule_field() -> Any:
    """The field of a schedule."""
    return matching(
        r"^[0-9A-Za-z*/,\-?#LW ]+$",
        "a schedule is written as in cron, with letters, digits, blanks and */,-?#, such as 30 2 * * Sun",
        default=None,
        description="At these times, as in cron, in the policy's time zone; for example `30 2 * * Sun`.",
        min_length=1,
        max_length=128,
    )
