"""The maintenance that a table needs, from what an observation knows. Called by `summary`. Pure.

An estimate: whether consumers, tags or readers keep a snapshot, the run itself finds out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from lithify.amounts import bytes_text, count_of, moment_text, seconds_text
from lithify.errors import InvalidOption
from lithify.formats.paimon.options.retention_options import RetentionOptions, read_retention
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots, MaintenanceNeed


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
        detail = (
            f"{detail}; older ones than the newest hold at least {bytes_text(size)} that it does not need"
        )
    return FoundNeed((MaintenanceNeed(MaintenanceKind.EXPIRE_SNAPSHOTS, detail, is_asked, size),))


def earliest(*moments: datetime | None) -> datetime | None:
    """The earliest of some times; None if there is none."""
    return min((moment for moment in moments if moment is not None), default=None)


def _expiry_text(kept: KeptSnapshots, retention: RetentionOptions) -> str:
    counted = count_of(kept.count, "snapshot")
    if kept.count > retention.most:
        return f"{counted} are kept, snapshot.num-retained.max is {retention.most}"
    oldest = "" if kept.oldest is None else moment_text(kept.oldest)
    age = seconds_text(retention.millis // 1000)
    return f"{counted} are kept, the oldest of {oldest}; snapshot.time-retained is {age}"
