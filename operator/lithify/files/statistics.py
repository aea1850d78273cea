"""Column statistics of a data file: from its rows or its footer, reduced by a statistics mode.

Used by the formats and by the adapters, which store them in their manifests. The modes are those common to
table formats: none, counts, truncate(n), full.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lithify.files.types import ColumnType, Raw

_TRUNCATE = re.compile(r"truncate\((\d+)\)")
_KEY_MODE = "truncate(128)"
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class StatsModes:
    """Which statistics each column gets.

    Attributes:
        default: `metadata.stats-mode`.
        by_column: `fields.<column>.stats-mode`.
        first_columns: number of columns that get the default mode, the rest get none; negative for all.
        dense: whether columns without statistics are omitted (`metadata.stats-dense-store`).
    """

    default: str = "truncate(16)"
    by_column: Mapping[str, str] = field(default_factory=dict)
    first_columns: int = -1
    dense: bool = True

    def of_columns(self, columns: Iterable[str], always: frozenset[str] = frozenset()) -> list[str]:
        """The mode of each column; those in `always` keep the mode of key columns."""
        modes, counted = [], 0
        for column in columns:
            if column in self.by_column:
                modes.append(self.by_column[column])
            elif column in always:
                modes.append(_KEY_MODE)
                continue
            else:
                skipped = 0 <= self.first_columns <= counted
                modes.append("none" if skipped else self.default)
            counted += 1
        return modes


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """Statistics of one column; None where unknown."""

    minimum: Raw = None
    maximum: Raw = None
    nulls: int | None = None

    @property
    def is_none(self) -> bool:
        """Whether all statistics are unknown."""
        return self.minimum is None and self.maximum is None and self.nulls is None


class FloatStats:
    """Gathers the statistics of a FLOAT or DOUBLE column from its rows; with a NaN there are no bounds.

    Paimon and Spark order NaN above all numbers, but Parquet leaves it out of its statistics, so readers
    would skip rows that match.
    """

    def __init__(self) -> None:
        self._low = math.inf
        self._high = -math.inf
        self._nulls = 0

    def add(self, rows: pa.ChunkedArray) -> None:
        """Adds rows of the column."""
        self._nulls += rows.null_count
        values = rows.drop_null().to_numpy()
        self._low = float(np.minimum(self._low, values.min(initial=math.inf)))
        self._high = float(np.maximum(self._high, values.max(initial=-math.inf)))

    @property
    def stats(self) -> ColumnStats:
        """Statistics of all rows so far. Zero bounds get the sign that covers both zeros."""
        if not self._low <= self._high:
            return ColumnStats(nulls=self._nulls)
        return ColumnStats(self._low or -0.0, self._high or 0.0, self._nulls)


def reduced(stats: ColumnStats, column: ColumnType, mode: str) -> ColumnStats:
    """Reduces a column's statistics to those that a mode keeps.

    Truncated maxima are rounded up to remain an upper bound; where that is impossible neither bound is kept.
    """
    if mode == "none":
        return ColumnStats()
    if mode == "counts":
        return ColumnStats(nulls=stats.nulls)
    match = _TRUNCATE.fullmatch(mode)
    if match is None or not column.is_string or not isinstance(stats.maximum, bytes):
        return stats
    length = int(match[1])
    try:
        upper = truncated_up(stats.maximum.decode(), length)
        lower = stats.minimum.decode()[:length] if isinstance(stats.minimum, bytes) else ""
    except UnicodeDecodeError:  # some writers do not validate text as UTF-8
        upper, lower = None, ""
    if upper is None:
        return ColumnStats(nulls=stats.nulls)
    return ColumnStats(lower.encode(), upper.encode(), stats.nulls)


def truncated_up(text: str, length: int) -> str | None:
    """The shortest text of at most `length` code points that is not below `text`, if there is one."""
    if len(text) <= length:
        return text
    for position in range(length - 1, -1, -1):
        following = ord(text[position]) + 1
        if following <= _LAST_CODE_POINT and following not in _SURROGATES:
            return text[:position] + chr(following)
    return None
