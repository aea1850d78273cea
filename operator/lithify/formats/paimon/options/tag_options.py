"""Table options of tags that are managed by time; names and checks are those of Paimon's CoreOptions.

Called by `maintaining`. `snapshot.watermark-idle-timeout` and `tag.batch.customized-name` are of writers: the
one makes them commit snapshots without rows, the other names the tag of a batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from enum import StrEnum

from lithify.clock import find_zone
from lithify.errors import InvalidOption
from lithify.formats.paimon.options.option_reader import OptionReader, as_positive, parse_millis

_MODE, _DELAY = "tag.automatic-creation", "tag.creation-delay"
_PERIODS = {"daily": timedelta(days=1), "hourly": timedelta(hours=1), "two-hours": timedelta(hours=2)}
_TWO_HOURS = "two-hours"
_NONE, _BATCH = "none", "batch"
_DAYS = {
    "with-dashes": "%Y-%m-%d",
    "without-dashes": "%Y%m%d",
    "without-dashes-and-spaces": "%Y%m%d",
}
_HOURS = {
    "with-dashes": "%Y-%m-%d %H",
    "without-dashes": "%Y%m%d %H",
    "without-dashes-and-spaces": "%Y%m%d%H",
}
_MINUTES = "%Y%m%d%H%M"


class TagTime(StrEnum):
    """What the time of a snapshot is, by which its tag is named."""

    PROCESS_TIME = "process-time"
    WATERMARK = "watermark"


@dataclass(frozen=True, slots=True)
class TagCreation:
    """How tags are created.

    Attributes:
        time: what the time of a snapshot is.
        zone: the zone of that time; None for the machine's.
        period: time between two tags.
        format: how a tag's name spells its time, for `strptime`.
        is_daily: whether tags are of days, whose names may go on after a blank.
        delay: how long after a period its tag is created.
        most: number of tags of this kind above which the oldest go; None for any number.
        kept: for how long a new tag is kept; None for ever.
        is_complete: whether periods without snapshots get tags, too.
        has_success_file: whether a file says that a tag was created.
    """

    time: TagTime
    zone: tzinfo | None
    period: timedelta
    format: str
    is_daily: bool
    delay: timedelta
    most: int | None
    kept: timedelta | None
    is_complete: bool
    has_success_file: bool


@dataclass(frozen=True, slots=True)
class TagOptions:
    """How tags are managed.

    Attributes:
        creation: how they are created; None if they are not.
        expires: whether tags go whose own time is over.
    """

    creation: TagCreation | None
    expires: bool


def read_tag_options(options: Mapping[str, str]) -> TagOptions:
    """Reads how tags are managed.

    Raises:
        InvalidOption: a value cannot be parsed, or Paimon refuses it.
    """
    reader = OptionReader(options)
    mode = _enum(reader, _MODE, _NONE, (_NONE, _BATCH, *TagTime))
    creation = None if mode in (_NONE, _BATCH) else _creation(reader, TagTime(mode))
    return TagOptions(creation, reader.boolean("tag.time-expire-enabled", default=True))


def _creation(reader: OptionReader, time: TagTime) -> TagCreation:
    delay = timedelta(milliseconds=reader.duration(_DELAY, 0))
    period, spelling, is_daily = _period(reader)
    if delay >= period:
        raise InvalidOption(_DELAY, "it must be shorter than the period of tags")
    kept = reader.optional("tag.default-time-retained", parse_millis)
    return TagCreation(
        time=time,
        zone=_zone(reader, time),
        period=period,
        format=spelling,
        is_daily=is_daily,
        delay=delay,
        most=reader.optional("tag.num-retained-max", as_positive),
        kept=None if kept is None else timedelta(milliseconds=kept),
        is_complete=reader.boolean("tag.automatic-completion", default=False),
        has_success_file=reader.boolean("tag.create-success-file", default=False),
    )


def _period(reader: OptionReader) -> tuple[timedelta, str, bool]:
    millis = reader.optional("tag.creation-period-duration", parse_millis)
    if millis is not None:
        if millis <= 0:
            raise InvalidOption("tag.creation-period-duration", "it must be longer than nothing")
        return timedelta(milliseconds=millis), _MINUTES, False
    name = _enum(reader, "tag.creation-period", "daily", _PERIODS)
    spelling = _enum(reader, "tag.period-formatter", "with-dashes", _DAYS)
    if name == _TWO_HOURS:
        return _PERIODS[name], _HOURS["with-dashes"], False
    is_daily = name == "daily"
    return _PERIODS[name], (_DAYS if is_daily else _HOURS)[spelling], is_daily


def _zone(reader: OptionReader, time: TagTime) -> tzinfo | None:
    if time is TagTime.WATERMARK:
        return reader.optional("sink.watermark-time-zone", find_zone) or find_zone(None)
    return reader.optional("sink.process-time-zone", find_zone)


def _enum(reader: OptionReader, key: str, default: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """A name among some, in either case and with dashes or underscores, as Paimon reads it."""
    found = reader.text(key, default).lower().replace("_", "-")
    if found not in known:
        raise InvalidOption(key, f"'{found}' is none of {', '.join(known)}")
    return found
