"""The functions rbm32, rbm64, theta_sketch and hll_sketch: unions of serialized bitmaps and sketches.

Made by `factory`. Values are opaque to Arrow, so groups are folded one after the other. As in Paimon, a group
with one value keeps it as it is; it is not even read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.nulls import take_or_null
from lithify.columns.order import IntPart
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import FieldFunction
from lithify.formats.paimon.primary_key.merge_functions.aggregates import (
    hll_sketches,
    long_bitmaps,
    roaring,
    theta_sketches,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.model import (
    FieldAggregate,
    NonRetractableAggregate,
)
from lithify.formats.paimon.primary_key.merge_functions.aggregates.segments import (
    last_of,
    starts_of,
    valid_of,
)

UNIONS: Final[Mapping[str, Callable[[bytes, bytes], bytes]]] = {
    "rbm32": roaring.union,
    "rbm64": long_bitmaps.union,
    "theta_sketch": theta_sketches.union,
    "hll_sketch": hll_sketches.union,
}
"""The union of an accumulator and a value, for each function."""
_NOUNS: Final = {
    "rbm32": "32-bit Roaring bitmap",
    "rbm64": "64-bit Roaring bitmap in Java's format",
    "theta_sketch": "Theta sketch",
    "hll_sketch": "HLL sketch",
}


def union_of(function: FieldFunction) -> FieldAggregate:
    """The union function that options name, for a column."""
    return UnionOf(function.name, function.options.column)


@dataclass(frozen=True, slots=True)
class UnionOf(NonRetractableAggregate):
    """The union of all values; nulls are ignored."""

    def _aggregated(self, values: pa.Array, starts: IntPart) -> pa.Array:
        valid = valid_of(values)
        left, some = starts_of(valid, starts)
        result = take_or_null(values, last_of(valid, starts))
        counts = np.diff(left, append=int(valid.sum()))
        several = counts > 1
        if not several.any():
            return result
        places = np.flatnonzero(valid)[np.repeat(several, counts)]
        folded = self._folded(values.take(pa.array(places)), counts[several])
        mask = np.zeros(len(starts), dtype=bool)
        mask[np.flatnonzero(some)[several]] = True
        return pc.replace_with_mask(result, pa.array(mask), pa.array(folded, values.type))

    def _folded(self, values: pa.Array, counts: IntPart) -> list[bytes]:
        """The union of each group's values; groups are adjacent, without nulls."""
        union, ends = UNIONS[self.name], np.cumsum(counts)
        try:
            return [
                reduce(union, values[start:end].to_pylist())
                for start, end in zip((ends - counts).tolist(), ends.tolist(), strict=True)
            ]
        except ValueError as error:
            reason = (
                f"a value is no {_NOUNS[self.name]} that {self.name} can read ({error}), so Paimon's readers "
                "fail over its key, too; roll the table back to a snapshot before it was written"
            )
            raise UnsupportedTable(f"column {self.column}", (reason,)) from error
