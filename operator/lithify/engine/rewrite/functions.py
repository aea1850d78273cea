"""Merge functions: how the records of a key are merged.

A `MergeSpec` names one; `merge` calls it with the groups of a round. A function works on whole columns and is
stateless: it is shipped to executors with the task. Format adapters choose one and may bring their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns import offsets
from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask


@dataclass(frozen=True, slots=True)
class Merged:
    """At most one record for each group, in the order of the groups.

    Attributes:
        records: the position of the record that represents each group: columns that are neither in `picked`
            nor in `computed` come from it.
        picked: columns whose values come from other records: their positions, one per group, -1 for null.
        computed: new columns, one value per group. The row kind may be in `picked` or `computed`.
        kept: mask of the groups with a result record, None if all have one. Other values of groups without
            one are ignored.
    """

    records: IntPart
    picked: Mapping[str, IntPart] = field(default_factory=dict)
    computed: Mapping[str, pa.Array] = field(default_factory=dict)
    kept: Mask | None = None

    def without(self, dropped: Mask) -> Merged:
        """Drops the records of some groups."""
        kept = ~dropped if self.kept is None else self.kept & ~dropped
        return Merged(self.records, self.picked, self.computed, kept)

    def compacted(self) -> Merged:
        """The result without dropped groups."""
        if self.kept is None or self.kept.all():
            return Merged(self.records, self.picked, self.computed)
        kept = self.kept
        return Merged(
            self.records[kept],
            for_each_once(self.picked, lambda places: places[kept]),
            {name: values.filter(pa.array(kept)) for name, values in self.computed.items()},
        )


def for_each_once(picked: Mapping[str, IntPart], change: Callable[[IntPart], IntPart]) -> dict[str, IntPart]:
    """Changes the positions of all columns; columns of the same array share the changed one, too."""
    changed = {id(places): places for places in picked.values()}
    changed = {number: change(places) for number, places in changed.items()}
    return {name: changed[id(places)] for name, places in picked.items()}


class LoneRecords(Enum):
    """How the only record of a key is processed."""

    KEPT = "kept"
    """It is the result unchanged; the function never gets it."""
    UNCHANGED = "unchanged"
    """The function may get it and would not change it, so runs of such records need not be merged."""
    MERGED = "merged"
    """It goes through the function."""


class MergeFunction(Protocol):
    """Merges all records of a key into at most one."""

    @property
    def columns(self) -> Collection[str]:
        """Columns used in the computation besides key and sequence; they are read without dictionaries."""
        ...

    @property
    def lone_records(self) -> LoneRecords:
        """How the only record of a key is processed."""
        ...

    def merge(self, groups: Groups) -> Merged:
        """Merges each group.

        Every group is complete, and never split, however many records it has. Groups of one record are not
        included if `lone_records` is KEPT.

        Raises:
            UnsupportedTable: a record has a kind that the function does not support.
        """
        ...

    def reduce(self, groups: Groups) -> IntPart | None:
        """The records on which the result can depend, given only some of a section's runs.

        Called in passes over local disk. The runs may be any of the section's, not just the oldest ones:
        records of other runs may come before, between and after those of a group. A function that depends on
        order or counts therefore needs all of them, unless it can rule that out.

        Returns:
            Their positions, in the order of `groups.order`; None for all of them.
        """
        ...


@runtime_checkable
class MergesBesideLone(Protocol):
    """A merge function that returns lone records with its results, so that no caller has to combine them."""

    def merge_beside_lone(self, groups: Groups) -> Merged:
        """Like `merge_groups`: the only record of a group stays as it is."""
        ...


@dataclass(frozen=True, slots=True)
class Deduplicate:
    """The newest record of a key.

    Attributes:
        ignore_retractions: whether retractions never replace or remove another record. A key with only
            retractions has no result, but a lone record stays as it is.
    """

    ignore_retractions: bool = False

    @property
    def columns(self) -> Collection[str]:
        """Empty: records are only picked."""
        return ()

    @property
    def lone_records(self) -> LoneRecords:
        """A lone record is the newest one; a retraction is kept, too."""
        return LoneRecords.UNCHANGED

    def merge(self, groups: Groups) -> Merged:
        """The newest record of each group."""
        if not self.ignore_retractions:
            return Merged(groups.newest())
        newest = np.where(groups.sizes == 1, groups.members, groups.newest_of(~groups.retracts))
        return Merged(newest, kept=newest >= 0)

    def reduce(self, groups: Groups) -> IntPart:
        """The newest record of each group; if all retract the newest two, enough to have no result."""
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
    """Merges groups of any size, with lone records as the function specifies."""
    if function.lone_records is not LoneRecords.KEPT:
        return function.merge(groups)
    if isinstance(function, MergesBesideLone):
        return function.merge_beside_lone(groups)
    return beside_lone_records(function.merge, groups)


def beside_lone_records(merge: Callable[[Groups], Merged], groups: Groups) -> Merged:
    """Merges the groups of several records, and keeps lone records unchanged."""
    several = groups.sizes > 1
    if not several.any():
        return Merged(groups.members)
    return _beside_lone_records(merge(groups.only(several)), groups, several)


def _beside_lone_records(merged: Merged, groups: Groups, several: Mask) -> Merged:
    """Combines the results of groups of several records with the lone records."""
    lone = groups.members
    picked = for_each_once(merged.picked, lambda places: _between(places, lone, several))
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
    result[np.flatnonzero(several)] = places
    return result


def _computed_between(values: pa.Array, column: pa.Array, lone: IntPart, several: Mask) -> pa.Array:
    if column.nbytes + values.nbytes > offsets.MOST_BYTES:
        # Both may be too much for 32-bit offsets, so only the values that are needed are put together.
        column, lone = column.take(pa.array(lone[~several])), np.cumsum(~several) - 1
    places = lone + len(values)
    places[np.flatnonzero(several)] = np.arange(len(values))
    both = pa.concat_arrays([values.cast(column.type), column])
    return pc.take(both, pa.array(places), boundscheck=False)
