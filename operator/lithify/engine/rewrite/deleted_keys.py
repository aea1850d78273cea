"""Deleted keys in memory: which rows of a batch have one of them, deleted after they were written.

Made by adapters for the deletes that apply to some files, or for a part of them. Rows are looked up by the
hashes of their keys, first in a table of slots, which most fail; what is found is compared value by value.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.columns.order import IntPart
from lithify.engine.rewrite.key_tables import (
    SEQUENCE,
    Hashes,
    hashes_of,
    newest_of,
    same_keys,
)

Mask = npt.NDArray[np.bool_]
_SLOTS_PER_KEY = 8
_FEWEST_BITS = 16


class KeyIndex:
    """Looks up deleted keys.

    Args:
        deletes: keys and their sequence numbers, in any order.
    """

    def __init__(self, deletes: pa.Table) -> None:
        newest = newest_of(deletes)
        hashes = hashes_of(newest)
        order = np.argsort(hashes)
        self._hashes = hashes[order]
        self._deletes = newest.take(pa.array(order))
        self._sequences: IntPart = self._deletes.column(SEQUENCE).to_numpy()
        self._shift = np.uint64(64 - max(_FEWEST_BITS, (len(hashes) * _SLOTS_PER_KEY).bit_length()))
        self._slots = np.zeros(1 << int(64 - self._shift), dtype=bool)
        self._slots[hashes >> self._shift] = True
        self._tries = _longest_run(self._hashes)

    def deleted(self, keys: pa.Table, sequences: int | IntPart, hashes: Hashes | None = None) -> Mask:
        """Mask of the rows that are deleted.

        Args:
            keys: the keys of the rows.
            sequences: the sequence numbers of their files.
            hashes: the hashes of the keys, if known.
        """
        found = np.zeros(keys.num_rows, dtype=bool)
        if not len(self._hashes):
            return found
        hashes = hashes_of(keys) if hashes is None else hashes
        rows = np.flatnonzero(self._slots[hashes >> self._shift])
        at = np.searchsorted(self._hashes, hashes[rows])
        written = np.broadcast_to(np.asarray(sequences, dtype=np.int64), (keys.num_rows,))
        for _ in range(self._tries):  # more than one only where different keys have the same hash
            inside = at < len(self._hashes)
            rows, at = rows[inside], at[inside]
            same = self._hashes[at] == hashes[rows]
            rows, at = rows[same], at[same]
            newer = self._sequences[at] > written[rows]
            candidates, places = rows[newer], at[newer]
            equal = same_keys(keys.take(pa.array(candidates)), self._deletes.take(pa.array(places)))
            found[candidates[equal]] = True
            at = at + 1
        return found


def _longest_run(ascending: Hashes) -> int:
    """The number of the most frequent value; 0 if there is none."""
    if not len(ascending):
        return 0
    begins = np.concatenate([[True], ascending[1:] != ascending[:-1], [True]])
    return int(np.diff(np.flatnonzero(begins)).max())
