"""Marks which of many files are named, by 64-bit hashes of their names. Pure.

Called by `orphan_search`. Memory is 17 bytes a file, whatever the names. If two names have the same hash, a
file counts as named that is not: it stays. A file that is named always counts as named.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags
from lithify.columns.text_hashes import Hashes, text_hashes


class NameMarks:
    """The files of one search.

    Args:
        hashes: the hash of each file's name; several files may have one name.
    """

    def __init__(self, hashes: Hashes) -> None:
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]
        self._is_named = np.zeros(len(hashes), dtype=bool)

    def mark(self, names: pa.Array) -> None:
        """Marks the files with these names."""
        if not len(self._sorted) or not len(names):
            return
        found = np.sort(text_hashes(names))  # in order, because jumps through memory cost more
        places = np.searchsorted(self._sorted, found)
        is_there = places < len(self._sorted)
        places, found = places[is_there], found[is_there]
        self._is_named[places[self._sorted[places] == found]] = True

    @property
    def unnamed(self) -> Flags:
        """Mask of the files that were not marked, in the order of their hashes at the beginning."""
        firsts = np.searchsorted(self._sorted, self._sorted)  # the first of equal ones has the mark
        found = np.empty(len(self._sorted), dtype=bool)
        found[self._order] = ~self._is_named[firsts]
        return found
