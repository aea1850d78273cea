"""Which tags of a table are due: new ones for periods that have ended, old ones that go.

Called by `tag_management`. Pure. Source: Paimon's `TagAutoCreation`, `TagPeriodHandler` and `TagTimeExpire`.
A tag that would be created and deleted in the same run is not created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from pypaimon.snapshot.snapshot import Snapshot

from lithify.clock import moment_of
from lithify.columns.json_texts import parse_object
from lithify.errors import CorruptTable
from lithify.formats.paimon.options.tag_options import TagCreation, TagOptions, TagTime

_EPOCH = datetime(1970, 1, 1)
_LEAST_WATERMARK = -(1 << 63)


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag.

    Attributes:
        name: its name.
        snapshot: the id of its snapshot.
        ends: local time at which it may go; None if it says none.
    """

    name: str
    snapshot: int
    ends: datetime | None = None


@dataclass(frozen=True, slots=True)
class DueTags:
    """The tags that are due.

    Attributes:
        created: the snapshots that get a tag, by the tag's name.
        deleted: the names of those that go.
    """

    created: Mapping[str, int]
    deleted: tuple[str, ...]


def parse_tag(path: str, name: str, snapshot: int, text: str) -> Tag:
    """A tag from its file.

    Raises:
        CorruptTable: the file cannot be read.
    """
    try:
        found = parse_object(text)
    except ValueError as error:
        raise CorruptTable(path, f"the tag cannot be read ({error})") from error
    return Tag(name, snapshot, _end(_local(found.get("tagCreateTime")), found.get("tagTimeRetained")))


def _end(created: datetime | None, kept: object) -> datetime | None:
    """When the time of a tag is over; None if its file does not say so in a way that is known."""
    if created is None or not isinstance(kept, int | float) or isinstance(kept, bool):
        return None
    try:
        return created + timedelta(seconds=kept)
    except OverflowError:
        return None


def time_fields(now: datetime, kept: timedelta) -> dict[str, object]:
    """What the file of a tag says in addition to its snapshot if the tag is to go: as Jackson writes it."""
    fields = [now.year, now.month, now.day, now.hour, now.minute, now.second, now.microsecond * 1000]
    while len(fields) > 5 and fields[-1] == 0:
        del fields[-1]
    return {"tagCreateTime": fields, "tagTimeRetained": kept.total_seconds()}


def due_tags(
    snapshots: Mapping[int, Snapshot],
    earliest: int,
    tags: Sequence[Tag],
    options: TagOptions,
    now: datetime,
) -> DueTags:
    """The tags that are created and deleted.

    Args:
        snapshots: the existing snapshots.
        earliest: the oldest of them.
        tags: the existing tags.
        options: how tags are managed.
        now: the present time in the zone of the table's writers.

    Raises:
        CorruptTable: two tags of periods are of one snapshot, so it is unknown which is the last, or goes.
    """
    local = now.replace(tzinfo=None)
    over = [tag.name for tag in tags if options.expires and tag.ends is not None and local > tag.ends]
    if options.creation is None:
        return DueTags({}, tuple(over))
    made = _created(snapshots, earliest, tags, options.creation, now.tzinfo)
    excess = _excess(made, tags, options.creation)
    known = {tag.name for tag in tags}
    created = {name: number for name, number in made.items() if name not in known and name not in excess}
    gone = dict.fromkeys(name for name in (*excess, *over) if name in known)
    return DueTags(created, tuple(gone))


def _excess(made: Mapping[str, int], tags: Sequence[Tag], options: TagCreation) -> list[str]:
    """The oldest tags of periods above their number; Java looks only when it creates one.

    What is counted are their snapshots, as in Java.
    """
    if options.most is None or not made:
        return []
    known = {tag.name: tag.snapshot for tag in tags if _time_of(tag.name, options) is not None}
    names: dict[int, list[str]] = {}
    for name, number in {**made, **known}.items():
        names.setdefault(number, []).append(name)
    oldest = sorted(names)[: max(0, len(names) - options.most)]
    return [_only(names[number]) for number in oldest]


def _only(names: Sequence[str]) -> str:
    """The tag of a period that a snapshot has."""
    if len(names) > 1:
        problem = (
            f"tags {' and '.join(sorted(names))} of periods are of the same snapshot: delete all but one"
        )
        raise CorruptTable(f"tag-{min(names)}", problem)
    return names[0]


def _created(
    snapshots: Mapping[int, Snapshot],
    earliest: int,
    tags: Sequence[Tag],
    options: TagCreation,
    zone: tzinfo | None,
) -> dict[str, int]:
    """The snapshots that get a tag by its name, also where there is a tag of that name."""
    last = _last_of_period(tags, options)
    number = earliest if last is None else max(last.snapshot + 1, earliest)
    following = None
    if last is not None:
        time = _time_of(last.name, options)
        following = None if time is None else time + options.period
    found: dict[str, int] = {}
    while number in snapshots:
        time = _snapshot_time(snapshots[number], options, zone)
        is_due = time is not None and (
            following is None or time - options.delay >= following + options.period
        )
        if time is not None and is_due:
            this = _period_before(time, options.period)
            this = following if options.is_complete and following is not None else this
            found.setdefault(this.strftime(options.format), number)
            following = this + options.period
        number += 1
    return found


def _last_of_period(tags: Sequence[Tag], options: TagCreation) -> Tag | None:
    own = [tag for tag in tags if _time_of(tag.name, options) is not None]
    last = max(own, key=lambda tag: tag.snapshot, default=None)
    if last is not None:
        _only([tag.name for tag in own if tag.snapshot == last.snapshot])
    return last


def _time_of(name: str, options: TagCreation) -> datetime | None:
    """The time in a name; None if it is none of a period."""
    text = name.split(" ")[0] if options.is_daily else name
    try:
        found = datetime.strptime(text, options.format)
    except ValueError:
        return None
    return found if found.strftime(options.format) == text else None


def _snapshot_time(snapshot: Snapshot, options: TagCreation, zone: tzinfo | None) -> datetime | None:
    if options.time is TagTime.PROCESS_TIME:
        return _in_zone(snapshot.time_millis, options.zone or zone)
    watermark = snapshot.watermark
    if watermark is None or watermark == _LEAST_WATERMARK:
        return None
    return _in_zone(watermark, options.zone)


def _in_zone(millis: int, zone: tzinfo | None) -> datetime | None:
    try:
        return moment_of(millis).astimezone(zone or UTC).replace(tzinfo=None)
    except OverflowError:
        return None


def _period_before(time: datetime, period: timedelta) -> datetime:
    """The beginning of the period before that of a time; periods are counted from 1970."""
    return _EPOCH + (time - _EPOCH) // period * period - period


def _local(value: object) -> datetime | None:
    """The local time that Jackson writes as a list of numbers; None if it is none."""
    if not isinstance(value, list) or not 5 <= len(value) <= 7:
        return None
    if not all(isinstance(each, int) for each in value):
        return None
    fields: list[int] = [*value, *[0] * (7 - len(value))]
    try:
        day = datetime(fields[0], fields[1], fields[2])
        time = timedelta(
            hours=fields[3], minutes=fields[4], seconds=fields[5], microseconds=fields[6] // 1000
        )
        return day + time
    except (ValueError, OverflowError):
        return None


def names_of_due(due: DueTags) -> Iterator[str]:
    """What is done, for people."""
    yield from (f"create {name} of snapshot {number}" for name, number in due.created.items())
    yield from (f"delete {name}" for name in due.deleted)
