"""Expired rows in a table's buckets: bytes of the files with expired rows, and when the next file gets some.

Called by `due_work`. Pure. Observation rounds expiry to full hours: in a table with many buckets some file is
always about to get its first expired row, and every change triggers another observation. Runs are exact.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa

from lithify.clock import epoch_millis
from lithify.columns.column_groups import ColumnGroups, integers, is_null, nullable
from lithify.formats.paimon.model import LATEST_MILLIS, PLACE
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions

_HOUR_MILLIS = 3_600_000
_LATEST_SECONDS = 1 << 50
"""Beyond any calendar date, and still within 64 bits when converted to milliseconds."""


def by_the_hour(policy: MergeTreeOptions, now: datetime) -> MergeTreeOptions:
    """A policy whose expiry at `now` equals that of the last full hour."""
    if policy.expire_seconds is None:
        return policy
    return replace(policy, expire_seconds=policy.expire_seconds + epoch_millis(now) % _HOUR_MILLIS // 1000)


def expiry_columns(files: pa.Table, policy: MergeTreeOptions, now: datetime) -> dict[str, pa.Array]:
    """Expiry columns of each bucket, in the order of their first files.

    Args:
        files: all live files of these buckets.
        policy: the table's policy, which says when rows expire.
        now: an aware time.

    Returns:
        `expired_bytes`: bytes of files with expired rows; `expires_at`: when the next file gets some, in
        milliseconds since the epoch, rounded up to the full hour, null for never.
    """
    groups = ColumnGroups(files, PLACE)
    before = by_the_hour(policy, now).expired_before(now)
    if before is None or policy.expire_seconds is None:
        return {
            "expired_bytes": pa.array(np.zeros(len(groups), dtype=np.int64)),
            "expires_at": pa.nulls(len(groups), pa.int64()),
        }
    times = np.minimum(integers(files["earliest"]), _LATEST_SECONDS)
    known = ~is_null(files["earliest"])
    is_expired, is_ahead = known & (times < before), known & (times >= before)
    ends = (np.where(is_ahead, times, _LATEST_SECONDS) + policy.expire_seconds + 1) * 1000
    hours = -(groups.max(-ends) // _HOUR_MILLIS) * _HOUR_MILLIS
    return {
        "expired_bytes": pa.array(groups.sum(np.where(is_expired, integers(files["size"]), 0))),
        "expires_at": nullable(hours, groups.any(is_ahead) & (hours <= LATEST_MILLIS)),
    }
