"""The merge engine aggregation: reduces each column of a key's records by its own aggregate function.

Made by `choosing`. Records are applied oldest first. The result is an insert with the sequence number of
the newest record. With `aggregation.remove-record-on-delete` a -D does not retract: the row becomes that of
the delete, including its row kind, and later records are applied to it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.functions import LoneRecords, Merged, beside_lone_records
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.aggregation import AggregationOptions
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    AggregatesRows,
    FieldAggregate,
    FieldSelection,
    SurvivesRemoval,
)
from lithify.formats.paimon.schema.schema import VALUE_KIND

_INSERT, _DELETE = 0, 3


@dataclass(frozen=True, slots=True)
class Aggregation:
    """Aggregates each column of a key's records.

    Attributes:
        aggregates: the function of each column; other columns come from the newest record.
        required: columns that are declared NOT NULL.
        removes: whether a delete removes the record instead of retracting values.
    """

    aggregates: Mapping[str, FieldAggregate]
    required: frozenset[str] = frozenset()
    removes: bool = False

    @property
    def columns(self) -> Collection[str]:
        """The columns whose values are computed, not only selected."""
        return [name for name, each in self.aggregates.items() if not isinstance(each, FieldSelection)]

    @property
    def lone_records(self) -> LoneRecords:
        """The only record of a key is kept unchanged, even if it retracts."""
        return LoneRecords.KEPT

    def merge(self, groups: Groups) -> Merged:
        """One record for each group.

        Raises:
            UnsupportedTable: a record retracts a value whose function cannot retract, or the result is null
                in a column that is declared NOT NULL.
        """
        return self._merged(groups, self.aggregates)

    def merge_beside_lone(self, groups: Groups) -> Merged:
        """As `merge`, but the only record of a group stays as it is, even if it retracts.

        Arrays and lists of texts of lone records are copied with the others, unless a record retracts.
        """
        is_any_merged = bool((groups.sizes > 1).any())
        together = self._by_rows if is_any_merged and not groups.retracts.any() else {}
        others = {name: each for name, each in self.aggregates.items() if name not in together}
        merged = beside_lone_records(lambda several: self._merged(several, others), groups)
        computed = {name: self._of_rows(name, each, groups) for name, each in together.items()}
        return replace(merged, computed={**merged.computed, **computed})

    @property
    def _by_rows(self) -> Mapping[str, AggregatesRows]:
        return {name: each for name, each in self.aggregates.items() if isinstance(each, AggregatesRows)}

    def _of_rows(self, name: str, aggregate: AggregatesRows, groups: Groups) -> pa.Array:
        """The value of a column of each group, lone records among them."""
        values = aggregate.aggregate_rows(groups.rows.column(name), groups.order, groups.starts)
        if name in self.required and values.null_count:
            _check_not_null(name, None, values.filter(pa.array(groups.sizes > 1)))
        return values

    def _merged(self, groups: Groups, aggregates: Mapping[str, FieldAggregate]) -> Merged:
        """One record for each group, with the values of these columns."""
        records, newest = _Records.of(groups, removes=self.removes), groups.order[groups.ends - 1]
        picked: dict[str, IntPart] = {}
        computed: dict[str, pa.Array] = {} if records.are_inserts else {VALUE_KIND: records.kinds}
        for name, aggregate in aggregates.items():
            if isinstance(aggregate, FieldSelection) and not records.any_removes:
                if records.takes_newest(name, aggregate):
                    continue
                picked[name] = records.select(name, aggregate)
            else:
                computed[name] = records.aggregate(name, aggregate)
            if name in self.required:
                _check_not_null(name, picked.get(name), computed.get(name))
        return Merged(newest, picked, computed)

    def reduce(self, groups: Groups) -> None:  # noqa: ARG002 (protocol)
        """None, which keeps all records: sums, retractions and rounding depend on each of them in order."""
        return


@dataclass(frozen=True, slots=True)
class _Records:
    """The records of a round in order, and the positions at which aggregation starts.

    Attributes:
        groups: the records.
        retracts: mask of the records, in order, that retract; removals do not.
        removes: mask of the records, in order, that remove the record before them.
        starts: the positions at which a group starts, or restarts because of a removal.
        any_removes: whether there is a record in `removes`.
        any_retracts: whether there is a record in `retracts`.
    """

    groups: Groups
    retracts: Mask
    removes: Mask
    starts: IntPart
    any_removes: bool
    any_retracts: bool

    @staticmethod
    def of(groups: Groups, *, removes: bool) -> _Records:
        """The records of groups.

        Args:
            groups: the groups.
            removes: whether deletes remove the record.
        """
        retracts = groups.retracts[groups.order] if groups.retracts.any() else _none(len(groups.order))
        removing, starts = _none(len(retracts)), groups.starts
        if removes:
            removing = groups.column(VALUE_KIND).to_numpy(zero_copy_only=False) == _DELETE
            starts, retracts = np.union1d(starts, np.flatnonzero(removing)), retracts & ~removing
        return _Records(groups, retracts, removing, starts, bool(removing.any()), bool(retracts.any()))

    @property
    def last(self) -> IntPart:
        """For each group, the index of its last entry in `starts`."""
        return np.searchsorted(self.starts, self.groups.ends, side="left") - 1

    @property
    def are_inserts(self) -> bool:
        """Whether the newest record of each group has the row kind of the result already."""
        return not self.groups.rows.column(VALUE_KIND).to_numpy(zero_copy_only=False).any()

    def takes_newest(self, name: str, aggregate: FieldSelection) -> bool:
        """Whether each group takes its value of a column, which is not null, from its newest record."""
        has_nulls = self.groups.rows.column(name).null_count > 0
        return not has_nulls and aggregate.takes_newest(retracts=self.any_retracts)

    @property
    def kinds(self) -> pa.Array:
        """The row kind of each group's record."""
        return pa.array(np.where(self.removes[self.groups.ends - 1], _DELETE, _INSERT), pa.int8())

    def select(self, name: str, aggregate: FieldSelection) -> IntPart:
        """The row from which each group takes its value of a column, -1 for null."""
        valid = self.groups.rows.column(name).is_valid().to_numpy(zero_copy_only=False)
        places = aggregate.select(valid[self.groups.order], self.starts, self.retracts)
        return np.where(places < 0, -1, self.groups.order[places])

    def aggregate(self, name: str, aggregate: FieldAggregate) -> pa.Array:
        """The value of a column of each group."""
        values = self.groups.column(name)
        if self.any_removes and isinstance(aggregate, SurvivesRemoval):
            return aggregate.aggregate_after(values, self.groups.starts, self.retracts, self.removes)
        results = aggregate.aggregate(values, self.starts, self.retracts)
        return results if len(results) == len(self.groups) else results.take(pa.array(self.last))


def _none(count: int) -> Mask:
    return np.zeros(count, dtype=bool)


def _check_not_null(name: str, picked: IntPart | None, computed: pa.Array | None) -> None:
    if (picked is not None and (picked < 0).any()) or (computed is not None and computed.null_count):
        reason = "its aggregate function makes a null of a key's records, but the column is declared NOT NULL"
        raise UnsupportedTable(f"column {name}", (reason,))


def aggregation_of(options: AggregationOptions) -> Aggregation:
    """The merge function of a table."""
    aggregates = {each.options.column: aggregate_of(each) for each in options.functions}
    return Aggregation(aggregates, options.required, options.removes)
