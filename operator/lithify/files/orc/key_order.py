"""Why keys of ORC files may be out of order: Java's ORC library writes some values as others.

Made by `merge_specs` for the merge, which asks it about keys that are out of order. Pure. Such a run is not
sorted again: Java merges it as it is, so one key may have several rows to it, and sorting it would change
what Java reads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lithify.columns.order import EPOCH_DAY, KeyValue
from lithify.engine.rewrite.records import KeyParts
from lithify.files.names import format_of
from lithify.files.types import ColumnType, arrow_type

_SPACE = 0x20
_DAY_TICKS = {"ms": 86_400_000, "us": 86_400_000_000}

_ADVICE = (
    "Java merges such rows without order too, and may keep several of one key; let the engine that writes "
    "the table correct these keys and rewrite the bucket with file.format = parquet, which keeps keys "
    "as they are"
)
_PADDED = (
    "ORC pads values of CHAR with spaces, so keys with characters below the space are sorted in the order of "
    f"the padded values, but read in another; {_ADVICE}"
)
_FRACTIONS = (
    "Java's ORC library stores fractions of the last second before 1970 as fractions of the first second of "
    f"1970, so these keys are no longer in order, or equal; {_ADVICE}"
)


@dataclass(frozen=True, slots=True)
class OrcKeyOrder:
    """The key columns of a table, by name; a `KnownDisorder`."""

    columns: Mapping[str, ColumnType]

    def problem(self, origin: str, column: str, before: KeyParts, after: KeyParts) -> str | None:
        """Why ORC puts these two values of a column out of order, None if it does not."""
        if format_of(origin) != "orc":
            return None
        kind = self.columns[column]
        if kind.root == "CHAR":
            return _PADDED if any(map(_has_control, (*before, *after))) else None
        if kind.is_timestamp:
            return _FRACTIONS if _is_near_1970(kind, before) and _is_near_1970(kind, after) else None
        return None


def _has_control(value: KeyValue) -> bool:
    return isinstance(value, bytes) and any(octet < _SPACE for octet in value)


def _is_near_1970(kind: ColumnType, parts: KeyParts) -> bool:
    """Whether a timestamp is within a day of 1970-01-01: time zones move the second that is affected."""
    value = int(parts[0])
    if kind.is_nanos:
        return abs(value - EPOCH_DAY) <= 1
    return abs(value) <= _DAY_TICKS[arrow_type(kind).unit]
