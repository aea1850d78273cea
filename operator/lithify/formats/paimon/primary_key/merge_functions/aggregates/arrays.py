"""The function collect: concatenates arrays, optionally with distinct elements.

Distinct elements are in the order of Java's `HashSet`. Each element of a retraction removes the first equal
element.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.nulls import gather
from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import numbers_of_groups
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.options.merging.nested_types import NO_COMPARISON, comparison_problem
from lithify.formats.paimon.primary_key.merge_functions.aggregates.compared_elements import ComparedElements
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import (
    Extents,
    Lists,
    first_of_equals,
    list_column,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.hashing import table_order
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    sizes_of,
    steps_of,
    valid_of,
)


def collect_of(function: FieldFunction) -> FieldAggregate:
    """The function collect for a column."""
    is_comparable = comparison_problem(function.type.fields[0].type) is None
    return Collect(function.options.distinct, is_comparable, function.options.column)


@dataclass(frozen=True, slots=True)
class Collect:
    """Collects the elements of arrays in one array.

    Attributes:
        distinct: whether duplicates are left out.
        is_comparable: whether elements can be compared, which retractions require.
        column: column name for messages.
    """

    distinct: bool
    is_comparable: bool
    column: str

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One array per group; null before the first array that is not a retraction."""
        return self._collected(values, starts, retracts)

    def aggregate_rows(self, column: pa.Array, order: IntPart, starts: IntPart) -> pa.Array:
        """As `aggregate`; the only array of a group stays as it is, even with duplicates."""
        if not self.distinct:
            return _joined(gather(column, order), starts)
        return _joined_distinct(column, order, starts, kept=sizes_of(starts, len(order)) == 1)

    def aggregate_after(self, values: pa.Array, starts: IntPart, retracts: Mask, removes: Mask) -> pa.Array:
        """Like `aggregate`; the array of a delete that removes the record keeps its duplicates."""
        begins = np.union1d(starts, np.flatnonzero(removes))
        collected = self._collected(values, begins, retracts)
        ends = np.append(starts[1:], len(values))
        last = np.searchsorted(begins, ends) - 1
        both = pa.concat_arrays([collected, values])
        return both.take(pa.array(np.where(removes[ends - 1], len(collected) + ends - 1, last)))

    def _collected(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        if retracts.any() and not self.is_comparable:
            reason = f"a record retracts elements of an array: {NO_COMPARISON}, and binaries by identity"
            raise UnsupportedTable(f"column {self.column}", (reason,))
        if not retracts.any():
            if not self.distinct:
                return _joined(values, starts)
            none = np.zeros(len(starts), dtype=bool)
            return _joined_distinct(values, np.arange(len(values)), starts, kept=none)
        work = _Collecting(values, distinct=self.distinct)
        for groups, places in steps_of(starts, len(values)):
            work.add(groups[~retracts[places]], places[~retracts[places]])
            work.retract(groups[retracts[places]], places[retracts[places]])
        return work.column(len(starts))


def _joined(values: pa.Array, starts: IntPart) -> pa.Array:
    """The arrays of each group as one: their elements are adjacent already."""
    offsets, valid = values.offsets.to_numpy(), valid_of(values)
    if values.null_count and (np.diff(offsets)[~valid] > 0).any():
        # Nulls may have elements; those of a copy have none.
        return _joined(gather(values, np.arange(len(values))), starts)
    lengths = np.diff(offsets[np.append(starts, len(values))])
    elements = values.values.slice(offsets[0], offsets[-1] - offsets[0])
    return list_column(values.type, lengths, any_of(valid, starts), elements)


def _joined_distinct(column: pa.Array, order: IntPart, starts: IntPart, kept: Mask) -> pa.Array:
    """The arrays of each group as one without duplicates.

    Args:
        column: arrays.
        order: positions of arrays, by group.
        starts: the positions in `order` at which groups start.
        kept: mask of the groups whose arrays stay as they are.
    """
    extents, owners = Extents.of(column), numbers_of_groups(starts, len(order))
    is_kept = kept[owners]
    unchanged, others = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
    lists = _made_distinct(extents.lists(order[others], owners[others]), column.values)
    lists = lists.beside(extents.lists(order[unchanged], owners[unchanged]), len(starts))
    valid = any_of(valid_of(column)[order], starts)
    return list_column(column.type, lists.lengths(len(starts)), valid, gather(column.values, lists.places))


def _made_distinct(lists: Lists, elements: pa.Array) -> Lists:
    """Distinct elements in the order of Java's sets; only elements that are in the lists are compared."""
    compared = ComparedElements.of(gather(elements, lists.places))
    first = np.flatnonzero(first_of_equals(lists.owners, compared.codes))
    return lists.at(first[table_order(compared.hashes(first), lists.owners[first])])


class _Collecting:
    """The arrays of all groups while values are added and retracted.

    Args:
        values: values of the column.
        distinct: whether equal elements are left out.
    """

    def __init__(self, values: pa.Array, *, distinct: bool) -> None:
        self._values = values
        self._distinct = distinct
        self._extents = Extents.of(values)
        self._valid = valid_of(values)
        self._compared = ComparedElements.of(values.values)
        self._lists = Lists.empty()
        self._begun = np.zeros(0, dtype=bool)

    def add(self, groups: IntPart, places: IntPart) -> None:
        """Adds values to some groups; several values of one group must be adjacent and in order."""
        self._begin(groups[self._valid[places]])
        if not self._distinct:
            self._lists = self._lists.with_more(self._extents.lists(places, groups))
            return
        touched = np.isin(self._lists.owners, groups)
        others, mine = self._lists.only(~touched), self._lists.only(touched)
        self._lists = others.with_more(
            self._made_distinct(mine.with_more(self._extents.lists(places, groups)))
        )

    def retract(self, groups: IntPart, places: IntPart) -> None:
        """Removes the elements of one value from each of some groups."""
        if len(groups):
            self._lists = self._lists.without(self._extents.lists(places, groups), self._compared.codes)

    def column(self, total: int) -> pa.Array:
        """The arrays of all groups."""
        begun = np.zeros(total, dtype=bool)
        begun[: len(self._begun)] = self._begun
        elements = self._values.values.take(pa.array(self._lists.places))
        return list_column(self._values.type, self._lists.lengths(total), begun, elements)

    def _begin(self, groups: IntPart) -> None:
        total = max(len(self._begun), int(groups.max(initial=-1)) + 1)
        begun = np.zeros(total, dtype=bool)
        begun[: len(self._begun)] = self._begun
        begun[groups] = True
        self._begun = begun

    def _made_distinct(self, lists: Lists) -> Lists:
        lists = lists.only(lists.first_of_equals(self._compared.codes))
        in_turn = table_order(self._compared.hashes(lists.places), lists.owners)
        return Lists(lists.owners[in_turn], lists.places[in_turn])
