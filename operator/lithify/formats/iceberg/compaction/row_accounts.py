"""Checks that new files have as many rows as old ones without what deletes remove. Pure.

Called by a step before it commits. Tasks may be lost, run twice, or be wrong; a group whose numbers of rows
cannot be explained is not committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lithify.errors import CorruptTable
from lithify.formats.iceberg.model import Content, DataFile, NewDataFile, NewDeleteFile

if TYPE_CHECKING:
    from lithify.formats.iceberg.rewriting.maps import TaskMap


def check_rows(files: Sequence[DataFile], outputs: Sequence[NewDataFile]) -> None:
    """Checks the number of rows of a group's new files.

    Of vectors the deleted rows are known, if no file has two; position delete files may be about other files,
    too, and equality deletes may remove any row.

    Args:
        files: its data files, with the deletes that apply to them.
        outputs: its new files.

    Raises:
        CorruptTable: there are too many rows, or too few.
    """
    before, after = sum(file.rows for file in files), sum(file.rows for file in outputs)
    applied = [delete for file in files for delete in file.deletes]
    deletes = set(applied)
    has_equality = any(each.content is Content.EQUALITY_DELETES for each in deletes)
    most = before if has_equality else min(before, sum(each.rows for each in deletes))
    is_exact = all(each.is_vector for each in deletes) and all(len(file.deletes) < 2 for file in files)
    least = most if is_exact else 0
    if not before - most <= after <= before - least:
        problem = (
            f"its group has {before} rows, of which {least} to {most} are deleted, but {after} were written"
        )
        raise CorruptTable(files[0].path, problem)


def check_maps(files: Sequence[DataFile], outputs: Sequence[NewDataFile], maps: Sequence[TaskMap]) -> None:
    """Checks that the maps of a group's tasks are about its files and its new files, and all rows of them.

    That the rows of a task add up, its map checks itself.

    Args:
        files: its data files.
        outputs: its new files.
        maps: the maps; without any, nothing is checked.

    Raises:
        CorruptTable: a file is missing in them, or has other rows.
    """
    if not maps:
        return
    read = sorted((each.path, each.rows) for one in maps for each in one.inputs)
    written = sorted((each.path, each.rows) for one in maps for each in one.outputs)
    if read != sorted((file.path, file.rows) for file in files) or written != sorted(
        (file.path, file.rows) for file in outputs
    ):
        raise CorruptTable(files[0].path, "the maps of its group are about other files or rows")


def check_deletes(kept: Sequence[DataFile], deletes: Sequence[NewDeleteFile]) -> None:
    """Checks that new delete files are about files that stay, one for each, with at most all of its rows.

    Args:
        kept: the data files of a group that stay.
        deletes: its new delete files.

    Raises:
        CorruptTable: one is not.
    """
    rows = {file.path: file.rows for file in kept}
    for each in deletes:
        most = rows.pop(each.referenced or "", 0)
        if not 0 < each.rows <= most:
            problem = f"it would delete {each.rows} rows of {each.referenced}, of which {most} may be deleted"
            raise CorruptTable(each.path, problem)
