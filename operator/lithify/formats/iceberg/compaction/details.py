"""The details that Iceberg's units and reports have; see `formats.protocol.details`. Pure."""

from __future__ import annotations

from lithify.amounts import count_of
from lithify.formats.protocol.details import DetailKind


def _removed(rows: int) -> str:
    return f"{count_of(rows, 'deleted row')} removed"


DELETES = DetailKind("deletes", label="deletes", total="deletes")
"""Of a unit: number of delete files and vectors that apply to its files."""
REMOVED_ROWS = DetailKind("removed_rows", total="removed_rows", said=_removed)
"""Of a report: number of rows that were deleted, and that the new files no longer have."""
REPORTED = (REMOVED_ROWS,)
"""The details of a report."""
