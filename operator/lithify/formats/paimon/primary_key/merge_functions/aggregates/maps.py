"""The functions merge_map and merge_map_with_keytime: merge the entries of maps into one map.

The last entry of a key wins or, with times, the entry with the latest time. Entries keep the order of their
input maps instead of the order of Java's `HashMap`, because maps are unordered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import numbers_of_groups
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.options.merging.nested_types import time_field
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import (
    Extents,
    codes_of,
    list_column,
    pairs,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    cannot_retract,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    first_of,
    last_of,
    sizes_of,
    valid_of,
)


def merge_map_with_time_of(function: FieldFunction) -> FieldAggregate:
    """The function merge_map_with_keytime for a column."""
    names = [part.name for part in function.type.fields[1].type.fields]
    number = names.index(time_field(function.type, function.options))
    return MergeMapWithTime(function.options.column, number)


@dataclass(frozen=True, slots=True)
class MergeMap:
    """Merges the entries of all maps; a retraction removes its map's keys."""

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One map per group; null before the first map that is not a retraction."""
        entries = _Entries.of(values, starts)
        newest = np.append(entries.starts, len(entries.places))[1:] - 1
        chosen = newest[~retracts[entries.rows[newest]]]
        return entries.column(values, chosen, any_of(valid_of(values) & ~retracts, starts))


@dataclass(frozen=True, slots=True)
class MergeMapWithTime:
    """Merges the entries of all maps; the latest entry of each key wins.

    An entry without a value removes its key; an entry without a time has no effect. The first map is copied
    unchanged, so there both kinds remain until their key has another entry.

    Attributes:
        column: column name for messages.
        time: index of the time field in the maps' values.
    """

    column: str
    time: int

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One map per group, null if all values are null."""
        if retracts.any():
            raise cannot_retract("merge_map_with_keytime", self.column)
        valid = valid_of(values)
        entries = _Entries.of(values, starts)
        if not len(entries.places):
            return entries.column(values, entries.starts, any_of(valid, starts))
        items = values.items.take(pa.array(entries.places))
        is_first = np.isin(entries.rows, first_of(valid, starts))
        times = _text_ranks(items.field(self.time))
        times[~valid_of(items)] = -1
        removal = last_of(~valid_of(items) & ~is_first, entries.starts)
        removed = np.repeat(removal, sizes_of(entries.starts, len(times))) >= np.arange(len(times))
        ranks = np.where(removed | ((times < 0) & ~is_first), -2, times)
        latest = np.maximum.reduceat(ranks, entries.starts)
        sizes = sizes_of(entries.starts, len(times))
        chosen = first_of((ranks == np.repeat(latest, sizes)) & (ranks > -2), entries.starts)
        return entries.column(values, chosen[chosen >= 0], any_of(valid, starts))


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries of all maps by group and key; entries of one key are in the order of their maps.

    Attributes:
        owners: the group of each entry.
        places: index of each entry among all entries of the column.
        rows: index of the value with the entry.
        starts: positions at which the entries of a key start.
    """

    owners: IntPart
    places: IntPart
    rows: IntPart
    starts: IntPart

    @staticmethod
    def of(values: pa.Array, starts: IntPart) -> _Entries:
        rows = np.arange(len(values))
        found = Extents.of(values).lists(rows, rows)
        owners = numbers_of_groups(starts, len(values))[found.owners]
        keys = pairs(owners, codes_of(values.keys)[found.places])
        in_turn = np.argsort(keys, kind="stable")
        ordered = keys[in_turn]
        begins = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        return _Entries(owners[in_turn], found.places[in_turn], found.owners[in_turn], np.flatnonzero(begins))

    def column(self, values: pa.Array, chosen: IntPart, valid: Mask) -> pa.Array:
        """One map per group, of the chosen entries in input order."""
        in_turn = chosen[np.lexsort((self.rows[chosen], self.owners[chosen]))]
        places, kind = pa.array(self.places[in_turn]), values.type
        entries = pa.StructArray.from_arrays(
            [values.keys.take(places), values.items.take(places)],
            fields=[pa.field("key", kind.key_type, nullable=False), kind.item_field],
        )
        lengths = np.bincount(self.owners[in_turn], minlength=len(valid))
        return list_column(kind, lengths, valid, entries)


def _text_ranks(texts: pa.Array) -> IntPart:
    """The rank of each text in the order of Java strings (UTF-16 code units); -1 for nulls."""
    encoded = pc.dictionary_encode(texts)
    each = encoded.dictionary.to_pylist()
    ranks = np.empty(len(each) + 1, dtype=np.int64)
    ranks[sorted(range(len(each)), key=lambda number: each[number].encode("utf-16-be"))] = np.arange(
        len(each)
    )
    ranks[-1] = -1
    found: IntPart = ranks[encoded.indices.fill_null(-1).to_numpy()]
    return found
