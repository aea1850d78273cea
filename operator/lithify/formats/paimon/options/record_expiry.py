"""Record-level expiry: rows that a compaction drops because of a time in one of their columns.

Read by `table_options`, used where files are planned (`metadata.earliest_times`) and rows are read
(`data_files.expired_rows`). Pure. Follows Paimon's `RecordLevelExpire`: times have whole seconds, a BIGINT
is in milliseconds if it is at least 10^12, and a row whose time is null never expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from lithify.errors import InvalidOption
from lithify.files.types import ColumnType
from lithify.formats.paimon.options.option_reader import OptionReader, parse_age

EXPIRE_TIME, TIME_FIELD = "record-level.expire-time", "record-level.time-field"
_LEAST_MILLIS = 1_000_000_000_000
_PER_SECOND = 1000
_TIME_ROOTS = frozenset({"INT", "BIGINT", "TIMESTAMP", "TIMESTAMP_LTZ"})

Seconds: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RecordExpiry:
    """Which rows expire.

    Attributes:
        column: the column with a row's time.
        seconds: seconds after that time until a row expires.
    """

    column: str
    seconds: int

    def problem(self, kind: ColumnType | None) -> str | None:
        """Why Java would not compact a table with this option; None if it would.

        Args:
            kind: the type of `column`, None if there is no such column.
        """
        if kind is None:
            return "the table has no such column"
        if kind.root not in _TIME_ROOTS:
            return f"the column is {kind.root}; it must be INT, BIGINT or TIMESTAMP"
        return None


def read_record_expiry(reader: OptionReader) -> RecordExpiry | None:
    """Reads the table's record-level expiry; None if it has none.

    Raises:
        InvalidOption: the time cannot be parsed, or the column is missing.
    """
    millis = reader.optional(EXPIRE_TIME, parse_age)
    if millis is None:
        return None
    column = reader.text(TIME_FIELD, "", stripped=False)
    if not column:
        raise InvalidOption(TIME_FIELD, f"it must name the column with the time, since {EXPIRE_TIME} is set")
    return RecordExpiry(column, millis // _PER_SECOND)


def seconds_of_integers(values: Seconds, root: str) -> Seconds:
    """The times in an INT or BIGINT column, in seconds since the epoch."""
    if root == "INT":
        return values
    return np.where(values >= _LEAST_MILLIS, values // _PER_SECOND, values)


def seconds_of_millis(millis: Seconds) -> Seconds:
    """Converts milliseconds since the epoch to seconds, rounded towards zero like Java's division."""
    return np.where(millis < 0, -(-millis // _PER_SECOND), millis // _PER_SECOND)
