"""Puffin files of which less than half is live: vectors in them have been replaced by newer ones elsewhere.

Called by `figures`. The store keeps a whole file as long as one of its vectors is live, so the live ones are
worth to be written again. Manifests tell what is live; the footer's size is estimated, so generously that a
file whose vectors are all live is never half dead, however small these are. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, integers, whole
from lithify.formats.iceberg.manifests.delete_index import is_vector

_FOOTER = 512
"""Bytes of a Puffin file besides its blobs and what its footer says of these: at most this is expected."""
_DESCRIPTION = 320
"""Bytes of a blob's description in the footer, besides the path of its data file; likewise."""


@dataclass(frozen=True, slots=True)
class PuffinFiles:
    """The Puffin files of some deletes.

    Attributes:
        numbers: the number of each delete's Puffin file; 0 for what is no vector.
        dead_bytes: the bytes that are no longer needed of each delete's Puffin file; 0 if at least half of it
            is live, and for what is no vector.
    """

    numbers: Numbers
    dead_bytes: Numbers


def puffin_files(deletes: pa.Table) -> PuffinFiles:
    """The Puffin files of all deletes of a view: vectors of several partitions share files."""
    rows = np.flatnonzero(is_vector(deletes))
    numbers, dead = np.zeros(len(deletes), dtype=np.int64), np.zeros(len(deletes), dtype=np.int64)
    if not len(rows):
        return PuffinFiles(numbers, dead)
    vectors = deletes.take(pa.array(rows))
    codes = whole(vectors["file_path"]).dictionary_encode().indices.to_numpy().astype(np.int64)
    described = integers(pc.binary_length(whole(vectors["referenced"]))) + _DESCRIPTION
    live = np.full(int(codes.max()) + 1, _FOOTER, dtype=np.int64)
    np.add.at(live, codes, integers(vectors["content_size_in_bytes"]) + described)
    unneeded = integers(vectors["file_size_in_bytes"]) - live[codes]
    numbers[rows], dead[rows] = codes + 1, np.where(unneeded > live[codes], unneeded, 0)
    return PuffinFiles(numbers, dead)
