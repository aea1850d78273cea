"""Column statistics of a data file: from its rows or its footer, reduced by a statistics mode.

Used by the formats and by the adapters, which store them in their manifests. The modes are those common to
table formats: none, counts, truncate(n), full.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lithify.files.types import ColumnType, Raw

_TRUNCATE = re.compile(r"truncate\((\d+)\)")
_KEY_MODE = "truncate(128)"
_LAST_CODE_POINT = 0x10FFFF
_LARGEST_BYTE = 0xFF
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


@dataclass(slots=True)
class FloatBounds:
    """Gathers what manifests say of a FLOAT or DOUBLE column from its rows.

    Attributes:
        least: the smallest number, NaN left out; None for none.
        most: the greatest number.
        nans: number of NaNs, None if unknown.
        nulls: number of nulls, None if unknown.
        is_bounded: whether the bounds are those of all rows.
    """

    least: float | None = None
    most: float | None = None
    nans: int | None = 0
    nulls: int | None = 0
    is_bounded: bool = True

    def add(self, rows: pa.ChunkedArray) -> None:
        """Adds rows of the column."""
        if self.nulls is not None:
            self.nulls += rows.null_count
        values = rows.drop_null().to_numpy()
        if len(values) and np.isnan(values.min()):  # the minimum is NaN if any value is
            is_nan = np.isnan(values)
            if self.nans is not None:
                self.nans += int(np.count_nonzero(is_nan))
            values = values[~is_nan]
        if len(values):
            self.widen(float(values.min()), float(values.max()))

    def widen(self, least: float, most: float) -> None:
        """Adds values between two that are among them."""
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The bounds, None if there are none; a zero gets the sign that covers both zeros."""
        if not self.is_bounded or self.least is None or self.most is None:
            return None
        return self.least or -0.0, self.most or 0.0


class FloatStats(FloatBounds):
    """Gathers the statistics of a FLOAT or DOUBLE column from its rows; with a NaN there are no bounds.

    Paimon and Spark order NaN above all numbers, but Parquet leaves it out of its statistics, so readers
    would skip rows that match.
    """

    @property
    def stats(self) -> ColumnStats:
        """Statistics of all rows so far."""
        if self.nans or self.bounds is None:
            return ColumnStats(nulls=self.nulls)
        return ColumnStats(*self.bounds, self.nulls)


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


def bytes_up(value: bytes, length: int) -> bytes | None:
    """The least value of at most `length` bytes that is not below, if there is one."""
    if len(value) <= length:
        return value
    for at in range(length - 1, -1, -1):
        if value[at] < _LARGEST_BYTE:
            return value[:at] + bytes([value[at] + 1])
    return None
