"""The function listagg: concatenates texts with a delimiter.

Nulls and empty texts are skipped. With `distinct` the first text is kept unchanged; later texts are split at
the delimiter, and only parts that are not in the list yet are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.nulls import gather
from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import numbers_of_groups
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates.elements import (
    Extents,
    Lists,
    first_of_equals,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    cannot_retract,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import any_of, valid_of

_MOST_BYTES = (1 << 31) - 1


def listagg_of(function: FieldFunction) -> FieldAggregate:
    """The function listagg for a column."""
    options = function.options
    return ListAgg(options.column, options.delimiter, options.distinct)


@dataclass(frozen=True, slots=True)
class ListAgg:
    """Concatenates texts.

    Attributes:
        column: column name for messages.
        delimiter: delimiter between texts.
        distinct: whether parts that are already in the list are skipped.
    """

    column: str
    delimiter: str
    distinct: bool

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """One text per group: empty if all texts are empty or null, null if all are null."""
        if retracts.any():
            raise cannot_retract("listagg", self.column)
        return self.aggregate_rows(values, np.arange(len(values)), starts)

    def aggregate_rows(self, column: pa.Array, order: IntPart, starts: IntPart) -> pa.Array:
        """One text per group, as `aggregate`: the only text of a group stays as it is."""
        lengths = pc.fill_null(pc.binary_length(column), 0).to_numpy(zero_copy_only=False)[order]
        used = np.flatnonzero(lengths)
        owners = numbers_of_groups(starts, len(order))[used]
        if self.distinct:
            texts, owners = self._distinct(column, order[used], owners)
        else:
            texts = gather(column, order[used])
        joined = self._joined(texts, owners, len(starts))
        if column.null_count:
            joined = _masked(joined, any_of(valid_of(column)[order], starts))
        return joined.cast(column.type) if joined.nbytes <= _MOST_BYTES else joined

    def _joined(self, texts: pa.Array, owners: IntPart, total: int) -> pa.Array:
        offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=total))))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), texts.cast(pa.large_string()))
        return pc.binary_join(lists, pa.scalar(self.delimiter, pa.large_string()))

    def _distinct(self, column: pa.Array, places: IntPart, owners: IntPart) -> tuple[pa.Array, IntPart]:
        """The first text of each group, then the new parts of the others, in order.

        Args:
            column: texts.
            places: positions of those that are used.
            owners: the group of each of these.

        Returns:
            Texts and parts, and the group of each.
        """
        begins = np.append(True, owners[1:] != owners[:-1])[: len(owners)]
        firsts, others = np.flatnonzero(begins), np.flatnonzero(~(begins & np.append(begins[1:], True)))
        # Each different text is split once, and the only text of a group not at all.
        encoded = gather(column, places[others]).dictionary_encode()
        split = pc.split_pattern(encoded.dictionary, self.delimiter)
        parts = Extents.of(split).lists(encoded.indices.to_numpy(), others)
        codes = split.values.dictionary_encode().indices.to_numpy()
        new = first_of_equals(owners[parts.owners], codes[parts.places]) & ~begins[parts.owners]
        new &= pc.binary_length(split.values).to_numpy()[parts.places] > 0
        added = parts.only(new)
        both = pa.concat_arrays([each.cast(pa.large_string()) for each in (column, split.values)])
        chosen = Lists(firsts, places[firsts]).beside(
            Lists(added.owners, added.places + len(column)), len(owners)
        )
        return gather(both, chosen.places), owners[chosen.owners]


def _masked(texts: pa.Array, valid: Mask) -> pa.Array:
    """The texts, without a copy; null where they are not valid."""
    _, *buffers = texts.buffers()
    marks = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(texts.type, len(texts), [marks, *buffers])
