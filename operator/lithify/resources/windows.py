"""Windows: the parts of the day in which runs may start. Used by `policy` and `maintenance`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from lithify.resources.modelling import Rule, matching, part

TimeOfDay = Annotated[
    str,
    matching(
        r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
        "a time of day has two digits, a colon and two digits, from 00:00 to 23:59, such as 08:30",
        max_length=5,
    ),
]


class Day(StrEnum):
    """A day of the week."""

    MONDAY = "Mon"
    TUESDAY = "Tue"
    WEDNESDAY = "Wed"
    THURSDAY = "Thu"
    FRIDAY = "Fri"
    SATURDAY = "Sat"
    SUNDAY = "Sun"


@part(
    Rule("self.start != self.end", "start and end of a window must differ; for the whole day, omit windows")
)
class Window:
    """A part of the day in which compactions may start."""

    start: TimeOfDay = Field(description="From, as HH:MM in the policy's time zone.")
    end: TimeOfDay = Field(description="Until, as HH:MM; a time before `start` is on the next day.")
    days: tuple[Day, ...] = Field(
        default=(),
        description="The days on which it starts. Empty: every day.",
        max_length=7,
        json_schema_extra={"x-kubernetes-list-type": "set"},
    )
