"""Column statistics from Parquet footers, as raw values.

Called by the reader beside this module (to skip row groups), and for manifests by the writer and by adapters.
`footer_stats` has no bounds for binaries, because Paimon compares them with signed bytes there, nor for
timestamps of nanoseconds, whose INT96 has no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq

from lithify.files.statistics import ColumnStats
from lithify.files.types import ColumnType


def footer_stats(footer: pq.FileMetaData, index: int, column: ColumnType) -> ColumnStats:
    """Statistics of a column over all row groups of a file; not for columns of floats."""
    chunks = [footer.row_group(number).column(index) for number in range(footer.num_row_groups)]
    nulls = nulls_of(chunks)
    if nulls is None:
        return ColumnStats()
    groups = [chunk.statistics for chunk in chunks]
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


def nulls_of(chunks: Sequence[pq.ColumnChunkMetaData]) -> int | None:
    """The number of nulls in column chunks, None if any does not tell it."""
    found = [chunk.statistics for chunk in chunks]
    if not all(each is not None and each.has_null_count for each in found):
        return None
    return sum(int(each.null_count) for each in found)


def bounds_of(chunks: Sequence[pq.ColumnChunkMetaData]) -> tuple[Any, Any] | None:
    """The least and greatest raw value of column chunks, None if any does not tell, or there is no value."""
    lows, highs = [], []
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is not None and statistics.has_min_max:
            lows.append(_raw_of_chunk(statistics.min_raw, chunk))
            highs.append(_raw_of_chunk(statistics.max_raw, chunk))
        elif statistics is None or statistics.null_count != chunk.num_values:
            return None
    return (min(lows), max(highs)) if lows else None


def _raw_of_chunk(value: Any, chunk: pq.ColumnChunkMetaData) -> Any:
    is_signed_bytes = chunk.statistics.logical_type.type == "DECIMAL" and isinstance(value, bytes)
    return int.from_bytes(value, "big", signed=True) if is_signed_bytes else value
