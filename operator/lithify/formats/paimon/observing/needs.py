"""The maintenance that a table needs, from what an observation knows. Called by `summary`. Pure.

An estimate: whether consumers, tags or readers keep a snapshot, the run itself finds out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text
from lithify.errors import InvalidOption
from lithify.formats.paimon.options.retention_options import RetentionOptions, read_retention
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots, MaintenanceNeed
from lithify.plain_text import plain_line

_ASKING = (
    (MaintenanceKind.EXPIRE_PARTITIONS, "partition.expiration-time", ""),
    (MaintenanceKind.MANAGE_TAGS, "tag.automatic-creation", "none"),
)
"""Kinds with the option that asks for them, and its value that does not."""
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class FoundNeed:
    """What a table needs now, and when that changes without a commit; None for never."""

    needs: tuple[MaintenanceNeed, ...] = ()
    changes: datetime | None = None


def expiry_need(
    kept: KeptSnapshots, options: Mapping[str, str], now: datetime, *, is_asked: bool
) -> FoundNeed:
    """Whether snapshots may expire by the table's options; `now` is aware.

    Options that only an expiry refuses need nothing: they must not make an observation fail.
    """
    try:
        retention = read_retention(options)
    except InvalidOption:
        return FoundNeed()
    if kept.oldest is None or kept.count <= retention.least:
        return FoundNeed()
    old_at = kept.oldest + timedelta(milliseconds=retention.millis)
    if kept.count <= retention.most and now < old_at:
        return FoundNeed(changes=old_at)
    detail, size = _expiry_text(kept, retention), kept.expired_bytes
    if size:
        detail = f"{detail}; the older ones hold at least {bytes_text(size)} that the newest does not need"
    return FoundNeed((MaintenanceNeed(MaintenanceKind.EXPIRE_SNAPSHOTS, detail, is_asked, size),))


def needs_by_options(options: Mapping[str, str], *, is_asked: bool) -> Iterator[MaintenanceNeed]:
    """The kinds that the table's options ask for at all; whether anything is due, the run finds out.

    Values are not parsed: an invalid one must not make an observation fail, and the run says what is wrong.
    """
    for kind, option, nothing in _ASKING:
        value = options.get(option, nothing)
        if value.strip().lower() != nothing:
            yield MaintenanceNeed(kind, f"{option} is {plain_line(value, _LONGEST)}", is_asked)


def _expiry_text(kept: KeptSnapshots, retention: RetentionOptions) -> str:
    counted = count_of(kept.count, "snapshot")
    if kept.count > retention.most:
        return f"{counted} are kept, snapshot.num-retained.max is {retention.most}"
    oldest = "" if kept.oldest is None else moment_text(kept.oldest)
    age = seconds_text(retention.millis // 1000)
    return f"{counted} are kept, the oldest of {oldest}; snapshot.time-retained is {age}"
