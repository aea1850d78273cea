"""The merge engine partial-update: takes the last non-null value of each column.

Made by `choosing`, shipped with tasks, called by the merge. The results are those of Paimon
1.4, which adds record after record; here each column needs the position of one record of each key.

The initial values of a key, including nulls, are those of its *base*: the last delete that removed the
record, or the oldest record if it retracts. Records before the base do not count.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.functions import LoneRecords, Merged, beside_lone_records
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.last_values import LastValues
from lithify.engine.rewrite.records import Mask
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.partial_update import PartialUpdateOptions, Retractions
from lithify.formats.paimon.primary_key.merge_functions.accumulating import Changes, LastNonNull
from lithify.formats.paimon.primary_key.merge_functions.ordered_records import (
    OrderedRecords,
    Ranked,
    is_behind,
)
from lithify.formats.paimon.primary_key.merge_functions.removals import last_removals
from lithify.formats.paimon.primary_key.merge_functions.sequence_groups import (
    SequenceGroup,
    sequence_group_of,
)
from lithify.formats.paimon.schema.schema import SEQUENCE_NUMBER, VALUE_KIND

_INSERT, _DELETE = 0, 3
NO_DELETES = (
    "a record retracts its key (-U or -D), which partial-update takes with one of the options ignore-delete, "
    "partial-update.remove-record-on-delete or a sequence group only; Paimon fails here, too"
)


@dataclass(frozen=True, slots=True)
class PartialUpdate:
    """The merge function.

    Attributes:
        plain: the columns outside the key and all sequence groups.
        required: the columns outside the key that are declared NOT NULL.
        groups: the sequence groups; no column is in two of them.
        retractions: effect of records that retract their key.
        merges_lone: whether `merge` merges lone records, too, as Paimon does where keys are looked up.
    """

    plain: tuple[str, ...]
    required: tuple[str, ...] = ()
    groups: tuple[SequenceGroup, ...] = ()
    retractions: Retractions = Retractions.REFUSED
    merges_lone: bool = False

    @property
    def columns(self) -> Collection[str]:
        """The sequence fields and the aggregated columns."""
        return [name for group in self.groups for name in (*group.fields, *group.aggregates)]

    @property
    def lone_records(self) -> LoneRecords:
        """Lone records are kept unchanged, even if they retract, unless keys are looked up."""
        return LoneRecords.MERGED if self.merges_lone else LoneRecords.UNCHANGED

    def merge(self, groups: Groups) -> Merged:
        """One record for each key.

        Raises:
            UnsupportedTable: a record retracts where the table does not allow it, or a column declared NOT
                NULL has a null. Paimon fails, too.
        """
        if groups.retracts.any() or self._may_lack_values(groups):
            return self._merge(groups) if self.merges_lone else beside_lone_records(self._merge, groups)
        return self._merge_additions(groups)

    def _may_lack_values(self, groups: Groups) -> bool:
        """Whether a NOT NULL column has a null, or may have one after the merge of sequence groups."""
        if self.groups:
            return bool(self.required)
        return any(groups.rows.column(name).null_count for name in self.required)

    def _merge_additions(self, groups: Groups) -> Merged:
        """One record for each key if no record retracts and no NOT NULL column can be null."""
        last = LastValues(groups)
        computed = dict(last.columns(self.plain))
        kinds = groups.rows.column(VALUE_KIND).to_numpy()
        if kinds.any():
            is_kept = (groups.sizes == 1) & (not self.merges_lone)
            merged = np.where(is_kept, kinds[last.newest], _INSERT)
            computed[VALUE_KIND] = pa.array(merged.astype(np.int8))
        if not self.groups:
            return Merged(last.newest, computed=computed)
        merge = self._merge_groups
        grouped = merge(groups) if self.merges_lone else beside_lone_records(merge, groups)
        return Merged(last.newest, grouped.picked, {**computed, **grouped.computed})

    def _merge_groups(self, groups: Groups) -> Merged:
        """The columns of the sequence groups, of keys of several records of which none retracts."""
        records = OrderedRecords(groups)
        result = _Result(groups, records, _no_past(records))
        for group in self.groups:
            result.take_group(group, group.ranked(groups, records))
        return Merged(records.rows[records.ends], result.picked, result.computed)

    def _merge(self, groups: Groups) -> Merged:
        """One record for each key of several records.

        Raises:
            UnsupportedTable: a record retracts where the table does not allow it, or a column declared NOT
                NULL has a null. Paimon fails, too.
        """
        records = OrderedRecords(groups)
        ranked = [group.ranked(groups, records) for group in self.groups]
        past = self._past(groups, records, ranked)
        result = _Result(groups, records, past)
        result.take_last(self.plain)
        for group, order in zip(self.groups, ranked, strict=True):
            result.take_group(group, order)
        self._check_inputs(groups, records, past)
        result.check_required(self.required)
        return result.merged

    def reduce(self, groups: Groups) -> IntPart | None:
        """The oldest, the newest and all records that supply a value; None (all records) if others matter."""
        if self.groups or self.required or groups.retracts.any():
            return None
        order = groups.order
        needed = LastValues(groups).sources(self.plain)
        needed[order[groups.starts]] = needed[order[groups.ends - 1]] = True
        return order[needed[order]]

    def _past(self, groups: Groups, records: OrderedRecords, ranked: list[Ranked]) -> _EffectiveRecords:
        """Determines which of each key's records count.

        Raises:
            UnsupportedTable: a record retracts where the table does not allow it.
        """
        retracts = records.retracts
        if not retracts.any():
            return _no_past(records)
        if self.retractions is Retractions.REFUSED:
            raise UnsupportedTable("the merge engine partial-update", (NO_DELETES,))
        oldest = np.where(retracts[records.starts], records.starts, -1)
        removals = self._removals(groups, records, ranked)
        base = np.where(removals < 0, oldest, removals)
        counts = ~retracts
        counts[base[base >= 0]] = True
        counts &= records.positions >= base[records.keys]
        acts = np.zeros_like(retracts)
        if self.retractions is Retractions.IN_GROUPS:
            acts = retracts & (records.positions >= base[records.keys])
            acts[removals[removals >= 0]] = False
        newest = records.ends
        if self.retractions is Retractions.IGNORED:
            newest = records.last(~retracts)
        return _EffectiveRecords(base, removals, counts, acts, newest)

    def _removals(self, groups: Groups, records: OrderedRecords, ranked: list[Ranked]) -> IntPart:
        """The position of the last delete that removed each key's record, -1 for none."""
        deletes = (groups.rows.column(VALUE_KIND).to_numpy() == _DELETE)[records.rows]
        if self.retractions is Retractions.REMOVE:
            return records.last(deletes)
        removing = [order for group, order in zip(self.groups, ranked, strict=True) if group.removes]
        if not removing or self.retractions is not Retractions.IN_GROUPS:
            return np.full(len(groups), -1)
        return last_removals(records, deletes, removing)

    def _check_inputs(self, groups: Groups, records: OrderedRecords, past: _EffectiveRecords) -> None:
        """Checks for nulls where Paimon does: in base records and, without groups, in all added records."""
        checked = np.zeros(len(records), dtype=bool)
        checked[past.base[past.base >= 0]] = True
        if not self.groups:
            checked |= ~records.retracts
        rows = records.rows[checked]
        for name in self.required:
            column = groups.rows.column(name)
            if column.null_count and not _valid(column)[rows].all():
                raise _null_in(name)


@dataclass(frozen=True, slots=True)
class _EffectiveRecords:
    """The records of each key that count, after deletes that remove the record.

    Attributes:
        base: for each key, the position of its base, -1 for none.
        removals: the position of the last delete that removed each key's record, -1 for none.
        value_mask: positions whose values may be taken: the base and later added records.
        retraction_mask: positions from the base on that retract values.
        newest: for each key, the position that gives the sequence number, -1 for none.
    """

    base: IntPart
    removals: IntPart
    value_mask: Mask
    retraction_mask: Mask
    newest: IntPart


def _no_past(records: OrderedRecords) -> _EffectiveRecords:
    """All records count: none retracts."""
    none = np.full(len(records.starts), -1)
    return _EffectiveRecords(none, none, ~records.retracts, records.retracts, records.ends)


@dataclass(frozen=True, slots=True)
class _Result:
    """The result, built column by column."""

    groups: Groups
    records: OrderedRecords
    past: _EffectiveRecords
    picked: dict[str, IntPart] = field(default_factory=dict)
    computed: dict[str, pa.Array] = field(default_factory=dict)

    def take_last(self, names: Collection[str]) -> None:
        """Takes the last non-null value of each column among the records that count.

        Nulls of a base are taken, too: nothing before it counts.
        """
        groups, records, counts = self.groups, self.records, self.past.value_mask
        last = records.rows_at(records.last(counts))
        is_newest = np.array_equal(last, self._stands_for)
        for name in names:
            column = groups.rows.column(name)
            if column.null_count == 0:
                if not is_newest:
                    self.picked[name] = last
            elif column.null_count < len(column):
                self.picked[name] = records.rows_at(records.last(counts & _valid(column)[records.rows]))

    def take_group(self, group: SequenceGroup, order: Ranked) -> None:
        """Takes the values of a sequence group from its newest record, and aggregates."""
        records, past = self.records, self.past
        changing = order.present & (past.value_mask | past.retraction_mask)
        newest = records.last_greatest(order.ranks, changing)
        source = np.where(newest < 0, past.base, newest)
        rows = records.rows_at(source)
        taken_back = (newest >= 0) & past.retraction_mask[newest]
        values = np.where(taken_back, -1, rows) if taken_back.any() else rows
        self.picked.update(dict.fromkeys(group.fields, rows))
        self.picked.update(dict.fromkeys(group.columns, values))
        if group.aggregates:
            is_base = np.zeros(len(records), dtype=bool)
            is_base[past.base[past.base >= 0]] = True
            changes = Changes(
                base=past.base,
                adds=changing & ~past.retraction_mask & ~is_base,
                retracts=changing & past.retraction_mask,
                late=changing & is_behind(order.ranks, changing, records.keys),
            )
            for name, aggregate in group.aggregates.items():
                if isinstance(aggregate, LastNonNull):
                    self.picked[name] = aggregate.rows(self.groups, records, changes)
                else:
                    self.computed[name] = aggregate.of(self.groups, records, changes)

    def check_required(self, names: Collection[str]) -> None:
        """Refuses nulls in NOT NULL columns, as Paimon does on writing; deletes may be dropped before."""
        lives = ~self._is_deleted
        for name in names:
            is_touched = name in self.computed or name in self.picked
            if (is_touched or self.groups.rows.column(name).null_count) and self._is_null(name)[lives].any():
                raise _null_in(name)

    @property
    def merged(self) -> Merged:
        """The complete result."""
        kinds = np.where(self._is_deleted, _DELETE, _INSERT).astype(np.int8)
        computed = {**self.computed, VALUE_KIND: pa.array(kinds)}
        if (self.past.newest < 0).any():
            numbers = self.groups.rows.column(SEQUENCE_NUMBER).to_numpy()[self._stands_for]
            computed[SEQUENCE_NUMBER] = pa.array(np.where(self.past.newest < 0, 0, numbers))
        return Merged(self._stands_for, self.picked, computed)

    @property
    def _stands_for(self) -> IntPart:
        """The row from which each key takes the columns that are neither picked nor computed."""
        newest = self.past.newest
        return self.records.rows[np.where(newest < 0, self.records.ends, newest)]

    @property
    def _is_deleted(self) -> Mask:
        """Mask of keys whose result is a delete: their last record removed, or no record added a value."""
        records = self.records
        removed_last = (self.past.removals >= 0) & (self.past.removals == records.ends)
        deleted: Mask = removed_last | (records.last(~records.retracts) < 0)
        return deleted

    def _is_null(self, name: str) -> Mask:
        if name in self.computed:
            return ~_valid(self.computed[name])
        rows = self.picked.get(name, self._stands_for)
        nulls: Mask = (rows < 0) | ~_valid(self.groups.rows.column(name))[rows]
        return nulls


def _valid(column: pa.Array) -> Mask:
    valid: Mask = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


def _null_in(name: str) -> UnsupportedTable:
    return UnsupportedTable(
        f"column {name}",
        ("it is declared NOT NULL, but has a null after or before the merge; Paimon fails here, too",),
    )


def partial_update_of(options: PartialUpdateOptions) -> PartialUpdate:
    """The merge function of a table."""
    groups = tuple(sequence_group_of(each) for each in options.groups)
    return PartialUpdate(options.plain, options.required, groups, options.retractions)
