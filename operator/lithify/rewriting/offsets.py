"""Rows that take more than the 32-bit offsets of strings, binaries and lists can address.

Called by `merge`: what a round puts together may exceed 2 GiB, if only because some rows are very large. It
is then held with 64-bit offsets, and handed out in batches that fit into 32 bits again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

MOST_BYTES = (1 << 31) - (1 << 20)
"""Batches of so many bytes in all need no wider offsets."""


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Puts batches together, with wider offsets if needed."""
    if sum(batch.nbytes for batch in batches) <= MOST_BYTES:
        return pa.concat_batches(batches)
    wide = pa.schema([field.with_type(_widened(field.type)) for field in batches[0].schema])
    return pa.concat_batches([batch.cast(wide) for batch in batches])


def take(rows: pa.RecordBatch, places: npt.NDArray[np.int64], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Gathers rows that `concat` put together, in batches of the schema that they had before."""
    gathered = pc.take(rows, pa.array(places), boundscheck=False)
    if gathered.schema.equals(schema):
        yield gathered
    elif gathered.nbytes <= MOST_BYTES or len(places) == 1:
        yield gathered.cast(schema)
    else:
        middle = len(places) // 2
        del gathered
        yield from take(rows, places[:middle], schema)
        yield from take(rows, places[middle:], schema)


def _widened(kind: pa.DataType) -> pa.DataType:
    """The type with 64-bit offsets; maps have none, but their keys and values may."""
    if pa.types.is_string(kind):
        return pa.large_string()
    if pa.types.is_binary(kind):
        return pa.large_binary()
    if pa.types.is_map(kind):
        key, item = (field.with_type(_widened(field.type)) for field in (kind.key_field, kind.item_field))
        return pa.map_(key, item)
    if pa.types.is_list(kind):
        return pa.large_list(kind.value_field.with_type(_widened(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_widened(field.type)) for field in kind])
    return kind
