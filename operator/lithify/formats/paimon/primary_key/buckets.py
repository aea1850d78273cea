"""Computes the buckets of rows, as Java's writers of fixed buckets do.

Called by `postponed_task` for rows that have no bucket yet. Pure; see `rows.row_hashes` for the hash.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.order import parts_of_column
from lithify.formats.paimon.options.bucket_key import BucketFunction, BucketKey
from lithify.formats.paimon.rows.row_hashes import row_hashes


def buckets_of(key: BucketKey, rows: pa.RecordBatch, count: int) -> npt.NDArray[np.int64]:
    """The bucket of each row if there are `count` buckets.

    Raises:
        ValueError: a column has nulls.
    """
    columns = [_plain(rows.column(name)) for name in key.columns]
    if key.function is BucketFunction.DEFAULT:
        return np.abs(row_hashes(columns, key.types).astype(np.int64)) % count
    if columns[0].null_count:
        raise ValueError("a column of the key has nulls")
    (values,) = parts_of_column(columns[0])
    assert isinstance(values, np.ndarray)  # noqa: S101  # `bucket_key` allows integers only
    return np.mod(values, count)


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
