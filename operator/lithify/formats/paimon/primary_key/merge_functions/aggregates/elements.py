"""Operations on the elements of many lists at once: append, deduplicate, remove, rebuild list columns.

Used by the functions that collect arrays and merge maps. An element is identified by its place (index among
all elements of a column); elements are equal if their codes are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import (
    IntPart,
    parts_of_column,
    rank_rows,
    sorted_stably,
)
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import valid_of


@dataclass(frozen=True, slots=True)
class Lists:
    """Elements of some lists.

    Attributes:
        owners: the list number of each element, ascending.
        places: index of each element among all elements of the column.
    """

    owners: IntPart
    places: IntPart

    @staticmethod
    def empty() -> Lists:
        """Lists without elements."""
        return Lists(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

    def only(self, chosen: Mask) -> Lists:
        """The elements that a mask selects."""
        return self.at(np.flatnonzero(chosen))

    def at(self, positions: IntPart) -> Lists:
        """The elements at some positions, which must leave owners ascending."""
        return Lists(self.owners[positions], self.places[positions])

    def with_more(self, more: Lists) -> Lists:
        """Appends to each list the elements of `more` with the same owner."""
        if not len(self.owners):
            return more
        owners = np.concatenate([self.owners, more.owners])
        in_turn = np.argsort(owners, kind="stable")
        return Lists(owners[in_turn], np.concatenate([self.places, more.places])[in_turn])

    def beside(self, others: Lists, total: int) -> Lists:
        """The elements of both; the elements of a list are either all here or all there.

        Args:
            others: elements of other lists.
            total: number of lists.
        """
        theirs = others.lengths(total)
        lengths = theirs + self.lengths(total)
        owners = owners_of(lengths)
        is_theirs = (theirs > 0)[owners]
        places = np.empty(len(owners), dtype=np.int64)
        places[np.flatnonzero(is_theirs)] = others.places
        places[np.flatnonzero(~is_theirs)] = self.places
        return Lists(owners, places)

    def first_of_equals(self, codes: IntPart) -> Mask:
        """Mask of the elements that equal no earlier one of the same list."""
        return first_of_equals(self.owners, codes[self.places])

    def distinct_last(self, codes: IntPart) -> Lists:
        """Keeps the last of equal elements at the place of the first, like puts into an ordered map."""
        keys = pairs(self.owners, codes[self.places])
        _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
        last = np.empty(len(first), dtype=np.int64)
        last[numbers] = self.places
        in_turn = np.argsort(first)
        return Lists(self.owners[first[in_turn]], last[in_turn])

    def without_any(self, others: Lists, codes: IntPart) -> Lists:
        """Removes all elements that equal one of `others` in the same list."""
        height = int(codes.max(initial=0)) + 1
        mine, theirs = (each.owners * height + codes[each.places] for each in (self, others))
        return self.only(~np.isin(mine, theirs))

    def beginning(self, most: IntPart) -> Lists:
        """Truncates each list.

        Args:
            most: maximum length for each owner.
        """
        return self.only(occurrences(self.owners) < most[self.owners])

    def without(self, others: Lists, codes: IntPart) -> Lists:
        """Removes, for each element of `others`, the first equal element of the same list."""
        both = Lists(
            np.concatenate([others.owners, self.owners]), np.concatenate([others.places, self.places])
        )
        keys = pairs(both.owners, codes[both.places])
        _, numbers = np.unique(keys, return_inverse=True)
        taken = np.bincount(numbers[: len(others.owners)], minlength=len(keys))
        mine = numbers[len(others.owners) :]
        return self.only(occurrences(mine) >= taken[mine])

    def lengths(self, total: int) -> IntPart:
        """Number of elements of each of `total` lists."""
        return np.bincount(self.owners, minlength=total).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Extents:
    """Range of each value's elements in a list or map column; nulls have no elements.

    Attributes:
        starts: the place of the first element of each value.
        counts: number of elements of each value.
    """

    starts: IntPart
    counts: IntPart

    @staticmethod
    def of(values: pa.Array) -> Extents:
        """The extents of a column of lists or maps."""
        offsets = values.offsets.to_numpy().astype(np.int64)
        return Extents(offsets[:-1], np.where(valid_of(values), np.diff(offsets), 0))

    def lists(self, rows: IntPart, owners: IntPart) -> Lists:
        """The elements of some values.

        Args:
            rows: the positions of the values.
            owners: the list number for each value's elements, ascending.
        """
        counts = self.counts[rows]
        numbers = owners_of(counts)
        skipped = self.starts[rows] - (np.cumsum(counts) - counts)
        return Lists(owners[numbers], skipped[numbers] + np.arange(len(numbers)))


def list_column(kind: pa.DataType, lengths: IntPart, valid: Mask, elements: pa.Array) -> pa.Array:
    """Builds a column of lists or maps from their concatenated elements."""
    wide = pa.types.is_large_list(kind)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64 if wide else np.int32)
    marks = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(valid), [marks, pa.py_buffer(offsets)], children=[elements])


def owners_of(lengths: IntPart) -> IntPart:
    """The list number of each element of lists that may be empty."""
    # Counting the lists that have ended is twice as fast as repeating each of their numbers.
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    ended = np.bincount(ends[:-1], minlength=total)[:total]
    return np.cumsum(ended, out=ended)


def pairs(owners: IntPart, codes: IntPart) -> IntPart:
    """A number per element, the same for equal elements of one list."""
    height = int(codes.max(initial=0)) + 1
    return owners * height + codes


def first_of_equals(owners: IntPart, codes: IntPart) -> Mask:
    """Mask of the elements that equal no earlier one of the same owner.

    Args:
        owners: the owner of each element.
        codes: a code per element, from 0; equal elements have the same.
    """
    keys, positions = sorted_stably(pairs(owners, codes))
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    first = np.zeros(len(keys), dtype=bool)
    first[positions[begins]] = True
    return first


def occurrences(numbers: IntPart) -> IntPart:
    """For each number, how often it occurs before that position."""
    ordered, in_turn = sorted_stably(numbers)
    begins = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    starts = np.flatnonzero(begins)
    counts = np.empty(len(numbers), dtype=np.int64)
    counts[in_turn] = np.arange(len(numbers)) - np.repeat(starts, np.diff(starts, append=len(numbers)))
    return counts


def codes_of(values: pa.Array) -> IntPart:
    """A code per value, from 0, the same for values that are equal in Java.

    Positive and negative zero differ, all NaNs are equal, and so are all nulls.

    Raises:
        TypeError: values of the type cannot be compared like this.
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        # Texts often repeat: no two of them have to be compared to find equal ones.
        encoded = pc.dictionary_encode(values, null_encoding="encode")
        return cast(IntPart, encoded.indices.to_numpy().astype(np.int64))
    _, codes = np.unique(rank_rows(_equality_parts(values)), return_inverse=True)
    return codes.astype(np.int64)


def _equality_parts(values: pa.Array) -> list[IntPart]:
    valid = values.is_valid().to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_floating(values.type):
        floats = values.fill_null(0).cast(pa.float64()).to_numpy(zero_copy_only=False)
        bits = np.where(np.isnan(floats), np.nan, floats).view(np.int64)
        return [valid, np.unique(bits, return_inverse=True)[1].astype(np.int64)]
    return [valid, *(rank_rows([part]) for part in parts_of_column(values, nullable=True)[1:])]
