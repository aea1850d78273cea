"""Column statistics from Parquet footers, as raw values.

Called by the reader beside this module (to skip row groups) and the writer (for the manifest). There are no
bounds for binaries, because Paimon compares them with signed bytes there, nor for timestamps of nanoseconds,
whose INT96 has no order.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow.parquet as pq

from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType


def footer_stats(footer: pq.FileMetaData, index: int, column: ColumnType) -> ColumnStats:
    """Statistics of a column over all row groups of a file; not for columns of floats."""
    groups = [footer.row_group(number).column(index).statistics for number in range(footer.num_row_groups)]
    if any(group is None or not group.has_null_count for group in groups):
        return ColumnStats()
    nulls = sum(group.null_count for group in groups)
    bounds = [raw_bounds(group, column) for group in groups if group.num_values > 0]
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds) or column.is_binary:
        return ColumnStats(nulls=nulls)
    return ColumnStats(min(low for low, _ in known), max(high for _, high in known), nulls)


def raw_bounds(statistics: pq.Statistics | None, column: ColumnType) -> tuple[Any, Any] | None:
    """Minimum and maximum raw value of a column chunk, if its statistics have them."""
    if statistics is None or column.is_nanos or not statistics.has_min_max:
        return None
    low, high = _raw(statistics.min_raw, column), _raw(statistics.max_raw, column)
    return None if column.is_float and (math.isnan(low) or math.isnan(high)) else (low, high)


def _raw(value: Any, column: ColumnType) -> Any:
    if column.root == "DECIMAL" and isinstance(value, bytes):
        return int.from_bytes(value, "big", signed=True)
    if column.is_float:
        return float(value)
    return value if isinstance(value, bytes) else int(value)
