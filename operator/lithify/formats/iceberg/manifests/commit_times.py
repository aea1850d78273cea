"""When files were committed: a column of times from the snapshots that manifests name. Pure.

Called by planning and observers, here and in formats that stand on Iceberg's tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, integers, whole


def commit_millis(snapshots: Any, times: Mapping[int, int]) -> Numbers:
    """When each of some files was committed, in milliseconds since 1970; 0 if its snapshot has expired.

    Args:
        snapshots: a column with the ids of their snapshots.
        times: `TableMetadata.commit_times`.
    """
    known, moments = pa.array([*times], pa.int64()), np.array([0, *times.values()], dtype=np.int64)
    places = pc.index_in(whole(snapshots), value_set=known).fill_null(-1)
    return np.asarray(moments[integers(places).astype(np.int64) + 1])
