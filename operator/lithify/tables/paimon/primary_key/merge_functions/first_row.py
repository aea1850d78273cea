"""The merge engine first-row: the oldest record of a key stays.

Made by `choosing`, told by `planning` which runs are which, shipped with tasks, called by the merge. Paimon
looks up in the levels above the output whether a key is there already, and leaves out what is new then, since
readers take these levels as they are. Here the keys of those levels take part in the merge as runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from lithify.errors import UnsupportedTable
from lithify.rewriting.functions import LoneRecords, Merged
from lithify.rewriting.groups import Groups
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.paimon.primary_key.merge_functions.ordered_records import OrderedRecords

_NO_RUN = 1 << 62
NO_DELETES = (
    "a record retracts its key (-U or -D), which first-row takes with the option ignore-delete = true only; "
    "Paimon fails here, too"
)


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The merge function.

    Attributes:
        ignore_retractions: records that retract count as if they were not there.
        looks_up: whether files of level 0 are among the runs, so that keys are looked up.
        first_upper_run: the number of the first run above level 0.
        first_known_run: the number of the first run of which the keys alone take part.
    """

    ignore_retractions: bool = False
    looks_up: bool = False
    first_upper_run: int = _NO_RUN
    first_known_run: int = _NO_RUN

    @property
    def columns(self) -> Collection[str]:
        """None: records are only picked."""
        return ()

    @property
    def lone_records(self) -> LoneRecords:
        """They are looked up, too; runs above level 0 have been, and keep their lone records as they are."""
        return LoneRecords.MERGED if self.looks_up else LoneRecords.KEPT

    def merge(self, groups: Groups) -> Merged:
        """The oldest record of each key, none of a key that is known from the levels above.

        Raises:
            UnsupportedTable: a record retracts its key, and these are not ignored.
        """
        records = OrderedRecords(groups)
        runs = groups.runs[records.rows]
        known = runs >= self.first_known_run
        if not self.ignore_retractions and (records.retracts & ~known).any():
            raise UnsupportedTable("the merge engine first-row", (NO_DELETES,))
        counts = ~known & ~records.retracts
        first = records.first(counts)
        is_new = records.first(known) < 0
        was_looked_up = records.first(counts & (runs >= self.first_upper_run)) >= 0
        rows = records.rows[np.where(first < 0, records.starts, first)]
        return Merged(rows, kept=(first >= 0) & (is_new | was_looked_up))

    def reduce(self, groups: Groups) -> IntPart | None:
        """The oldest record, the oldest from above level 0, and one that only tells that the key is known."""
        records = OrderedRecords(groups)
        if not self.looks_up or records.retracts.any():
            return None
        runs = groups.runs[records.rows]
        known = runs >= self.first_known_run
        needed: Mask = np.zeros(len(records), dtype=bool)
        for chosen in (~known, ~known & (runs >= self.first_upper_run), known):
            first = records.first(chosen)
            needed[first[first >= 0]] = True
        return records.rows[needed]
