"""The values that maps have for one key. Used by `building`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def values_of_key(maps: pa.MapArray, key: str) -> pa.Array:
    """For each map its value of a key; null if the map is null or has no such key."""
    offsets = maps.offsets.to_numpy()
    at = np.flatnonzero(pc.equal(maps.keys, key).to_numpy(zero_copy_only=False))
    rows = np.searchsorted(offsets, at, side="right") - 1
    inside = (rows >= 0) & (rows < len(maps))
    places = np.zeros(len(maps), np.int64)
    missing = np.ones(len(maps), np.bool_)
    places[rows[inside]] = at[inside]
    missing[rows[inside]] = False
    missing |= maps.is_null().to_numpy(zero_copy_only=False)
    return maps.items.take(pa.array(places, mask=missing))
