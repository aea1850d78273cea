"""The function nested_partial_update: merges rows with equal keys to the last non-null value of each field.

Values are applied one by one; each step covers all groups. A row is represented by the source row of each of
its fields; the rows themselves are built once, at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.nulls import take_or_null
from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import (
    Extents,
    Lists,
    list_column,
    pairs,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import Hashes, computed_order
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    cannot_retract,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.row_keys import RowKey
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import last_of, steps_of, valid_of


def nested_partial_update_of(function: FieldFunction) -> FieldAggregate:
    """The function nested_partial_update for a column."""
    rows, options = function.type.fields[0].type, function.options
    return NestedPartialUpdate(options.column, RowKey.of(rows, options.nested_key))


@dataclass(frozen=True, slots=True)
class NestedPartialUpdate:
    """Merges rows with equal keys into one row with the last non-null value of each field.

    The first array is copied unchanged, including nulls, until another one is added.

    Attributes:
        column: column name for messages.
        key: the fields that identify a row.
    """

    column: str
    key: RowKey

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One array per group, null if all values are null."""
        if retracts.any():
            raise cannot_retract("nested_partial_update", self.column)
        work = _Updating(values, len(starts), self.key)
        for groups, places in steps_of(starts, len(values)):
            work.add(groups, places)
        return work.column(values.type)


class _Updating:
    """The arrays of all groups while further arrays are applied.

    Rows are numbered: first the rows of the column, then merged rows. `_sources` has, for each field, the row
    of the column with its value, -1 for null.
    """

    def __init__(self, values: pa.Array, groups: int, key: RowKey) -> None:
        self._rows = values.values
        self._extents = Extents.of(values)
        self._valid = valid_of(values)
        self._present = valid_of(self._rows)
        self._key = key
        self._codes = key.codes(self._rows)
        self._sources = _own_values(self._rows)
        # One row of the column for each code: merged rows have the keys of these rows.
        self._examples = np.unique(self._codes, return_index=True)[1]
        self._lists = Lists.empty()
        self._begun = np.zeros(groups, dtype=bool)

    def add(self, groups: IntPart, places: IntPart) -> None:
        """Applies one array to each of some groups."""
        there = self._valid[places]
        groups, places = groups[there], places[there]
        later = self._begun[groups]
        if later.any():
            self._update(groups[later], self._extents.lists(places[later], groups[later]))
        self._lists = self._lists.with_more(self._extents.lists(places[~later], groups[~later]))
        self._begun[groups] = True

    def column(self, kind: pa.DataType) -> pa.Array:
        """The arrays of all groups."""
        places = self._lists.places
        sources = self._sources[places]
        fields = [
            take_or_null(self._rows.field(number), sources[:, number])
            for number in range(self._rows.type.num_fields)
        ]
        absent = pa.array(~self._present[places])
        rows = pa.StructArray.from_arrays(fields, fields=list(self._rows.type), mask=absent)
        return list_column(kind, self._lists.lengths(len(self._begun)), self._begun, rows)

    def _update(self, groups: IntPart, more: Lists) -> None:
        touched = np.isin(self._lists.owners, groups)
        all_rows = self._lists.only(touched).with_more(more)
        all_rows = all_rows.only(self._present[all_rows.places])
        self._lists = self._lists.only(~touched).with_more(self._merged(all_rows))

    def _merged(self, lists: Lists) -> Lists:
        """One new row for each key of each list, in Java's order."""
        if not len(lists.owners):
            return lists
        keys = pairs(lists.owners, self._codes[lists.places])
        in_turn = np.argsort(keys, kind="stable")
        ordered = keys[in_turn]
        begins = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        first = np.sort(in_turn[begins])
        made = self._last_values(lists.places[in_turn], begins)[np.argsort(in_turn[begins])]
        ends = np.append(lists.owners[1:] != lists.owners[:-1], True)
        is_last_new = np.zeros(len(self._begun), dtype=bool)
        is_last_new[lists.owners[ends]] = np.isin(np.flatnonzero(ends), first)
        owners, places = lists.owners[first], lists.places[first]
        order = computed_order(self._hashes(places), owners, is_last_new)
        added = len(self._sources) + order
        self._sources = np.concatenate([self._sources, made])
        self._codes = np.concatenate([self._codes, self._codes[places]])
        self._present = np.concatenate([self._present, np.ones(len(places), dtype=bool)])
        return Lists(owners[order], added)

    def _last_values(self, places: IntPart, begins: IntPart) -> npt.NDArray[np.int64]:
        """The source rows of the fields of each new row."""
        sources = self._sources[places]
        columns = []
        for number in range(sources.shape[1]):
            last = last_of(sources[:, number] >= 0, begins)
            columns.append(np.where(last < 0, -1, sources[last, number]))
        return np.stack(columns, axis=1)

    def _hashes(self, places: IntPart) -> Hashes:
        """Java's hash codes of the keys of some rows."""
        return self._key.hashes(self._rows, self._codes, self._examples[self._codes[places]])


def _own_values(rows: pa.StructArray) -> npt.NDArray[np.int64]:
    """For each row and field, the row's own number, or -1 for null."""
    own = np.arange(len(rows))
    fields = [rows.field(number) for number in range(rows.type.num_fields)]
    return np.stack([np.where(valid_of(field), own, -1) for field in fields], axis=1)
