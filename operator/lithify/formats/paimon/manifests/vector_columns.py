"""Deletion vectors as columns of a frame of live files: which files have one, and how many rows it deletes.

Called by `table`, for views, and by the observer. Positions of deleted rows are read by tasks only. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from lithify.columns.column_groups import places_in, with_columns
from lithify.formats.paimon.deletion_vectors.index_files import VectorIndex
from lithify.formats.paimon.manifests.entry_selection import Place

VECTOR_COLUMNS = pa.schema({"vector_file": pa.string(), "deleted_rows": pa.int64()})
"""The index file with a file's deletion vector, null if it has none; and the number of rows that the vector
deletes, null if the writer did not count them."""

_FILE = ("partition", "bucket", "name")
_MARKED = pa.schema(
    [("partition", pa.binary()), ("bucket", pa.int32()), ("name", pa.string()), *VECTOR_COLUMNS]
)


def marked_files(vectors: Mapping[Place, Sequence[VectorIndex]]) -> pa.Table:
    """The data files that have a vector in the index files of some buckets, with `VECTOR_COLUMNS`."""
    rows = [
        (partition, bucket, name, index.name, found.cardinality)
        for (partition, bucket), indexes in vectors.items()
        for index in indexes
        for name, found in index.ranges.items()
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(_MARKED)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, _MARKED.types, strict=True)]
    return pa.table(arrays, schema=_MARKED)


NOTHING_MARKED = _MARKED.empty_table()
"""No file has a vector."""


def with_vectors(files: pa.Table, marked: pa.Table) -> pa.Table:
    """Adds or replaces `VECTOR_COLUMNS`; vectors of files that are not in the frame are passed over.

    Args:
        files: live files, with the columns `partition`, `bucket` and `name`.
        marked: the files that have a vector, see `marked_files`.
    """
    if not len(marked):
        nulls = {field.name: pa.nulls(len(files), field.type) for field in VECTOR_COLUMNS}
        return with_columns(files, **nulls)
    places = places_in(files.select(_FILE), marked, _FILE)
    found = pa.array(places, mask=places < 0)
    return with_columns(files, **{name: marked[name].take(found) for name in VECTOR_COLUMNS.names})


def has_vectors(files: pa.Table) -> bool:
    """Whether any of the files is known to have a deletion vector."""
    name = VECTOR_COLUMNS.names[0]
    return name in files.column_names and files[name].null_count < len(files)
