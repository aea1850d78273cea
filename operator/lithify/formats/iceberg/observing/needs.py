"""The maintenance that an Iceberg table could use, from what an observation knows. Pure. Called by `summary`.

An estimate: whether a branch, a tag or a reader keeps a snapshot, the run itself finds out. Iceberg's writers
never expire snapshots, so no table asks for it: only a policy does.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from lithify.amounts import bytes_text, count_of, moment_text
from lithify.errors import InvalidOption
from lithify.formats.iceberg.table.retention_rules import SNAPSHOT_AGE, read_rules
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots, MaintenanceNeed


def expiry_needs(
    kept: KeptSnapshots, properties: Mapping[str, str], now: datetime
) -> tuple[MaintenanceNeed, ...]:
    """Whether snapshots may expire by the table's properties; `now` is aware.

    Properties that only an expiry refuses need nothing: they must not make an observation fail.
    """
    try:
        rules = read_rules(properties)
    except InvalidOption:
        return ()
    if kept.oldest is None or kept.count <= rules.min_snapshots:
        return ()
    if (now - kept.oldest) // timedelta(milliseconds=1) <= rules.max_snapshot_age:
        return ()
    detail = (
        f"{count_of(kept.count, 'snapshot')} are kept, the oldest of {moment_text(kept.oldest)}; "
        f"{SNAPSHOT_AGE} is {rules.max_snapshot_age}"
    )
    size = kept.expired_bytes
    if size:
        detail = f"{detail}; the older ones hold at least {bytes_text(size)} that the newest does not need"
    return (MaintenanceNeed(MaintenanceKind.EXPIRE_SNAPSHOTS, detail, is_asked=False, bytes=size),)
