"""The changelog of a merge: how the row of each key changes for readers of the changelog.

Called by `merge` in each round. A format adapter brings the rule that finds the previous record of a key and
decides which keys count; the changes follow from it and from the merged record, in column kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from lithify.columns.nulls import take_or_null
from lithify.columns.offsets import take
from lithify.columns.order import IntPart
from lithify.engine.rewrite.equality import equal_values
from lithify.engine.rewrite.functions import Merged
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask, RecordLayout
from lithify.engine.rewrite.runs import Piece


@dataclass(frozen=True, slots=True)
class ChangeKinds:
    """The values of the kinds column in records of a changelog."""

    insert: int
    update_before: int
    update_after: int
    delete: int


@dataclass(frozen=True, slots=True)
class Previous:
    """The previous record of each group.

    Attributes:
        places: its position in `rows`, -1 if the key has no previous row.
        counts: mask of the groups whose change is recorded.
        stored: mask of the groups whose previous record the format has as bytes; a list that their result
            takes from it is the same list, whatever nulls it has. None if there are no such groups.
    """

    places: IntPart
    counts: Mask
    stored: Mask | None = None


class PreviousRecords(Protocol):
    """Finds the records that readers of the changelog already have."""

    def of(self, groups: Groups) -> Previous:
        """The previous record of each group."""
        ...

    def is_recorded(self, run: int) -> bool:
        """Whether the lone records of a run count; only asked if the merge function keeps lone records."""
        ...

    def needed(self, groups: Groups) -> Mask:
        """Mask of the rows that passes over local disk must keep, besides those that the merge needs."""
        ...


@dataclass(frozen=True, slots=True)
class ChangelogSpec:
    """How changes are recorded.

    Attributes:
        previous: finds the previous record of each key.
        kinds: the kinds of changes; None if new records go to the changelog with their own kind.
        compared: columns in which a record must differ from the previous one for an update to be recorded;
            None if every update is recorded.
        rebuilt: list columns of which the merge function always returns a new list, even an equal one.
        ordered_by: by column, those in one of which a record needs a value, or its list does not count.
    """

    previous: PreviousRecords
    kinds: ChangeKinds | None
    compared: tuple[str, ...] | None = None
    rebuilt: frozenset[str] = frozenset()
    ordered_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def changes_of(
    spec: ChangelogSpec, groups: Groups, merged: Merged, exists: Mask, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The changes of a round, by key; the previous values of an update come before the new ones.

    Args:
        spec: how changes are recorded.
        groups: the records.
        merged: the result for each group, before anything is dropped.
        exists: mask of the groups whose result is a row and not a retraction.
        schema: schema of the changes.
    """
    previous = spec.previous.of(groups)
    had = previous.places >= 0
    inserted = previous.counts & ~had & exists
    deleted = previous.counts & had & ~exists
    updated = previous.counts & had & exists
    if spec.compared is not None and updated.any():
        updated &= _differs(spec, groups, merged, previous, updated)
    changes = _Changes.of(inserted, deleted, updated)
    if len(changes.groups):
        yield from _gathered(changes, groups, merged, previous.places, spec.kinds, schema)


def changes_of_lone(spec: ChangelogSpec, layout: RecordLayout, piece: Piece) -> pa.RecordBatch | None:
    """The changes by the rows of one run that overlaps no other; None if there are none.

    The merge function keeps them as they are, and none of their keys has a previous record.
    """
    if not spec.previous.is_recorded(int(piece.run_numbers[0])):
        return None
    retracts = layout.retracts(piece.rows)
    rows = piece.rows.filter(pa.array(~retracts)) if retracts.any() else piece.rows
    if spec.kinds is None or layout.kinds is None or not rows.num_rows:
        return rows if rows.num_rows else None
    number = rows.schema.get_field_index(layout.kinds.column)
    kinds = pa.repeat(pa.scalar(spec.kinds.insert, rows.schema.field(number).type), rows.num_rows)
    columns = [*rows.columns[:number], kinds, *rows.columns[number + 1 :]]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


@dataclass(frozen=True, slots=True)
class _Changes:
    """The rows of a changelog.

    Attributes:
        groups: the number of each row's group.
        is_after: mask of the rows with the result of a merge, the others have the previous record.
        is_update: mask of the rows of updates.
    """

    groups: IntPart
    is_after: Mask
    is_update: Mask

    @staticmethod
    def of(inserted: Mask, deleted: Mask, updated: Mask) -> _Changes:
        counts = (inserted | deleted).astype(np.int64) + 2 * updated
        numbers = np.repeat(np.arange(len(counts)), counts)
        is_first = np.ones(len(numbers), dtype=bool)
        is_first[1:] = numbers[1:] != numbers[:-1]
        is_update = updated[numbers]
        return _Changes(numbers, np.where(is_update, ~is_first, inserted[numbers]), is_update)

    def kinds(self, kinds: ChangeKinds) -> pa.Array:
        of_updates = np.where(self.is_after, kinds.update_after, kinds.update_before)
        of_others = np.where(self.is_after, kinds.insert, kinds.delete)
        return pa.array(np.where(self.is_update, of_updates, of_others))

    def chosen(self, after: IntPart, before: IntPart) -> IntPart:
        """For each row the position of its values; both have one position per group."""
        return np.where(self.is_after, after[self.groups], before[self.groups])


def _gathered(
    changes: _Changes,
    groups: Groups,
    merged: Merged,
    before: IntPart,
    kinds: ChangeKinds | None,
    schema: pa.Schema,
) -> Iterator[pa.RecordBatch]:
    picked = {name: changes.chosen(places, before) for name, places in merged.picked.items()}
    computed = {
        name: _beside_previous(changes, values, groups.rows.column(name), before)
        for name, values in merged.computed.items()
    }
    column = groups.layout.kinds and groups.layout.kinds.column
    if kinds is not None and column:
        computed[column] = changes.kinds(kinds).cast(schema.field(column).type)
    places = changes.chosen(merged.records, before)
    yield from take(groups.rows, places, schema, picked=picked, computed=computed)


def _beside_previous(changes: _Changes, values: pa.Array, column: pa.Array, before: IntPart) -> pa.Array:
    """The values of a computed column, with those of previous records from the rows."""
    is_after, numbers = changes.is_after, changes.groups
    after = values.take(pa.array(numbers[is_after]))
    earlier = column.take(pa.array(before[numbers[~is_after]]))
    places = np.empty(len(numbers), dtype=np.int64)
    places[is_after] = np.arange(len(after))
    places[~is_after] = np.arange(len(after), len(numbers))
    return pa.concat_arrays([after.cast(column.type), earlier]).take(pa.array(places))


def _differs(spec: ChangelogSpec, groups: Groups, merged: Merged, previous: Previous, updated: Mask) -> Mask:
    """Mask of the updated groups whose result differs from the previous record in a compared column."""
    left = np.flatnonzero(updated)
    differs = np.zeros(len(updated), dtype=bool)
    for name in spec.compared or ():
        column, same = groups.rows.column(name), None
        if previous.stored is not None and pa.types.is_nested(column.type) and name not in spec.rebuilt:
            taken = _is_taken(name, groups, merged, previous.places, spec.ordered_by.get(name, ()))
            same = (previous.stored & taken)[left]
        old = column.take(pa.array(previous.places[left]))
        equal = equal_values(old, _results(name, groups, merged, left), same)
        differs[left[~equal]] = True
        left = left[equal]
    return differs


def _is_taken(
    name: str, groups: Groups, merged: Merged, before: IntPart, ordered_by: tuple[str, ...]
) -> Mask:
    """Mask of the groups whose result has the previous record's value of a column.

    A computed value is the previous one if no record of a newer run has any that counts.
    """
    if name not in merged.computed:
        places: IntPart = merged.picked.get(name, merged.records)
        return np.equal(places, before)
    numbers = groups.numbers_of(np.arange(groups.rows.num_rows))
    oldest = np.where(before < 0, 0, groups.runs[before])
    counts = (numbers >= 0) & (groups.runs < oldest[numbers]) & _has_value(name, groups)
    if ordered_by:
        counts &= np.any([_has_value(each, groups) for each in ordered_by], axis=0)
    return ~groups.has_any(counts)


def _has_value(name: str, groups: Groups) -> Mask:
    valid: Mask = groups.rows.column(name).is_valid().to_numpy(zero_copy_only=False)
    return valid


def _results(name: str, groups: Groups, merged: Merged, numbers: IntPart) -> pa.Array:
    """The values of a column in the results of some groups."""
    if name in merged.computed:
        return merged.computed[name].take(pa.array(numbers))
    picked: Mapping[str, IntPart] = merged.picked
    if name in picked:
        return take_or_null(groups.rows.column(name), picked[name][numbers])
    return groups.rows.column(name).take(pa.array(merged.records[numbers]))
