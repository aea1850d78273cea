"""The merge engine of a table.

Used by `table_options` for the engine's effect on planning, and where merge functions are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class MergeEngine(StrEnum):
    """The merge engines that this release supports, by their option values."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


def merge_engine(options: Mapping[str, str]) -> MergeEngine | None:
    """The engine of a table, None if this release does not support it; such tables are refused."""
    written = options.get("merge-engine", MergeEngine.DEDUPLICATE).strip().lower()
    return next((engine for engine in MergeEngine if engine == written), None)
