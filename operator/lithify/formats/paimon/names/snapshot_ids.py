"""Ids of snapshots: numbers inside the Paimon adapter, opaque text outside.

Used wherever an id enters or leaves the adapter.
"""

from __future__ import annotations

import re

from lithify.formats.protocol.model import SnapshotId

_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


def snapshot_id(number: int) -> SnapshotId:
    """The id of a snapshot number."""
    return SnapshotId(str(number))


def snapshot_number(known: SnapshotId) -> int | None:
    """The snapshot number of an id; None if it is not the id of a Paimon snapshot."""
    return int(known) if _NUMBER.fullmatch(known) else None
