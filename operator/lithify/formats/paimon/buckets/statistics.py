"""Statistics of each bucket's files and of each level, for all buckets of a frame at once.

Called by the observer and the planner, which create objects only for buckets that may have work (`resting`),
and by inspections. Pure: knows nothing of keys, options or time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import (
    ColumnGroups,
    Numbers,
    in_order_of,
    integers,
    is_null,
    nullable,
    taken,
    with_columns,
)
from lithify.formats.paimon.manifests.vector_columns import has_vectors
from lithify.formats.paimon.model import PLACE

_NEVER = np.iinfo(np.int64).max


def bucket_statistics(files: pa.Table, small_file_size: int) -> pa.Table:
    """Counts and sums of the files of each bucket, one row per bucket, in the order of their first files.

    Args:
        files: live files, with the columns of `entry_columns.NARROW` that are read here.
        small_file_size: bytes below which a file counts as small.

    Returns:
        A frame with the columns of `PLACE` and, as Int64:

        - `files`, `bytes`, `rows`: totals over all files;
        - `delete_rows`: rows that retract their key, null if the writer of a file did not count them;
        - `small_files`, `level0_files`: numbers of such files;
        - `sorted_runs`: the files of level 0 and the levels above that have files;
        - `created_millis`: creation time of the newest file, by its writer's wall clock;
        - `level0_created_millis`: creation time of the oldest file of level 0, null if there is none;
        - `highest_level`: the highest level that has files;
        - `highest_bytes`, `highest_created_millis`: `bytes` and `created_millis` of that level alone;
        - `earliest`: the earliest time in the rows of all files, null if unknown for all;
        - `vector_files`: number of files with a deletion vector, as far as the frame has `VECTOR_COLUMNS`;
        - `deleted_rows`: rows that these delete, null if the writer of a vector did not count them.
    """
    groups = ColumnGroups(files, PLACE)
    size, level, created = (integers(files[name]) for name in ("size", "level", "created_millis"))
    highest, level0_files = groups.max(level), groups.sum(level == 0)
    is_highest = level == highest[groups.numbers]
    deletes = nullable(groups.sum(integers(files["delete_rows"])), ~groups.any(is_null(files["delete_rows"])))
    figures = {
        "files": groups.sizes,
        "bytes": groups.sum(size),
        "rows": groups.sum(integers(files["rows"])),
        "delete_rows": deletes,
        "small_files": groups.sum(size < small_file_size),
        "level0_files": level0_files,
        "sorted_runs": level0_files + _levels_above(groups, level),
        "created_millis": groups.max(created),
        "level0_created_millis": nullable(
            -groups.max(np.where(level == 0, -created, -_NEVER)), level0_files > 0
        ),
        "highest_level": highest,
        "highest_bytes": groups.sum(np.where(is_highest, size, 0)),
        "highest_created_millis": groups.max(np.where(is_highest, created, np.iinfo(np.int64).min)),
    }
    places = taken(files.select(PLACE), groups.firsts)
    return with_columns(places, **figures, earliest=_earliest(groups, files), **_deleted(groups, files))


def _deleted(groups: ColumnGroups, files: pa.Table) -> dict[str, Any]:
    if not has_vectors(files):
        none = np.zeros(len(groups), dtype=np.int64)
        return {"vector_files": none, "deleted_rows": none}
    is_marked, is_counted = ~is_null(files["vector_file"]), ~is_null(files["deleted_rows"])
    deleted = groups.sum(integers(files["deleted_rows"]))
    return {
        "vector_files": groups.sum(is_marked),
        "deleted_rows": nullable(deleted, ~groups.any(is_marked & ~is_counted)),
    }


def _earliest(groups: ColumnGroups, files: pa.Table) -> pa.Array:
    known = ~is_null(files["earliest"])
    times = np.where(known, integers(files["earliest"]), _NEVER)
    return nullable(-groups.max(-times), groups.any(known))


def level_statistics(files: pa.Table) -> pa.Table:
    """Counts and sums of the files of each level of each bucket, one row per non-empty level.

    Returns:
        A frame with the columns of `PLACE`, buckets in the order of their first files and levels ascending,
        and, as Int64, `level`, `runs` (sorted runs: the files of level 0, one in each level above), `files`,
        `bytes` and `rows`.
    """
    ordered = taken(files, _by_level(files))
    groups = ColumnGroups(ordered, [*PLACE, "level"])
    firsts = taken(ordered.select([*PLACE, "level"]), groups.firsts)
    level = integers(firsts["level"])
    return with_columns(
        firsts.select(PLACE),
        level=level.astype(np.int64),
        runs=np.where(level == 0, groups.sizes, 1),
        files=groups.sizes,
        bytes=groups.sum(integers(ordered["size"])),
        rows=groups.sum(integers(ordered["rows"])),
    )


def _by_level(files: pa.Table) -> Numbers:
    """Row numbers sorted by bucket, in the order of first files, and then by level."""
    return np.lexsort((integers(files["level"]), ColumnGroups(files, PLACE).numbers))


def _levels_above(groups: ColumnGroups, level: Numbers) -> Numbers:
    """The number of levels above 0 with files, in each group."""
    is_above = level > 0
    levels = pa.table({"group": groups.numbers[is_above], "level": level[is_above]})
    firsts = ColumnGroups(levels, levels.column_names).firsts
    return np.bincount(integers(levels["group"])[firsts], minlength=len(groups))


def in_order_of_places(files: pa.Table) -> pa.Table:
    """The rows sorted by partition and bucket; those of a bucket keep their order."""
    return in_order_of(files, PLACE)
