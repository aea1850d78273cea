"""The function listagg: concatenates texts with a delimiter.

Nulls and empty texts are skipped. With `distinct` the first text is kept unchanged; later texts are split at
the delimiter, and only parts that are not in the list yet are added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.errors import InvalidOption
from lithify.rewriting.order import IntPart
from lithify.rewriting.records import Mask
from lithify.tables.files.types import UNBOUNDED, ColumnType
from lithify.tables.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    FieldOptions,
    cannot_retract,
    wrong_type,
)
from lithify.tables.paimon.primary_key.merge_functions.aggregates.segments import (
    any_of,
    numbers_of,
    valid_of,
)

_MOST_BYTES = (1 << 31) - 1


def listagg_of(column: ColumnType, options: FieldOptions) -> FieldAggregate:
    """The function listagg for a column.

    Raises:
        InvalidOption: the column is not STRING, or the delimiter does not separate parts unambiguously.
    """
    if column.root != "VARCHAR" or column.precision != UNBOUNDED:
        raise wrong_type("listagg", column, options, "STRING")
    if options.distinct and _overlaps_itself(options.delimiter):
        raise InvalidOption(
            f"fields.{options.column}.list-agg-delimiter",
            f"with '{options.delimiter}' between texts Paimon may find other parts in a list than were put "
            "into it, so this release refuses it with distinct; take a delimiter like , or ;",
        )
    return ListAgg(options.column, options.delimiter, options.distinct)


def _overlaps_itself(delimiter: str) -> bool:
    """Whether the delimiter is empty or a proper suffix of it is also a prefix."""
    return not delimiter or any(delimiter.startswith(delimiter[cut:]) for cut in range(1, len(delimiter)))


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
        lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
        used, groups = lengths > 0, numbers_of(starts, len(values))
        texts, owners = values.filter(pa.array(used)).cast(pa.large_string()), groups[used]
        if self.distinct:
            texts, owners = self._distinct(texts, owners)
        joined = self._joined(texts, owners, len(starts))
        empty = ~any_of(valid_of(values), starts)
        joined = pc.if_else(pa.array(empty), pa.scalar(None, joined.type), joined)
        return joined.cast(values.type) if joined.nbytes <= _MOST_BYTES else joined

    def _joined(self, texts: pa.Array, owners: IntPart, total: int) -> pa.Array:
        offsets = np.searchsorted(owners, np.arange(total + 1))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), texts)
        return pc.binary_join(lists, pa.scalar(self.delimiter, pa.large_string()))

    def _distinct(self, texts: pa.Array, owners: IntPart) -> tuple[pa.Array, IntPart]:
        """The first text of each group, then the new parts of the others, in order."""
        if not len(texts):
            return texts, owners
        encoded = texts.dictionary_encode()
        if not pc.any(pc.match_substring(encoded.dictionary, self.delimiter)).as_py():
            new = _first_of_equals(owners, encoded.indices.to_numpy())
            return texts.filter(pa.array(new)), owners[new]
        is_first = np.append(True, owners[1:] != owners[:-1])
        lists = pc.split_pattern(texts, self.delimiter)
        parents = np.repeat(np.arange(len(texts)), pc.list_value_length(lists).to_numpy())
        parts, part_owners = lists.flatten(), owners[parents]
        new = _first_of_equals(part_owners, pc.dictionary_encode(parts).indices.to_numpy())
        new &= ~is_first[parents] & (pc.binary_length(parts).to_numpy() > 0)
        everything = pa.concat_arrays([texts.filter(pa.array(is_first)), parts.filter(pa.array(new))])
        all_owners = np.concatenate([owners[is_first], part_owners[new]])
        in_turn = np.argsort(all_owners, kind="stable")
        return everything.take(pa.array(in_turn)), all_owners[in_turn]


def _first_of_equals(owners: IntPart, codes: npt.NDArray[np.int32]) -> Mask:
    """Mask of the texts that equal no earlier one of the same owner."""
    _, seen_first = np.unique(owners * (int(codes.max()) + 1) + codes, return_index=True)
    new = np.zeros(len(codes), dtype=bool)
    new[seen_first] = True
    return new
