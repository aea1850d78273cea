"""The details that units of keyed tables have; see `formats.protocol.details`. Pure."""

from __future__ import annotations

from lithify.formats.protocol.details import DetailKind

CHANGES = DetailKind("changes", label="changes", total="changes")
"""Of a unit: number of change files that are merged."""
