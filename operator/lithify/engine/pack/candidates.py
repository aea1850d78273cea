"""Finds the files of a group that packing has to know, in columns, before any object is made.

Called by planners and observers of adapters: a table may have millions of files, of which one plan takes a
limited number. Pure.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import (
    Flags,
    Numbers,
    integers,
    is_null,
)
from lithify.engine.pack.options import PackingOptions
from lithify.engine.pack.runs import FULL_MIN_FILES
from lithify.formats.protocol.strategy import Strategy


def candidates(files: pa.Table, options: PackingOptions, strategy: Strategy) -> Numbers:
    """The rows of the files of one group that a plan may take: all of an ordered one, else those to pack.

    Args:
        files: the files of the group, with the columns `size` and `rows`, and `vector_file` and
            `deleted_rows` if any of them may have deleted rows (see `FileFigures`).
        options: the options that steer packing.
        strategy: minor or full.
    """
    if options.is_ordered:
        return np.arange(len(files))
    wanted = integers(files["size"]) < options.small_file_size
    if options.delete_ratio is not None and "vector_file" in files.column_names:
        wanted = wanted | _has_deleted(files, options.delete_ratio, strategy)
    return np.flatnonzero(wanted)[: options.max_files]


def _has_deleted(files: pa.Table, ratio: float, strategy: Strategy) -> Flags:
    """Whether a file has deleted rows, for a minor compaction many of them."""
    is_marked: Flags = ~is_null(files["vector_file"])
    if strategy is Strategy.FULL:
        return is_marked
    deleted = files["deleted_rows"]
    many: Flags = integers(deleted) > integers(files["rows"]) * ratio
    found: Flags = is_marked & (is_null(deleted) | many)
    return found


def rests(statistics: pa.Table, options: PackingOptions, strategy: Strategy) -> Flags:
    """Whether a group certainly has no work; others have to be planned to know.

    Args:
        statistics: one row per group, with its number of `files`, `small_files` and `vector_files`.
        options: the options that steer packing.
        strategy: minor or full.
    """
    files, small = (integers(statistics[name]) for name in ("files", "small_files"))
    if not options.is_ordered:
        has_none: Flags = integers(statistics["vector_files"]) == 0
        nothing: Flags = has_none & (small < 2)
        return nothing
    if strategy is Strategy.MINOR:
        return files < max(2, options.min_files)
    return (
        np.zeros(len(files), dtype=bool) if options.force_rewrite else (files < FULL_MIN_FILES) | (small == 0)
    )
