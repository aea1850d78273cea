"""Ranges and sets of keys: what merges and lookups ask of their files, whose readers can skip the rest."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import KeyValue, Part, key_at

Key = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys above `after` up to and including `upto`; None leaves an end open."""

    after: Key | None = None
    upto: Key | None = None


EVERYTHING = KeyRange()


@dataclass(frozen=True, slots=True)
class FirstKeys:
    """Values of the first part of the key (see `columns.order`), ascending and distinct."""

    values: Part

    def any_within(self, low: KeyValue, high: KeyValue) -> bool:
        """Whether any lies between two bounds, both included."""
        place = bisect_left(range(len(self.values)), low, key=self._at)
        return place < len(self.values) and self._at(place) <= high  # type: ignore[operator]

    def among(self, part: Part) -> pa.BooleanArray:
        """Which values of an ascending part are among these."""
        if not len(part):
            return pa.array([], pa.bool_())
        places = range(len(self.values))
        start = bisect_left(places, key_at([part], 0)[0], key=self._at)
        stop = bisect_right(places, key_at([part], len(part) - 1)[0], key=self._at)
        return pc.is_in(pa.array(part), value_set=pa.array(self.values[start:stop]))

    def _at(self, place: int) -> KeyValue:
        (value,) = key_at([self.values], place)
        return value
