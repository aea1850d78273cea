"""Sequence groups: columns of a partial update with their own record order, given by sequence fields.

Used by `partial_update`. A record changes a group if it has a value in
any of its sequence fields and is not older in the group than any earlier record. The group then takes all
values of that record, including nulls, or becomes null if the record retracts. Aggregated columns combine all
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lithify.columns.order import rank_rows
from lithify.columns.orders import SequenceField
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import RecordLayout
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.sequence_groups import SequenceGroupOptions
from lithify.formats.paimon.primary_key.merge_functions.accumulating import (
    Accumulation,
    LastNonNull,
    aggregated_column,
)
from lithify.formats.paimon.primary_key.merge_functions.ordered_records import OrderedRecords, Ranked
from lithify.formats.paimon.primary_key.merge_functions.unordered import NO_ORDER

Aggregated = Accumulation | LastNonNull


@dataclass(frozen=True, slots=True)
class SequenceGroup:
    """A sequence group.

    Attributes:
        fields: the sequence fields, most significant first; a null is older than any value.
        columns: the columns that are replaced.
        aggregates: the columns that are aggregated.
        removes: whether a delete that is the newest in the group removes the whole record.
    """

    fields: tuple[str, ...]
    columns: tuple[str, ...] = ()
    aggregates: Mapping[str, Aggregated] = field(default_factory=dict)
    removes: bool = False

    def ranked(self, groups: Groups, records: OrderedRecords) -> Ranked:
        """The order of the records in this group.

        Raises:
            UnsupportedTable: a sequence field is NaN, which has no order.
        """
        rows = groups.rows
        layout = RecordLayout((), tuple(map(SequenceField, self.fields)), nan_problem=NO_ORDER)
        unordered = layout.column_with_nan(rows)
        if unordered is not None:
            raise UnsupportedTable(f"column {unordered}", (NO_ORDER,))
        ranks = rank_rows(layout.sequence_parts(rows))
        present = rows.column(self.fields[0]).is_valid().to_numpy(zero_copy_only=False)
        for name in self.fields[1:]:
            present = present | rows.column(name).is_valid().to_numpy(zero_copy_only=False)
        return Ranked(ranks[records.rows], present[records.rows])


def sequence_group_of(options: SequenceGroupOptions) -> SequenceGroup:
    """The group that options describe."""
    aggregates = {each.column: aggregated_column(each) for each in options.aggregates}
    return SequenceGroup(options.fields, options.columns, aggregates, options.removes)
