"""The keys that a task looks up, so that parts of files that certainly lack them are not read.

Called by `merge_task` before it reads the levels above its output. Reads one column of its level-0 files.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.key_range import FirstKeys
from lithify.columns.order import parts_of_column
from lithify.formats.paimon.data_files.reader import FileRun

MOST_KEYS = 1 << 20
"""Records of level 0 from which on no part of a file is likely to lack them all."""
WORTH_BYTES = 4 << 20
"""Bytes of the levels above from which on it pays to know the keys."""
_PIECE = 4 << 20


def first_keys_of(runs: Iterable[FileRun], column: str) -> FirstKeys:
    """The values of the first key column in some runs, which are read with that column only.

    Args:
        runs: the runs.
        column: name of the column.
    """
    pieces = (piece.rows.column(column) for run in runs for piece in run.pieces(_PIECE))
    parts = [parts_of_column(values)[0] for values in pieces]
    if not parts:
        return FirstKeys(np.empty(0, dtype=np.int64))
    if isinstance(parts[0], np.ndarray):
        return FirstKeys(np.unique(np.concatenate(parts)))
    distinct = pc.unique(pa.concat_arrays(parts))
    return FirstKeys(distinct.take(pc.sort_indices(distinct)))
