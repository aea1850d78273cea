"""Functions that select a value by position: the last or the first, with or without nulls.

They read only which values are null, so they work for every type.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from lithify.columns.nulls import take_or_null
from lithify.columns.order import IntPart
from lithify.engine.rewrite.records import Mask
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import cannot_retract
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    first_of,
    last_of,
    steps_of,
    valid_of,
)


class _Selection:
    __slots__ = ()

    def takes_newest(self, *, retracts: bool) -> bool:
        """Whether the last value is selected if no value is null."""
        return not retracts

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        raise NotImplementedError

    def aggregate(self, values: pa.Array, starts: IntPart, retracts: Mask) -> pa.Array:
        """The selected values."""
        return take_or_null(values, self.select(valid_of(values), starts, retracts))


@dataclass(frozen=True, slots=True)
class NewestValue(_Selection):
    """The last value, even if it retracts; used for columns of the primary key."""

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:  # noqa: ARG002 (protocol)
        """The last position of each group."""
        return np.append(starts[1:], len(valid)) - 1


@dataclass(frozen=True, slots=True)
class LastValue(_Selection):
    """The last value; null if it retracts."""

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The last position of each group."""
        last = np.append(starts[1:], len(valid)) - 1
        return np.where(retracts[last], -1, last)


@dataclass(frozen=True, slots=True)
class LastNonNullValue(_Selection):
    """The last value that is not null; null if that one retracts."""

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The last position of each group that has a value."""
        last = last_of(valid, starts)
        return np.where((last >= 0) & retracts[last], -1, last)


@dataclass(frozen=True, slots=True)
class FirstValue(_Selection):
    """The first value or the first non-null value.

    Attributes:
        column: column name for messages.
        skips_nulls: whether nulls are skipped.
    """

    column: str
    skips_nulls: bool

    def takes_newest(self, *, retracts: bool) -> bool:  # noqa: ARG002 (protocol)
        """Never: it selects the first value."""
        return False

    def select(self, valid: Mask, starts: IntPart, retracts: Mask) -> IntPart:
        """The first position of each group."""
        if retracts.any():
            raise cannot_retract(self._name, self.column)
        return first_of(valid, starts) if self.skips_nulls else starts

    def aggregate_after(self, values: pa.Array, starts: IntPart, retracts: Mask, removes: Mask) -> pa.Array:
        """Like `aggregate`; a value before the last delete, though replaced, still blocks later ones."""
        if retracts.any():
            raise cannot_retract(self._name, self.column)
        counts = ~removes & valid_of(values) if self.skips_nulls else ~removes
        removal, first = last_of(removes, starts), first_of(counts, starts)
        return take_or_null(values, np.where(first > removal, first, removal))

    def aggregate_late(self, values: pa.Array, starts: IntPart, retracts: Mask, late: Mask) -> pa.Array:
        """Like `aggregate`, but once there was a first value, a late one replaces the result, even by null.

        Before that, the result itself counts as the first value.
        """
        if retracts.any() or not late.any():
            return self.aggregate(values, starts, retracts)
        valid, chosen = valid_of(values), np.full(len(starts), -1)
        begun = np.zeros(len(starts), dtype=bool)
        for groups, places in steps_of(starts, len(values)):
            is_late, before = late[places], chosen[groups]
            offered = np.where(is_late, before >= 0, valid[places]) | (not self.skips_nulls)
            begins = offered & ~begun[groups]
            begun[groups] |= begins
            chosen[groups] = np.where(begins == is_late, before, np.where(valid[places], places, -1))
        return take_or_null(values, chosen)

    @property
    def _name(self) -> str:
        return "first_non_null_value" if self.skips_nulls else "first_value"
