"""Which files of a listing may be orphans, by patterns of their paths. Pure.

Called by the removal of orphans in any format, which says where it puts files of which kind and how their
names look, and by which files another table in the table's folder is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flagged, flags, listed, whole, with_columns
from lithify.engine.maintenance.spared_paths import names_of_paths


class FilePlaces:
    """The places of one table's files.

    Attributes:
        others: folders of other tables that were seen in the listing, relative to the table's.

    Args:
        patterns: the pattern of the paths of each kind of files, by the kind's number.
        other_table: pattern of the paths of a table's metadata; its group `folder` is the table's folder.
        is_own: whether a folder that the pattern finds belongs to the table.
    """

    def __init__(self, patterns: Mapping[int, str], other_table: str, is_own: Callable[[str], bool]) -> None:
        self._patterns = patterns
        self._other_table = other_table
        self._is_own = is_own
        self.others: set[str] = set()

    def candidates(self, files: pa.Table) -> tuple[pa.Table, pa.Array]:
        """The files of a listing that may be orphans, with their kind, and the name of each."""
        paths = whole(files["path"])
        kinds = np.full(len(paths), -1, dtype=np.int8)
        for kind, pattern in self._patterns.items():
            kinds[flags(pc.match_substring_regex(paths, pattern))] = kind
        self._note_others(paths.filter(pa.array(kinds < 0)))
        chosen = flagged(with_columns(files, kind=kinds), kinds >= 0)
        return chosen, names_of_paths(whole(chosen["path"]))

    def _note_others(self, paths: pa.Array) -> None:
        found = pc.struct_field(pc.extract_regex(paths, self._other_table), "folder")
        folders = listed(pc.unique(found.drop_null()))
        self.others.update(folder for folder in folders if not self._is_own(folder))
