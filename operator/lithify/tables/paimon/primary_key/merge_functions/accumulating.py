"""Aggregated columns of a sequence group: which values are added, in which order.

Called by `partial_update`. Paimon adds a value that is older in its group than what came before it, too, but
as if it had been the accumulator: `older + sum` instead of `sum + older`. What that means is a matter of the
function. Values that retract are taken back when they come, however old they are in the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa

from lithify.errors import UnsupportedTable
from lithify.rewriting.groups import Groups
from lithify.rewriting.nulls import take_or_null
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.paimon.primary_key.merge_functions.aggregates.model import FieldAggregate
from lithify.tables.paimon.primary_key.merge_functions.ordered_records import OrderedRecords


class LateValues(Enum):
    """What becomes of a value that is older in its group than what came before it."""

    ADDED = "added"
    """It makes no difference to the function, which is commutative."""
    IGNORED = "ignored"
    """The accumulator stays, because it counts as the last value."""
    PREPENDED = "prepended"
    """It counts as older than all values so far."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The records that change one group.

    Attributes:
        base: the position of the record with whose values each key begins, -1 for none.
        adds: positions of the other records that add their values.
        retracts: positions of those that take them back; the base may be among these.
        late: positions that are older in the group than what came before them.
    """

    base: IntPart
    adds: Mask
    retracts: Mask
    late: Mask


@dataclass(frozen=True, slots=True)
class Accumulation:
    """How a column of a sequence group is aggregated.

    Attributes:
        column: its name.
        function: what makes one value of several.
        late: what becomes of values that come late.
        ignores_retractions: values that retract are passed over.
        begins_anew: whether the function can begin with the values of a delete; Paimon's state does not tell
            such values from others if this is False.
    """

    column: str
    function: FieldAggregate
    late: LateValues
    ignores_retractions: bool = False
    begins_anew: bool = True

    def of(self, groups: Groups, records: OrderedRecords, changes: Changes) -> pa.Array:
        """One value a key.

        Raises:
            UnsupportedTable: the function cannot retract, or Paimon's result follows from no order of values.
        """
        bases = changes.base[changes.base >= 0]
        if len(bases) and not self.begins_anew:
            raise self._refusal("a delete is the first record of a key, or removed what was before it")
        others = changes.adds if self.ignores_retractions else changes.adds | changes.retracts
        if self.late is LateValues.IGNORED:
            others = others & ~(changes.late & changes.adds)
        places = np.concatenate((bases, np.flatnonzero(others)))
        retracts = changes.retracts[places]
        retracts[: len(bases)] = False
        in_turn = np.argsort(places, kind="stable")
        places, retracts = places[in_turn], retracts[in_turn]
        if self.late is LateValues.PREPENDED:
            places, retracts = self._prepended(places, retracts, records, changes)
        return self._aggregated(groups, records, places, retracts)

    def _prepended(
        self, places: IntPart, retracts: Mask, records: OrderedRecords, changes: Changes
    ) -> tuple[IntPart, Mask]:
        """Late values before all that came earlier, the latest first."""
        late = changes.late[places] & ~retracts
        if not late.any():
            return places, retracts
        if retracts.any():
            raise self._refusal("records come late in its sequence group, and others retract")
        keys = records.keys[places]
        turn = np.where(late, -places, places)
        in_turn = np.lexsort((turn, keys))
        return places[in_turn], retracts[in_turn]

    def _aggregated(
        self, groups: Groups, records: OrderedRecords, places: IntPart, retracts: Mask
    ) -> pa.Array:
        column = groups.rows.column(self.column)
        if not len(places):
            return pa.nulls(len(groups), column.type)
        keys = records.keys[places]
        starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
        values = column.take(pa.array(records.rows[places]))
        results = self.function.aggregate(values, starts, retracts)
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
    """The function last_non_null_value with late values: these count only as long as there is no other.

    Attributes:
        column: its name.
        ignores_retractions: values that retract are passed over.
    """

    column: str
    ignores_retractions: bool = False

    def of(self, groups: Groups, records: OrderedRecords, changes: Changes) -> pa.Array:
        """One value a key."""
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
        return take_or_null(column, records.rows_at(chosen))
