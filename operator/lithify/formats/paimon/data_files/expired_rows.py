"""Filters out expired rows before the merge.

Used by `reader`. An expired row does not take part in the merge at all, so an older row of its key that has
not expired becomes visible again, as with Paimon's `RecordLevelExpire`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa

from lithify.columns.order import EPOCH_DAY, INSTANT, instants
from lithify.formats.paimon.options.record_expiry import Seconds, seconds_of_integers, seconds_of_millis

_DAY_SECONDS = 86_400
_PER_MILLI = {"ms": 1, "us": 1000, "ns": 1_000_000}


@dataclass(frozen=True, slots=True)
class ExpiredRows:
    """The rule by which a task filters out rows.

    Attributes:
        column: the column with a row's time.
        root: root of the column's Paimon type.
        before: rows with an earlier time (seconds since the epoch) have expired.
    """

    column: str
    root: str
    before: int

    def leave_out(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that have not expired."""
        times = rows.column(self.column)
        stays = (_seconds(times, self.root) >= self.before) | times.is_null().to_numpy(zero_copy_only=False)
        return rows if stays.all() else rows.filter(pa.array(stays))


def _seconds(times: pa.Array, root: str) -> Seconds:
    """Times in seconds since the epoch; arbitrary for nulls."""
    if times.type.equals(INSTANT):
        days, nanos = instants(times)
        return seconds_of_millis((days - EPOCH_DAY) * (_DAY_SECONDS * 1000) + nanos // 1_000_000)
    if pa.types.is_timestamp(times.type):
        ticks = _values(times.view(pa.int64()))
        if times.type.unit == "s":
            return ticks
        return seconds_of_millis(ticks // _PER_MILLI[times.type.unit])
    return seconds_of_integers(_values(times.cast(pa.int64())), root)


def _values(column: pa.Array) -> Seconds:
    return cast(Seconds, column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64))
