"""The details that Iceberg's units and reports have; see `formats.protocol.details`. Pure."""

from __future__ import annotations

from lithify.amounts import count_of
from lithify.formats.protocol.details import DetailKind


def _removed(rows: int) -> str:
    return f"{count_of(rows, 'deleted row')} removed"


def _carried(rows: int) -> str:
    return f"{count_of(rows, 'late delete')} carried over" if rows else ""


DELETES = DetailKind("deletes", label="deletes", total="deletes")
"""Of a unit: number of delete files and vectors that apply to its files."""
REMOVED_ROWS = DetailKind("removed_rows", total="removed_rows", said=_removed)
"""Of a report: number of rows that were deleted, and that the new files no longer have."""
CARRIED_ROWS = DetailKind("carried_rows", total="carried_rows", said=_carried)
"""Of a report: number of rows that others deleted while the group was rewritten, and that the commit deletes
in its new files."""
REPORTED = (REMOVED_ROWS, CARRIED_ROWS)
"""The details of a report."""
