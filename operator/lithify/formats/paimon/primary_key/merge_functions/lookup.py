"""Merges with lookups: records of level 0 are merged with the lowest record of their key above.

Made by `lookups`, shipped with tasks, called by the merge. With lookups, every record above level 0 has been
merged with all records of its key above it when it was written. So only the lowest one takes part, whether
it is among the inputs or in the levels above the output, whose rows take part in the merge as known runs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.functions import LoneRecords, Merged, MergeFunction
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask


@dataclass(frozen=True, slots=True)
class Lookup:
    """The merge function.

    Attributes:
        function: merges the records that take part.
        looks_up: whether files of level 0 are among the runs, so that keys are looked up.
        first_upper_run: the number of the first run above level 0.
        first_known_run: the number of the first run above the output level.
    """

    function: MergeFunction
    looks_up: bool
    first_upper_run: int
    first_known_run: int

    @property
    def columns(self) -> Collection[str]:
        """Those of the function."""
        return self.function.columns

    @property
    def lone_records(self) -> LoneRecords:
        """Merged if keys are looked up, as Paimon does; otherwise kept."""
        return LoneRecords.MERGED if self.looks_up else LoneRecords.KEPT

    def merge(self, groups: Groups) -> Merged:
        """The function's results; keys that only known runs have are left out.

        Raises:
            UnsupportedTable: a record has a kind that the function does not support.
        """
        is_input = groups.runs < self.first_known_run
        chosen = groups.runs < self.first_upper_run
        lowest = lowest_above(groups, self.first_upper_run)
        chosen[lowest[lowest >= 0]] = True
        if not is_input.all():
            numbers = groups.numbers_of(np.arange(groups.rows.num_rows))
            is_grouped = numbers >= 0
            has_input = np.zeros(len(groups), dtype=bool)
            has_input[numbers[is_input & is_grouped]] = True
            chosen &= is_grouped & has_input[numbers]
        if not chosen.any():
            return Merged(groups.members, kept=np.zeros(len(groups), dtype=bool))
        some, left = groups.among(chosen)
        merged = self.function.merge(some)
        return merged if left.all() else spread(merged, left, groups)

    def reduce(self, groups: Groups) -> IntPart | None:
        """All records: the lowest level is not known before all runs are."""
        del groups
        return None


def lowest_above(groups: Groups, first_upper_run: int) -> IntPart:
    """The position in `rows` of each group's record of the lowest level above level 0, -1 for none."""
    upper = np.flatnonzero(groups.runs >= first_upper_run)
    upper = upper[np.argsort(-groups.runs[upper], kind="stable")]
    numbers = groups.numbers_of(upper)
    lowest = np.full(len(groups), -1)
    # The last of several wins: the lowest run. Rows of no group are left out.
    lowest[numbers[numbers >= 0]] = upper[numbers >= 0]
    return lowest


def spread(merged: Merged, left: Mask, groups: Groups) -> Merged:
    """The results of all groups, of which only some have one."""
    numbers = np.cumsum(left) - 1
    places = np.where(left, numbers, 0)
    kept = left.copy()
    if merged.kept is not None:
        kept[left] = merged.kept
    return Merged(
        np.where(left, merged.records[places], groups.members),
        {name: positions[places] for name, positions in merged.picked.items()},
        {name: values.take(pa.array(places)) for name, values in merged.computed.items()},
        kept,
    )
