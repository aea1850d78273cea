"""The merge engine first-row: keeps the oldest record of a key.

Made by `choosing`, given run numbers by `lookups`, shipped with tasks, called by the merge. Paimon looks up
each key in the levels above the output and drops new records of keys found there, since readers do not merge
these levels. Here the keys of those levels take part in the merge as runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from lithify.columns.order import IntPart
from lithify.engine.rewrite.functions import LoneRecords, Merged
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.primary_key.merge_functions.ordered_records import OrderedRecords

_NO_RUN = 1 << 62
NO_DELETES = (
    "a record retracts its key (-U or -D), which first-row takes with the option ignore-delete = true only; "
    "Paimon fails here, too"
)


@dataclass(frozen=True, slots=True)
class FirstRow:
    """The merge function.

    Attributes:
        ignore_retractions: whether records that retract are ignored.
        looks_up: whether files of level 0 are among the runs, so that keys are looked up.
        first_upper_run: the number of the first run above level 0.
        first_known_run: the number of the first run of which only the keys are read.
    """

    ignore_retractions: bool = False
    looks_up: bool = False
    first_upper_run: int = _NO_RUN
    first_known_run: int = _NO_RUN

    @property
    def columns(self) -> Collection[str]:
        """No columns: records are only selected."""
        return ()

    @property
    def lone_records(self) -> LoneRecords:
        """Merged if keys are looked up; otherwise kept, since runs above level 0 were looked up before."""
        return LoneRecords.MERGED if self.looks_up else LoneRecords.KEPT

    def merge(self, groups: Groups) -> Merged:
        """The oldest record of each key, except keys found in the levels above the output.

        Raises:
            UnsupportedTable: a record retracts its key, and retractions are not ignored.
        """
        is_known = groups.runs >= self.first_known_run
        if not is_known.any() and not groups.retracts.any():
            return Merged(groups.oldest())
        records = OrderedRecords(groups)
        runs, known = groups.runs[records.rows], is_known[records.rows]
        if not self.ignore_retractions and (records.retracts & ~known).any():
            raise UnsupportedTable("the merge engine first-row", (NO_DELETES,))
        counts = ~known & ~records.retracts
        first = records.first(counts)
        is_new = records.first(known) < 0
        was_looked_up = records.first(counts & (runs >= self.first_upper_run)) >= 0
        rows = records.rows[np.where(first < 0, records.starts, first)]
        return Merged(rows, kept=(first >= 0) & (is_new | was_looked_up))

    def reduce(self, groups: Groups) -> IntPart | None:
        """The oldest record, the oldest from above level 0, and one from the runs of known keys."""
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
