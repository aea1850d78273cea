"""Rows whose strings, binaries and lists exceed 32-bit offsets.

Called by `merge`: the rows of a round may exceed 2 GiB, if only because some rows are very large. They are
then held with 64-bit offsets, and returned in batches that fit into 32 bits again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.nulls import gather, null_at_negative, take_or_null

Places = npt.NDArray[np.int64]

MOST_BYTES = (1 << 31) - (1 << 20)
"""Batches of at most this many bytes in total need no wider offsets."""

NOTHING: Mapping[str, Any] = {}


def concat(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenates batches, with wider offsets if needed."""
    if _fit_together(batches):
        return pa.concat_batches(batches)
    wide = pa.schema([field.with_type(_widened(field.type)) for field in batches[0].schema])
    return pa.concat_batches([batch.cast(wide) for batch in batches])


def _fit_together(batches: Sequence[pa.RecordBatch]) -> bool:
    """Whether batches need no wider offsets.

    The size of the buffers is known at once, that of the rows in them is slow to find for many columns.
    """
    most = sum(int(batch.get_total_buffer_size()) for batch in batches)
    return most <= MOST_BYTES or sum(int(batch.nbytes) for batch in batches) <= MOST_BYTES


def take(
    rows: pa.RecordBatch,
    places: Places,
    schema: pa.Schema,
    *,
    picked: Mapping[str, Places] = NOTHING,
    computed: Mapping[str, pa.Array] = NOTHING,
    begins: npt.NDArray[np.bool_] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Gathers rows from the result of `concat`, in batches of the original schema.

    Args:
        rows: the rows to gather from.
        places: positions in `rows`, one per row of the result.
        schema: schema of the result.
        picked: separate positions for some columns, one per row of the result, -1 for null.
        computed: columns that are not gathered, one value per row of the result.
        begins: rows of the result at which a batch may begin, None for all.

    Raises:
        MemoryError: the rows between two possible batch boundaries exceed 2 GiB.
    """
    gathered = _gathered(rows, places, picked, computed)
    middle = _middle(len(places), begins)
    if gathered.schema.equals(schema):
        yield gathered
    elif gathered.nbytes <= MOST_BYTES or middle is None:
        yield _narrowed(gathered, schema)
    else:
        del gathered
        for part in (slice(None, middle), slice(middle, None)):
            yield from take(
                rows,
                places[part],
                schema,
                picked={name: each[part] for name, each in picked.items()},
                computed={name: values[part] for name, values in computed.items()},
                begins=None if begins is None else begins[part],
            )


def _gathered(
    rows: pa.RecordBatch, places: Places, picked: Mapping[str, Places], computed: Mapping[str, pa.Array]
) -> pa.RecordBatch:
    usual = pa.array(places)
    if not picked and not computed:
        return pc.take(rows, usual, boundscheck=False)
    chosen = {id(each): null_at_negative(each) for each in picked.values()}
    arrays = [
        computed[name]
        if name in computed
        else take_or_null(column, chosen[id(picked[name])])
        if name in picked
        else gather(column, usual)
        for name, column in zip(rows.schema.names, rows.columns, strict=True)
    ]
    fields = [field.with_type(array.type) for field, array in zip(rows.schema, arrays, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _middle(rows: int, begins: npt.NDArray[np.bool_] | None) -> int | None:
    """The row near the middle at which to cut a batch in two, None if it cannot be cut."""
    if begins is None:
        return rows // 2 or None
    allowed = np.flatnonzero(begins[1:]) + 1
    if len(allowed) == 0:
        return None
    return int(allowed[np.argmin(np.abs(allowed - rows // 2))])


def _narrowed(gathered: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    try:
        return gathered.cast(schema)
    except pa.ArrowInvalid as error:
        if gathered.nbytes <= MOST_BYTES:
            raise
        raise MemoryError(f"the records of one key have {gathered.nbytes} bytes") from error


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
