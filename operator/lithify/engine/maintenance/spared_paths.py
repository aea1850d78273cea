"""Files that are not orphans although nothing names them: those of other tables, and of attempts. Pure.

Called by the removal of orphans in any format, for the files that are left after the comparison of names.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, flags


def is_spared(paths: pa.Array, folders: Iterable[str], prefixes: Iterable[str]) -> Flags:
    """Mask of the paths that lie in any of some folders, or that contain any of some prefixes of attempts."""
    found = np.zeros(len(paths), dtype=bool)
    for folder in folders:
        found |= flags(pc.starts_with(paths, f"{folder}/"))
    for prefix in prefixes:
        found |= flags(pc.match_substring(paths, prefix))
    return found


def names_of_paths(paths: pa.Array) -> pa.Array:
    """The names of files, by their paths."""
    return pc.replace_substring_regex(paths, r"(?s)^.*/", "")
