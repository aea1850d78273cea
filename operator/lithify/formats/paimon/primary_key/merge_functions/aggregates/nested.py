"""The function nested_update: arrays of rows as tables within a column.

With a key, rows are in the order of Paimon's `HashMap`. Values are applied one by one; each step covers all
groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import Extents, Lists, list_column
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import table_order
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import FieldAggregate
from lithify.formats.paimon.primary_key.merge_functions.aggregates.row_keys import (
    RowKey,
    codes_of_fields,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import steps_of, valid_of


def nested_update_of(function: FieldFunction) -> FieldAggregate:
    """The function nested_update for a column."""
    rows, options = function.type.fields[0].type, function.options
    key = RowKey.of(rows, options.nested_key) if options.nested_key else None
    simple = not any(part.type.is_nested or part.type.is_float for part in rows.fields)
    return NestedUpdate(options.column, key, options.count_limit, is_comparable=simple)


@dataclass(frozen=True, slots=True)
class NestedUpdate:
    """Collects the rows of all arrays; with a key, the last row of each key.

    The first array is copied unchanged. Null rows are dropped when the next array is added.

    Attributes:
        column: column name for messages.
        key: the fields that identify a row, None to keep all rows.
        limit: number of rows at which an array takes no more rows.
        is_comparable: whether whole rows can be compared, which retractions without a key require.
    """

    column: str
    key: RowKey | None
    limit: int
    is_comparable: bool

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One array per group; null before the first array that is not a retraction."""
        work = _Updating(values, len(starts), self.key, self.limit)
        if retracts.any() and self.key is None:
            if not self.is_comparable:
                reason = (
                    "a record retracts rows of an array without nested-key; this release does not compare "
                    "rows with floating point numbers or nested values"
                )
                raise UnsupportedTable(f"column {self.column}", (reason,))
            work.compare_whole_rows()
        for groups, places in steps_of(starts, len(values)):
            adds, takes = ~retracts[places], retracts[places]
            work.add(groups[adds], places[adds])
            work.retract(groups[takes], places[takes])
        return work.column(values.type)


class _Updating:
    """The arrays of all groups while further arrays are applied.

    Attributes:
        rows: all rows of the column.
        lists: the rows of each group.
        begun: mask of the groups that have an array.
    """

    def __init__(self, values: pa.Array, groups: int, key: RowKey | None, limit: int) -> None:
        self.rows = values.values
        self.lists = Lists.empty()
        self.begun = np.zeros(groups, dtype=bool)
        self._key = key
        self._limit = limit
        self._extents = Extents.of(values)
        self._valid = valid_of(values)
        self._present = valid_of(self.rows)
        self._codes = np.zeros(0, dtype=np.int64) if key is None else key.codes(self.rows)

    def compare_whole_rows(self) -> None:
        """Prepares for retractions that match rows by all fields."""
        fields = [self.rows.field(number) for number in range(self.rows.type.num_fields)]
        self._codes = codes_of_fields(fields)

    def column(self, kind: pa.DataType) -> pa.Array:
        """The arrays of all groups."""
        rows = self.rows.take(pa.array(self.lists.places))
        return list_column(kind, self.lists.lengths(len(self.begun)), self.begun, rows)

    def add(self, groups: IntPart, places: IntPart) -> None:
        """Applies one array to each of some groups."""
        there = self._valid[places]
        groups, places = groups[there], places[there]
        has_room = self.lists.lengths(len(self.begun))[groups] < self._limit
        later = self.begun[groups] & has_room
        self._update(groups[later], self._extents.lists(places[later], groups[later]))
        first = ~self.begun[groups]
        self.lists = self.lists.with_more(self._extents.lists(places[first], groups[first]))
        self.begun[groups[first]] = True

    def retract(self, groups: IntPart, places: IntPart) -> None:
        """Removes the rows of one array from each of some groups."""
        there = self._valid[places] & self.begun[groups]
        groups, places = groups[there], places[there]
        if not len(groups):
            return
        others, mine = self._split(groups)
        kept = self._keyed(mine).without_any(
            self._without_nulls(self._extents.lists(places, groups)), self._codes
        )
        self.lists = others.with_more(self._in_order(kept))

    def _update(self, groups: IntPart, more: Lists) -> None:
        if not len(groups):
            return
        room = self._limit - self.lists.lengths(len(self.begun))
        others, mine = self._split(groups)
        added = mine.with_more(self._without_nulls(more).beginning(room))
        self.lists = others.with_more(self._in_order(self._keyed(added)))

    def _split(self, groups: IntPart) -> tuple[Lists, Lists]:
        """The lists of all other groups, and the lists of `groups` without null rows."""
        touched = np.isin(self.lists.owners, groups)
        return self.lists.only(~touched), self._without_nulls(self.lists.only(touched))

    def _without_nulls(self, lists: Lists) -> Lists:
        return lists.only(self._present[lists.places])

    def _keyed(self, lists: Lists) -> Lists:
        return lists if self._key is None else lists.distinct_last(self._codes)

    def _in_order(self, lists: Lists) -> Lists:
        if self._key is None or not len(lists.owners):
            return lists
        in_turn = table_order(self._key.hashes(self.rows, self._codes, lists.places), lists.owners)
        return Lists(lists.owners[in_turn], lists.places[in_turn])
