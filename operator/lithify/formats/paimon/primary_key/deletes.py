"""Detects records that retract their key in a data file without relying on its manifest entry."""

from __future__ import annotations

from lithify.files.model import FileColumn
from lithify.files.registry import Readers
from lithify.formats.paimon.schema.schema import RETRACTING_KINDS, SYSTEM_COLUMNS, VALUE_KIND

_KIND = FileColumn(VALUE_KIND, SYSTEM_COLUMNS[VALUE_KIND])


def hold_deletes(readers: Readers, path: str) -> bool:
    """Whether any row of a file retracts its key; usually decided by the footer."""
    return readers.hold_any(path, _KIND, RETRACTING_KINDS)
