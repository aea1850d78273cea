"""What the files of each bucket come to, for all buckets of a frame at once.

Called by the observer and the planner, who make objects only of buckets that may have work (`resting`). Pure:
nothing here knows of keys, options or time.
"""

from __future__ import annotations

import polars as pl

PLACE = ("partition", "bucket")
"""The columns that say which bucket a row is about: BinaryRow bytes and a number."""


def bucket_statistics(files: pl.DataFrame, small_file_size: int) -> pl.DataFrame:
    """Counts and sums of the files of each bucket, one row a bucket, in the order of their first files.

    Args:
        files: live files, with the columns of `entry_columns.NARROW` that are read here.
        small_file_size: bytes below which a file counts as small.

    Returns:
        A frame with the columns of `PLACE` and, as Int64:

        - `files`, `bytes`, `rows`: of all files;
        - `delete_rows`: rows that retract their key, null where the writer of a file did not count them;
        - `small_files`, `level0_files`: numbers of such files;
        - `sorted_runs`: the files of level 0 and the levels above that have files;
        - `created_millis`: creation time of the newest file, by its writer's clock on the wall;
        - `highest_level`: the highest level that has files;
        - `highest_bytes`, `highest_created_millis`: the same of that level alone.
    """
    size, level, deletes = pl.col("size"), pl.col("level"), pl.col("delete_rows")
    created = pl.col("created_millis")
    is_highest = level == level.max()
    statistics = files.group_by(PLACE, maintain_order=True).agg(
        files=pl.len(),
        bytes=size.sum(),
        rows=pl.col("rows").sum(),
        delete_rows=pl.when(deletes.null_count() == 0).then(deletes.sum()),
        small_files=(size < small_file_size).sum(),
        level0_files=(level == 0).sum(),
        sorted_runs=(level == 0).sum() + level.filter(level > 0).n_unique(),
        created_millis=created.max(),
        highest_level=level.max(),
        highest_bytes=size.filter(is_highest).sum(),
        highest_created_millis=created.filter(is_highest).max(),
    )
    return statistics.with_columns(pl.exclude(PLACE).cast(pl.Int64))
