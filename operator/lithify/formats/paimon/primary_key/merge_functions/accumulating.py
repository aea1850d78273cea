"""Aggregated columns of a sequence group: which values are aggregated and in which order.

Called by `partial_update`. A *late* value is older in its group than a record before it. Paimon aggregates
late values too, but with swapped arguments: `older + sum` instead of `sum + older`. The effect depends on the
function. Retractions apply when they are read, however old they are in the group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.nulls import take_or_null
from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.sequence_groups import AggregatedColumn, LateValues
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    TakesLateValues,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.swapping import aggregate_swapping
from lithify.formats.paimon.primary_key.merge_functions.ordered_records import OrderedRecords


@dataclass(frozen=True, slots=True)
class Changes:
    """The records that change one sequence group.

    Attributes:
        base: for each key, the position of the record with the initial values, -1 for none.
        adds: mask of the other positions whose values are added.
        retracts: mask of the positions that retract; may include the base.
        late: mask of the positions that are older in the group than a record before them.
    """

    base: IntPart
    adds: Mask
    retracts: Mask
    late: Mask


@dataclass(frozen=True, slots=True)
class Accumulation:
    """How a column of a sequence group is aggregated.

    Attributes:
        column: name of the column.
        function: the aggregate function.
        late: effect of late values.
        ignores_retractions: whether retractions are ignored.
        starts_over: whether the values of a delete can be the initial values. If False, Paimon's state does
            not distinguish such values from others.
    """

    column: str
    function: FieldAggregate
    late: LateValues
    ignores_retractions: bool = False
    starts_over: bool = True

    def of(self, groups: Groups, records: OrderedRecords, changes: Changes) -> pa.Array:
        """The aggregated value of each key.

        Raises:
            UnsupportedTable: the function cannot retract, or no order of values gives Paimon's result.
        """
        bases = changes.base[changes.base >= 0]
        if len(bases) and not self.starts_over:
            raise self._refusal("a delete is the first record of a key, or removed what was before it")
        others = changes.adds if self.ignores_retractions else changes.adds | changes.retracts
        if self.late is LateValues.IGNORED:
            others = others & ~(changes.late & changes.adds)
        places = np.concatenate((bases, np.flatnonzero(others)))
        retracts = changes.retracts[places]
        retracts[: len(bases)] = False
        in_turn = np.argsort(places, kind="stable")
        places, retracts = places[in_turn], retracts[in_turn]
        late = changes.late[places] & ~retracts
        if self.late is LateValues.PREPENDED:
            places, retracts = self._prepended(places, retracts, records, late)
        return self._aggregated(groups, records, places, retracts, late)

    def _prepended(
        self, places: IntPart, retracts: Mask, records: OrderedRecords, late: Mask
    ) -> tuple[IntPart, Mask]:
        """Moves late values before all earlier ones, in reverse order."""
        if not late.any():
            return places, retracts
        if retracts.any():
            raise self._refusal("records come late in its sequence group, and others retract")
        keys = records.keys[places]
        turn = np.where(late, -places, places)
        in_turn = np.lexsort((turn, keys))
        return places[in_turn], retracts[in_turn]

    def _aggregated(
        self, groups: Groups, records: OrderedRecords, places: IntPart, retracts: Mask, late: Mask
    ) -> pa.Array:
        column = groups.rows.column(self.column)
        if not len(places):
            return pa.nulls(len(groups), column.type)
        keys = records.keys[places]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        values = column.take(pa.array(records.rows[places]))
        if self.late is not LateValues.SWAPPED:
            results = self.function.aggregate(values, starts, retracts)
        elif isinstance(self.function, TakesLateValues):
            results = self.function.aggregate_late(values, starts, retracts, late)
        else:
            results = aggregate_swapping(self.function, values, starts, retracts, late)
        if len(starts) == len(groups):
            return results
        of_keys = np.full(len(groups), -1)
        of_keys[keys[starts]] = np.arange(len(starts))
        return take_or_null(results, of_keys)

    def _refusal(self, what: str) -> UnsupportedTable:
        return UnsupportedTable(
            f"column {self.column}",
            (f"{what}; Paimon's result of its aggregate function follows from no order of the values then",),
        )


@dataclass(frozen=True, slots=True)
class LastNonNull:
    """The function last_non_null_value; a late value counts only while there is no other.

    Attributes:
        column: name of the column.
        ignores_retractions: whether retractions are ignored.
    """

    column: str
    ignores_retractions: bool = False

    def rows(self, groups: Groups, records: OrderedRecords, changes: Changes) -> IntPart:
        """The row with the value of each key, -1 for null."""
        column = groups.rows.column(self.column)
        valid = column.is_valid().to_numpy(zero_copy_only=False)[records.rows]
        taken_back = np.full(len(groups), -1)
        if not self.ignores_retractions:
            taken_back = records.last(changes.retracts & valid)
        begins = np.maximum(changes.base, taken_back)
        counts = changes.adds & (records.positions > begins[records.keys])
        counts[changes.base[changes.base > taken_back]] = True
        counts &= valid
        chosen = records.last(counts & ~changes.late)
        if changes.late.any():
            chosen = np.where(chosen < 0, records.first(counts & changes.late), chosen)
        return records.rows_at(chosen)


def aggregated_column(options: AggregatedColumn) -> Accumulation | LastNonNull:
    """How a column is aggregated that options describe."""
    if options.late is None:
        return LastNonNull(options.column, options.ignores_retractions)
    return Accumulation(
        column=options.column,
        function=aggregate_of(options.function),
        late=options.late,
        ignores_retractions=options.ignores_retractions,
        starts_over=options.starts_over,
    )
