"""Which merge engine a table has.

Asked by `table_options` for what engines mean to planning, and where merge functions are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class MergeEngine(StrEnum):
    """The merge engines of this release, as options write them."""

    DEDUPLICATE = "deduplicate"
    PARTIAL_UPDATE = "partial-update"
    AGGREGATION = "aggregation"
    FIRST_ROW = "first-row"


def merge_engine(options: Mapping[str, str]) -> MergeEngine | None:
    """The engine of a table, None for one that this release does not know: such tables are refused."""
    written = options.get("merge-engine", MergeEngine.DEDUPLICATE).strip().lower()
    return next((engine for engine in MergeEngine if engine == written), None)
