"""Ids of snapshots: Paimon numbers its snapshots; outside of the adapter ids are opaque text.

Used wherever an id enters or leaves the adapter; within it snapshots are numbers.
"""

from __future__ import annotations

import re

from lithify.tables.model import SnapshotId

_NUMBER = re.compile(r"[0-9]{1,19}", re.ASCII)


def snapshot_id(number: int) -> SnapshotId:
    """The id of the snapshot with a number."""
    return SnapshotId(str(number))


def snapshot_number(known: SnapshotId) -> int | None:
    """The number that an id stands for; None if it is not the id of a Paimon snapshot."""
    return int(known) if _NUMBER.fullmatch(known) else None
