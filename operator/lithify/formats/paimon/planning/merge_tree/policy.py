"""The parameters of planning a merge tree: the table's compaction options as numbers.

The format adapters create a `MergeTreeOptions` from table options; the planners only read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lithify.clock import epoch_millis
from lithify.formats.paimon.planning.universal.policy import UniversalOptions


class LoggedUpgrades(StrEnum):
    """Which upgraded files are read because their rows go to the changelog."""

    NONE = "none"
    TO_TOP = "to the top level"
    OF_LEVEL0 = "of level 0"


@dataclass(frozen=True, slots=True)
class MergeTreeOptions(UniversalOptions):
    """The options of one table that steer planning. Picked files below `small_file_size` are joined.

    Attributes:
        force_rewrite: no file is ever upgraded in metadata (`compaction.force-rewrite-all-files`).
        looks_up: a level-0 file is upgraded only to the top level and otherwise rewritten, because its rows
            are merged with rows of their keys in levels above, or dropped for them.
        has_vectors: rows of levels above the output that level 0 supersedes are deleted by deletion vectors,
            so no level but 0 has deletes (`deletion-vectors.enabled`).
        writers_compact: writers of a table with deletion vectors compact, too, so that a bucket is only
            compacted as a whole (see `plan.LEFT_TO_WRITERS`).
        reformatted: levels to which a level-0 file is always rewritten, because files there have another
            format and rows are looked up.
        logged_upgrades: which upgraded files are read for the changelog.
        expire_seconds: seconds after a row's time until the row expires; None if rows never expire.
    """

    force_rewrite: bool = False
    looks_up: bool = False
    has_vectors: bool = False
    writers_compact: bool = False
    reformatted: frozenset[int] = frozenset()
    logged_upgrades: LoggedUpgrades = LoggedUpgrades.NONE
    expire_seconds: int | None = None

    def expired_before(self, now: datetime) -> int | None:
        """Rows with an earlier time (seconds since the epoch) have expired; None if rows never expire."""
        return None if self.expire_seconds is None else epoch_millis(now) // 1000 - self.expire_seconds
