"""Sums of the files of each partition of a keyed table. Pure.

Called by planning, inspection and observers; `triggers` decides on them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import ColumnGroups, Numbers, flags, integers, taken, whole, with_columns
from lithify.formats.mixed.file_columns import kind_number
from lithify.formats.mixed.file_names import FileKind

_LATEST = np.iinfo(np.int64).max


def partition_sums(files: pa.Table, small_file_size: int, hive_folder: str = "") -> pa.Table:
    """The figures of each partition, in the order of its first file.

    Args:
        files: files with the columns of `file_columns.FILES`.
        small_file_size: bytes below which a base file is small.
        hive_folder: what paths of files have that Hive reads; empty for tables that it does not read.

    Returns:
        A row per partition: `group`, `files` (base, change and position delete files), `base_files`,
        `base_bytes`, `base_rows`, `small_base_files`, `outside_files` (base files that
        Hive should read and does not), `change_files`, `insert_bytes`, `insert_rows`,
        `delete_bytes` and `delete_rows` (of the change store), `position_files`, `position_bytes`,
        `position_rows`, `bytes` of all, `optimized` (when it was merged last, 0 if never), `first_change`
        (when the first unmerged change was committed, 0 if there is none or it is not known), `millis` (when
        its newest file was committed), `line` and `lag` (number of commits of changes by which it is behind).
    """
    groups, size, rows = ColumnGroups(files, ["group"]), integers(files["size"]), integers(files["rows"])
    kinds, millis = integers(files["kind"]), integers(files["millis"])
    base, inserts, deletes, positions = (
        kinds == kind_number(kind)
        for kind in (FileKind.BASE, FileKind.INSERT, FileKind.DELETE, FileKind.POSITION_DELETE)
    )
    changes = inserts | deletes
    outside = base & ~flags(pc.match_substring(whole(files["path"]), hive_folder))

    def sums(where: np.ndarray, values: np.ndarray | int = 1) -> Numbers:
        return groups.sum(np.where(where, values, 0))

    first = -groups.max(np.where(changes, -millis, -_LATEST))
    return with_columns(
        taken(files.select(["group"]), groups.firsts),
        files=groups.sizes,
        bytes=groups.sum(size),
        base_files=sums(base),
        base_bytes=sums(base, size),
        base_rows=sums(base, rows),
        small_base_files=sums(base & (size < small_file_size)),
        outside_files=sums(outside),
        change_files=sums(changes),
        insert_bytes=sums(inserts, size),
        insert_rows=sums(inserts, rows),
        delete_bytes=sums(deletes, size),
        delete_rows=sums(deletes, rows),
        position_files=sums(positions),
        position_bytes=sums(positions, size),
        position_rows=sums(positions, rows),
        optimized=groups.max(integers(files["optimized"])),
        first_change=np.where(first == _LATEST, 0, first),
        millis=groups.max(millis),
        line=groups.max(integers(files["line"])),
        lag=groups.max(np.where(changes, integers(files["sequence"]) - integers(files["line"]), 0)),
    )
