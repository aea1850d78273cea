"""Merge functions: what becomes of the records of a key.

A `MergeSpec` names one; `merge` calls it with the groups of a round. A function works on whole columns and
has no state: it is shipped to executors with the task. Format adapters choose one and may bring their own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np
import pyarrow as pa

from lithify.rewriting.groups import Groups
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask


@dataclass(frozen=True, slots=True)
class Merged:
    """At most one record for each group, in the order of the groups.

    Attributes:
        records: the position of the record that stands for each group: columns that are neither in `picked`
            nor in `computed` come from it.
        picked: columns whose values come from other records: their positions, one a group, -1 for null.
        computed: columns that are made, one value a group. The row kind may be among either of them.
        kept: which groups leave a record, None if all do. The other values of a group that leaves none
            are not looked at.
    """

    records: IntPart
    picked: Mapping[str, IntPart] = field(default_factory=dict)
    computed: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: Mask | None = None

    def without(self, dropped: Mask) -> Merged:
        """Without the records of some groups."""
        kept = ~dropped if self.kept is None else self.kept & ~dropped
        return Merged(self.records, self.picked, self.computed, kept)

    def compacted(self) -> Merged:
        """Only what is kept."""
        if self.kept is None or self.kept.all():
            return Merged(self.records, self.picked, self.computed)
        return Merged(
            self.records[self.kept],
            {name: places[self.kept] for name, places in self.picked.items()},
            {name: values.filter(pa.array(self.kept)) for name, values in self.computed.items()},
        )


class LoneRecords(Enum):
    """What becomes of the only record of a key."""

    KEPT = "kept"
    """It is the result as it is; the function never meets it."""
    UNCHANGED = "unchanged"
    """The function may meet it and would leave it as it is, so whole runs of them need not be merged."""
    MERGED = "merged"
    """It goes through the function."""


class MergeFunction(Protocol):
    """Makes at most one record of all records of a key."""

    @property
    def columns(self) -> Collection[str]:
        """Columns that it computes with, beside key and sequence; they are read without dictionaries."""
        ...

    @property
    def lone_records(self) -> LoneRecords:
        """What becomes of the only record of a key."""
        ...

    def merge(self, groups: Groups) -> Merged:
        """The records that the groups become.

        Every group is complete, and never split, however many records it has. Groups of one record are not
        among them if `lone_records` is KEPT.

        Raises:
            UnsupportedTable: there is a record that the function must not meet.
        """
        ...

    def reduce(self, groups: Groups) -> IntPart | None:
        """The records on which the outcome can depend, when only some of a section's runs are at hand.

        Called in passes over local disk. Any of the runs may be among them, in particular not just the oldest
        ones: records of the other runs may come before, between and after those of a group. A function that
        looks at order or counts therefore needs all of them, unless it can tell.

        Returns:
            Their positions, in the order of `groups.order`; None for all of them.
        """
        ...


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The newest record of a key.

    Attributes:
        ignore_retractions: records that retract never replace or remove another one. A key that has only
            such records leaves nothing, but a lone record stays as it is.
    """

    ignore_retractions: bool = False

    @property
    def columns(self) -> Collection[str]:
        """None: records are only picked."""
        return ()

    @property
    def lone_records(self) -> LoneRecords:
        """A lone record is the newest one; if it retracts it stays, too."""
        return LoneRecords.UNCHANGED

    def merge(self, groups: Groups) -> Merged:
        """The newest record of each group."""
        if not self.ignore_retractions:
            return Merged(groups.newest())
        newest = np.where(groups.sizes == 1, groups.members, groups.newest_of(~groups.retracts))
        return Merged(newest, kept=newest >= 0)

    def reduce(self, groups: Groups) -> IntPart:
        """The newest record of each group; where all retract the newest two, enough to leave nothing."""
        if not self.ignore_retractions:
            return groups.newest()
        newest = groups.newest_of(~groups.retracts)
        order, only_retractions = groups.order, newest < 0
        needed = np.zeros(groups.rows.num_rows, dtype=bool)
        needed[newest[~only_retractions]] = True
        needed[order[groups.ends[only_retractions] - 1]] = True
        needed[order[groups.ends[only_retractions & (groups.sizes > 1)] - 2]] = True
        return order[needed[order]]


def merge_groups(function: MergeFunction, groups: Groups) -> Merged:
    """Merges groups of any sizes, lone records as the function wants it."""
    if function.lone_records is not LoneRecords.KEPT:
        return function.merge(groups)
    several = groups.sizes > 1
    if not several.any():
        return Merged(groups.members)
    return _beside_lone_records(function.merge(groups.only(several)), groups, several)


def _beside_lone_records(merged: Merged, groups: Groups, several: Mask) -> Merged:
    """The result of groups of several records, put between the lone records."""
    lone = groups.members
    picked = {name: _between(places, lone, several) for name, places in merged.picked.items()}
    computed = {
        name: _computed_between(values, groups.rows.column(name), lone, several)
        for name, values in merged.computed.items()
    }
    kept = None
    if merged.kept is not None:
        kept = np.ones(len(several), dtype=bool)
        kept[several] = merged.kept
    return Merged(_between(merged.records, lone, several), picked, computed, kept)


def _between(places: IntPart, lone: IntPart, several: Mask) -> IntPart:
    result = lone.copy()
    result[several] = places
    return result


def _computed_between(values: pa.Array, column: pa.Array, lone: IntPart, several: Mask) -> pa.Array:
    both = pa.concat_arrays([values.cast(column.type), column.take(pa.array(lone[~several]))])
    places = np.empty(len(several), dtype=np.int64)
    places[several] = np.arange(len(values))
    places[~several] = np.arange(len(values), len(both))
    return both.take(pa.array(places))
