"""The last non-null value of each key, for many columns at once.

Called by merge functions. For each column this is one position of each group. Groups of one record need no
work. The records of the others are laid over each other from the oldest to the newest, where they are not
null: a few steps over a matrix of columns and groups, one more than the largest group has records.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.nulls import gather, take_or_null
from lithify.columns.order import IntPart
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import Mask

_MATRIX_BYTES = 1 << 20
"""Size of the masks of columns that are processed together; they should stay in the processor's cache."""

Places = npt.NDArray[np.int32] | npt.NDArray[np.int64]


class LastValues:
    """The newest records, and the last non-null values, of groups.

    Args:
        groups: records that all count; none of them retracts.
    """

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._is_narrow = groups.rows.num_rows < 1 << 31

    @cached_property
    def newest(self) -> IntPart:
        """The position of the newest record of each group."""
        return self._groups.newest()

    def columns(self, names: Sequence[str]) -> Iterator[tuple[str, pa.Array]]:
        """Names and values of those columns of which some values do not come from the newest record."""
        rows = self._groups.rows
        newest = self._as_places(self.newest)
        for block in self._blocks(names):
            for name, places in zip(block, self._places(block), strict=True):
                picked = newest.copy()
                picked[self._several] = places
                yield name, _taken(rows.column(name), picked)

    def sources(self, names: Sequence[str]) -> Mask:
        """Mask of the rows with the last non-null value of any of these columns, in groups of several."""
        sources = np.zeros(self._groups.rows.num_rows, dtype=bool)
        for block in self._blocks(names):
            sources[self._places(block).ravel()] = True
        return sources

    @cached_property
    def _several(self) -> IntPart:
        """The groups of more than one record, the largest first."""
        sizes = self._groups.sizes
        several = np.flatnonzero(sizes > 1)
        return several[np.argsort(-sizes[several], kind="stable")]

    @cached_property
    def _layers(self) -> list[Places]:
        """The oldest to the newest record of each of these groups; small groups have no old ones."""
        ends, sizes = self._groups.ends[self._several] - 1, self._groups.sizes[self._several]
        order, most = self._groups.order, int(sizes.max(initial=0))
        counts = np.searchsorted(-sizes, -np.arange(most), side="left")
        layers = [self._as_places(order[ends[:count] - age]) for age, count in enumerate(counts)]
        return layers[::-1]

    def _as_places(self, positions: IntPart) -> Places:
        """Positions in as few bytes as they need: they are copied for each column."""
        return positions.astype(np.int32) if self._is_narrow else positions

    def _blocks(self, names: Sequence[str]) -> Iterator[list[str]]:
        """The columns in which nulls are mixed with values, in blocks to be processed together."""
        rows = self._groups.rows
        if not len(self._several):
            return
        nulls = {name: rows.column(name).null_count for name in names}
        mixed = [name for name, count in nulls.items() if 0 < count < rows.num_rows]
        step = max(1, _MATRIX_BYTES // rows.num_rows)
        for start in range(0, len(mixed), step):
            yield mixed[start : start + step]

    def _places(self, names: Sequence[str]) -> Places:
        """The row of the last non-null value; shape (columns, groups of several records).

        That of the oldest record if all values are null.
        """
        valid = _valid([self._groups.rows.column(name) for name in names])
        places = np.empty((len(names), len(self._several)), dtype=np.int32 if self._is_narrow else np.int64)
        seen = 0
        for layer in self._layers:
            places[:, seen : len(layer)] = layer[seen:]
            np.copyto(places[:, :seen], layer[:seen], where=np.take(valid, layer[:seen], axis=1))
            seen = len(layer)
        return places


def _valid(columns: Sequence[pa.Array]) -> Mask:
    """Mask of the values that are not null; shape (columns, rows)."""
    valid = np.empty((len(columns), len(columns[0])), dtype=bool)
    for number, column in enumerate(columns):
        bitmap = column.buffers()[0]
        if bitmap is None:
            valid[number] = column.is_valid().to_numpy(zero_copy_only=False)
            continue
        bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), bitorder="little")
        valid[number] = bits[column.offset : column.offset + len(column)]
    return valid


def _taken(column: pa.Array, places: Places) -> pa.Array:
    if pa.types.is_nested(column.type) or pa.types.is_dictionary(column.type):
        return take_or_null(column, places)
    return gather(column, places)
